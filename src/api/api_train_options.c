/* SPDX-License-Identifier: Apache-2.0 */
/* A trainer's options: checked, and as src/train has them. */
#include "api/api_status.h"
#include "api/trainer.h"

#include <math.h>

static rynd_status check_range(const char *name, double value, double low, double below,
                               ry_error *error)
{
    return value >= low && value < below
               ? RYND_OK
               : ry_fail(error, RYND_ERROR_ARGUMENT,
                         "rynd_trainer_options: %s is %g: give %g to %s", name, value, low,
                         below == 1 ? "below 1" : "any number above");
}

static rynd_status check_exchange(const rynd_exchange *e, ry_error *error)
{
    if (!e) {
        return RYND_OK;
    }
    if (e->size != sizeof *e || !e->all_reduce) {
        return ry_fail(error, RYND_ERROR_ARGUMENT, "rynd_trainer_options: exchange has %s",
                       e->all_reduce ? "another size than sizeof(rynd_exchange)" : "no all_reduce");
    }
    return e->ranks >= 1 && e->rank >= 0 && e->rank < e->ranks
               ? RYND_OK
               : ry_fail(error, RYND_ERROR_ARGUMENT,
                         "rynd_trainer_options: exchange is of rank %d of %d: give 0 to below as "
                         "many as there are",
                         e->rank, e->ranks);
}

static rynd_status check_choices(const rynd_trainer_options *o, ry_error *error)
{
    if ((unsigned)o->loss > RYND_LOSS_DETECTION || (unsigned)o->optimizer > RYND_OPTIMIZER_ADAMW) {
        return ry_fail(error, RYND_ERROR_ARGUMENT,
                       "rynd_trainer_options: loss %d or optimizer %d is none of their lists",
                       (int)o->loss, (int)o->optimizer);
    }
    if ((unsigned)o->target >= RY_DTYPES) {
        return ry_fail(error, RYND_ERROR_ARGUMENT,
                       "rynd_trainer_options: target is %d, none of rynd_dtype", (int)o->target);
    }
    if (o->storage != RYND_DTYPE_NONE && o->storage != RYND_DTYPE_F32 &&
        o->storage != RYND_DTYPE_BF16) {
        return ry_fail(error, RYND_ERROR_ARGUMENT,
                       "rynd_trainer_options: storage is %d: give RYND_DTYPE_F32 or "
                       "RYND_DTYPE_BF16",
                       (int)o->storage);
    }
    if ((unsigned)o->init > RYND_INIT_UNIFORM) {
        return ry_fail(error, RYND_ERROR_ARGUMENT,
                       "rynd_trainer_options: init is %d, none of rynd_init", (int)o->init);
    }
    if ((unsigned)o->dropout > RYND_DROPOUT_OFF) {
        return ry_fail(error, RYND_ERROR_ARGUMENT,
                       "rynd_trainer_options: dropout is %d, none of rynd_dropout",
                       (int)o->dropout);
    }
    return RYND_OK;
}

/* The most boxes of a picture: the loss compares each with all candidates. */
enum { MOST_BOXES = 65536 };

static rynd_status check_detection(const rynd_trainer_options *o, ry_error *error)
{
    const bool detects = o->loss == RYND_LOSS_DETECTION;
    if (!detects) {
        return o->head || o->boxes || o->box_weight > 0
                   ? ry_fail(error, RYND_ERROR_ARGUMENT,
                             "rynd_trainer_options: head, boxes and box_weight apply to the loss "
                             "of detection only")
                   : RYND_OK;
    }
    if (o->output || o->label_smoothing > 0 || o->ignore_label || o->target != RYND_DTYPE_NONE) {
        return ry_fail(error, RYND_ERROR_ARGUMENT,
                       "rynd_trainer_options: the loss of detection reads all outputs of a head "
                       "and boxes: leave output, target, label_smoothing and ignore_label out");
    }
    return o->boxes >= 1 && o->boxes <= MOST_BOXES
               ? RYND_OK
               : ry_fail(error, RYND_ERROR_ARGUMENT,
                         "rynd_trainer_options: boxes is %lld: give the most boxes of a picture, 1 "
                         "to %d",
                         (long long)o->boxes, MOST_BOXES);
}

static rynd_status check_patterns(const char *name, const char *const *patterns, size_t count,
                                  ry_error *error)
{
    if (count && !patterns) {
        return ry_fail(error, RYND_ERROR_ARGUMENT,
                       "rynd_trainer_options: %s_count is not 0 and %s is NULL", name, name);
    }
    for (size_t i = 0; i < count; i++) {
        if (!patterns[i]) {
            return ry_fail(error, RYND_ERROR_ARGUMENT, "rynd_trainer_options: %s[%zu] is NULL",
                           name, i);
        }
    }
    return RYND_OK;
}

rynd_status ry_trainer_check_options(const rynd_trainer_options *o, ry_error *error)
{
    const struct {
        const char *name;
        double value, below;
    } numbers[] = {
        {"label_smoothing", o->label_smoothing, 1},
        {"charbonnier_epsilon", o->charbonnier_epsilon, (double)INFINITY},
        {"momentum", o->momentum, 1},
        {"weight_decay", o->weight_decay, (double)INFINITY},
        {"beta1", o->beta1, 1},
        {"beta2", o->beta2, 1},
        {"epsilon", o->epsilon, (double)INFINITY},
        {"clip_norm", o->clip_norm, (double)INFINITY},
        {"norm_momentum", o->norm_momentum, (double)INFINITY},
        {"box_weight", o->box_weight, (double)INFINITY},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        RY_TRY(check_range(numbers[i].name, numbers[i].value, 0, numbers[i].below, error));
    }
    if (o->norm_momentum > 1) {
        return ry_fail(error, RYND_ERROR_ARGUMENT,
                       "rynd_trainer_options: norm_momentum is %g: give 0 to 1", o->norm_momentum);
    }
    RY_TRY(check_choices(o, error));
    RY_TRY(check_detection(o, error));
    if (o->nesterov && (o->momentum == 0 || o->optimizer != RYND_OPTIMIZER_SGD)) {
        return ry_fail(error, RYND_ERROR_ARGUMENT,
                       "rynd_trainer_options: nesterov is of SGD with a momentum");
    }
    if (o->batch < 0) {
        return ry_fail(error, RYND_ERROR_ARGUMENT,
                       "rynd_trainer_options: batch is negative: give at least 1");
    }
    if (o->accumulate < 0) {
        return ry_fail(error, RYND_ERROR_ARGUMENT,
                       "rynd_trainer_options: accumulate is %lld: give at least 1 micro-batch",
                       (long long)o->accumulate);
    }
    if (o->train_last < 0) {
        return ry_fail(error, RYND_ERROR_ARGUMENT,
                       "rynd_trainer_options: train_last is %lld: give at least 1 layer, or 0",
                       (long long)o->train_last);
    }
    RY_TRY(check_patterns("freeze", o->freeze, o->freeze_count, error));
    RY_TRY(check_patterns("train_only", o->train_only, o->train_only_count, error));
    RY_TRY(check_exchange(o->exchange, error));
    return ry_api_check_accuracy(o->accuracy, error);
}

static double or_default(double given, double preset)
{
    return given != 0 ? given : preset;
}

static ry_optimizer optimizer_of(const rynd_trainer_options *o)
{
    switch (o->optimizer) {
    case RYND_OPTIMIZER_ADAM: return RY_OPTIMIZER_adam;
    case RYND_OPTIMIZER_ADAMW: return RY_OPTIMIZER_adamw;
    case RYND_OPTIMIZER_SGD: break;
    }
    return o->momentum == 0 ? RY_OPTIMIZER_sgd
           : o->nesterov    ? RY_OPTIMIZER_sgd_nesterov
                            : RY_OPTIMIZER_sgd_momentum;
}

ry_training_options ry_trainer_training_options(const rynd_trainer_options *o)
{
    static const ry_loss losses[] = {
        [RYND_LOSS_CROSS_ENTROPY] = RY_LOSS_cross_entropy,
        [RYND_LOSS_MSE] = RY_LOSS_mse,
        [RYND_LOSS_L1] = RY_LOSS_l1,
        [RYND_LOSS_CHARBONNIER] = RY_LOSS_charbonnier,
        [RYND_LOSS_BCE] = RY_LOSS_bce,
        [RYND_LOSS_DETECTION] = RY_LOSS_detection,
    };
    static const ry_init inits[] = {
        [RYND_INIT_MODEL] = RY_INIT_model,
        [RYND_INIT_HE] = RY_INIT_he,
        [RYND_INIT_UNIFORM] = RY_INIT_uniform,
    };
    return (ry_training_options){
        .loss = {.loss = losses[o->loss],
                 .label_smoothing = o->label_smoothing,
                 .epsilon = or_default(o->charbonnier_epsilon, 1e-3),
                 .target = (ry_dtype)o->target,
                 .ignores = o->ignore_label != NULL,
                 .ignored = o->ignore_label ? *o->ignore_label : 0,
                 .head = o->head,
                 .boxes = o->boxes,
                 .box_weight = or_default(o->box_weight, 5)},
        .optimizer = {.optimizer = optimizer_of(o),
                      .momentum = o->momentum,
                      .decay = o->weight_decay,
                      .beta1 = or_default(o->beta1, 0.9),
                      .beta2 = or_default(o->beta2, 0.999),
                      .epsilon = or_default(o->epsilon, 1e-8)},
        .output = o->output,
        .clip_norm = o->clip_norm,
        .norm_momentum = o->norm_momentum,
        .freeze = o->freeze,
        .freeze_count = o->freeze_count,
        .train_only = o->train_only,
        .train_only_count = o->train_only_count,
        .train_last = o->train_last,
        .keep_gradients = o->keep_gradients != 0,
        .accumulate = o->accumulate,
        .init = inits[o->init],
        .init_seed = o->init_seed,
        .no_dropout = o->dropout == RYND_DROPOUT_OFF,
        .dropout_seed = o->dropout_seed,
        .store_bf16 = o->storage == RYND_DTYPE_BF16,
        .ranks = o->exchange ? o->exchange->ranks : 0,
    };
}
