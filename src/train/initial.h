/* SPDX-License-Identifier: Apache-2.0 */
/* What parameters are before the first step, where a model's own content is not wanted: numbers by
 * what reads them.
 *
 *   weights of convolutions and products   he: normal, of deviation sqrt(2 / fan-in) (He et al.,
 *                                          "Delving Deep into Rectifiers", ICCV 2015);
 *                                          uniform: from -1/sqrt(fan-in) to that, as PyTorch's
 *   their biases                           he: 0; uniform: as the weight beside them
 *   vectors that are added to something    0
 *   scales and variances of normalisations 1; their biases and means 0
 *   all others                             the model's
 *
 * The fan-in is how many products are added up in one element of the output. Each number is a
 * function of the seed, the parameter's name and the element's place in it. */
#ifndef RY_TRAIN_INITIAL_H
#define RY_TRAIN_INITIAL_H

#include "train/training.h"

/* Draws initial parameters after they were found, before shapes are bound; `graph` is sorted. The
 * numbers live in the arena. */
rynd_status ry_training_initialise(const ry_graph *graph, ry_training_builder *b, ry_arena *arena,
                                   ry_error *error);

#endif
