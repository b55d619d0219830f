/* SPDX-License-Identifier: Apache-2.0 */
/* Losses as nodes. */
#ifndef RY_TRAIN_LOSS_H
#define RY_TRAIN_LOSS_H

#include "graph/emitter.h"

typedef enum ry_loss {
#define RY_LOSS(name, labels, text) RY_LOSS_##name,
#include "train/losses.inc"
#undef RY_LOSS
    RY_LOSSES
} ry_loss;

typedef struct ry_loss_options {
    ry_loss loss;
    double label_smoothing; /* for cross_entropy: 0 to below 1 */
    double epsilon;         /* for charbonnier */
    ry_dtype target;        /* i64, i32: class numbers; RY_NONE: what is usual for the loss */
    bool ignores;           /* positions of class `ignored` do not count */
    int64_t ignored;
    const char *head;  /* for detection: borrowed; NULL: recognised */
    int64_t boxes;     /* for detection: rows of the target for each picture */
    double box_weight; /* for detection */
} ry_loss_options;

const char *ry_loss_name(ry_loss loss);

/* Both functions know all losses but detection, which reads several outputs.
 *
 * The type and shape of the target of an output [N, C, d..]: its own, or, for class numbers, the
 * shape without C. Fails where the loss is not of such outputs or targets. */
rynd_status ry_loss_target(const ry_loss_options *options, ry_dtype dtype, const ry_shape *output,
                           ry_dtype *target_dtype, ry_shape *target, ry_error *error);

/* The loss of an output by a target of that type and shape: a scalar of the output's type. */
ry_value_id ry_emit_loss(ry_emitter *emitter, const ry_loss_options *options, ry_value_id output,
                         ry_value_id target);

#endif
