/* SPDX-License-Identifier: Apache-2.0 */
/* The loss of detection heads:
 *
 *     (classes + objectness + box_weight * boxes) / max(sum of weights, 1)
 *
 * classes     binary cross-entropy of each class; of heads with a background, cross-entropy over
 *             the classes. With objectness only candidates with a box count, by their weight
 * objectness  binary cross-entropy, wanted is the weight; 0 if the head has none
 * boxes       weight * (1 - GIoU) of candidates with a box (Rezatofighi et al., CVPR 2019)
 *
 * summed over all candidates of the batch, with the weights of assign_boxes.h. */
#ifndef RY_TRAIN_DETECTION_H
#define RY_TRAIN_DETECTION_H

#include "train/assign_boxes.h"

/* The loss of candidates by an assignment: a scalar. */
ry_value_id ry_emit_detection_loss(ry_emitter *emitter, const ry_candidates *candidates,
                                   const ry_assignment *assignment, double box_weight);

#endif
