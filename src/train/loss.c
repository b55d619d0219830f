/* SPDX-License-Identifier: Apache-2.0 */
/* Losses: means of what losses.inc says. Class numbers become rows of numbers by one_hot, with
 * label_smoothing / C everywhere and 1 - label_smoothing more at the class. An ignored class leaves
 * its positions out of the sum and of the number that divides it. */
#include "train/loss.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *text;
    bool labels;
} losses[RY_LOSSES] = {
#define RY_LOSS(name, labels, text) [RY_LOSS_##name] = {#name, text, labels},
#include "train/losses.inc"
#undef RY_LOSS
};

const char *ry_loss_name(ry_loss loss)
{
    return losses[loss].name;
}

static bool is_label(ry_dtype dtype)
{
    return dtype == RY_i64 || dtype == RY_i32;
}

rynd_status ry_loss_target(const ry_loss_options *options, ry_dtype dtype, const ry_shape *output,
                           ry_dtype *target_dtype, ry_shape *target, ry_error *error)
{
    const char *name = losses[options->loss].name;
    const bool labels = losses[options->loss].labels;
    if (!ry_dtype_is_float(dtype)) {
        return ry_fail(error, RYND_ERROR_UNSUPPORTED,
                       "%s is of floating-point outputs, this one is %s", name,
                       ry_dtype_name(dtype));
    }
    *target_dtype = options->target != RY_NONE ? options->target : labels ? RY_i64 : dtype;
    *target = *output;
    if (options->ignores && (!labels || *target_dtype == dtype)) {
        return ry_fail(error, RYND_ERROR_UNSUPPORTED,
                       "ignore_label applies to cross_entropy of class numbers only");
    }
    if (*target_dtype == dtype) {
        return labels && output->rank < 2
                   ? ry_fail(error, RYND_ERROR_SHAPE,
                             "%s is of outputs [N, classes, ..], this one has rank %d", name,
                             output->rank)
                   : RYND_OK;
    }
    if (!labels || !is_label(*target_dtype)) {
        return ry_fail(error, RYND_ERROR_UNSUPPORTED, "%s has targets of type %s%s, not %s", name,
                       ry_dtype_name(dtype), labels ? ", i64 or i32" : "",
                       ry_dtype_name(*target_dtype));
    }
    if (output->rank < 2) {
        return ry_fail(error, RYND_ERROR_SHAPE,
                       "%s is of outputs [N, classes, ..], this one has rank %d", name,
                       output->rank);
    }
    for (int d = 1; d + 1 < output->rank; d++) {
        target->dim[d] = output->dim[d + 1];
    }
    target->rank = output->rank - 1;
    return RYND_OK;
}

static ry_value_id two_numbers(ry_emitter *e, ry_dtype dtype, double off, double on)
{
    const ry_shape shape = {.rank = 1, .dim = {2}};
    if (e->status != RYND_OK) {
        return RY_NO_VALUE;
    }
    const ry_value_id v = ry_graph_add_constant(e->graph, NULL, dtype, &shape, NULL);
    if (v == RY_NO_VALUE) {
        e->status = ry_fail_memory(e->error);
        return v;
    }
    ry_set_f64(dtype, ry_graph_constant_data(e->graph, v), 0, off);
    ry_set_f64(dtype, ry_graph_constant_data(e->graph, v), 1, on);
    return v;
}

static ry_value_id rows_of_labels(ry_emitter *e, const ry_loss_options *options, ry_value_id target,
                                  ry_dtype dtype, int64_t classes)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_one_hot);
    const double off = options->label_smoothing / (double)classes;
    ry_value_id in[3] = {target};
    attrs.one_hot.axis = 1;
    in[1] = ry_emit_i64s(e, -1, &classes);
    in[2] = two_numbers(e, dtype, off, 1 - options->label_smoothing + off);
    return ry_emit(e, RY_OP_one_hot, &attrs, 3, in);
}

/* Targets of the output's shape are smoothed as labels are. */
static ry_value_id smoothed(ry_emitter *e, const ry_loss_options *options, ry_value_id target,
                            int64_t classes)
{
    const ry_expr_parameter numbers[] = {{"keep", 1 - options->label_smoothing},
                                         {"spread", options->label_smoothing / (double)classes}};
    return options->label_smoothing == 0
               ? target
               : ry_emit_expr_with(e, "x0 * keep + spread", numbers, 2, 1, &target);
}

/* The mean over all elements; of cross_entropy over all but the classes, which is a sum over these.
 */
static ry_value_id mean(ry_emitter *e, ry_value_id terms, int64_t times)
{
    const ry_value_id mean =
        ry_emit_reduce(e, "mean(x0)", &(ry_ints){.count = 0}, false, 1, &terms);
    return times == 1
               ? mean
               : ry_emit_expr_with(e, "x0 * times", &(ry_expr_parameter){"times", (double)times}, 1,
                                   1, &mean);
}

/* 1 where a position counts, 0 at the ignored class: [N, 1, d..] of the output's type. */
static ry_value_id counted_positions(ry_emitter *e, const ry_loss_options *options,
                                     ry_value_id target, ry_dtype dtype)
{
    char text[48];
    ry_shape shape = ry_emit_shape(e, target);
    snprintf(text, sizeof text, "cast(x0 != ignored, %s)", ry_dtype_name(dtype));
    const ry_value_id counted = ry_emit_expr_with(
        e, text, &(ry_expr_parameter){"ignored", (double)options->ignored}, 1, 1, &target);
    memmove(shape.dim + 2, shape.dim + 1, (size_t)(shape.rank - 1) * sizeof *shape.dim);
    shape.dim[1] = 1;
    shape.rank++;
    return ry_emit_reshape(e, counted, &shape);
}

/* The mean over positions that count; 0 without any. */
static ry_value_id mean_of_counted(ry_emitter *e, ry_value_id terms, ry_value_id counted)
{
    const ry_ints all = {.count = 0};
    const ry_value_id sums[] = {
        ry_emit_reduce(e, "sum(x0 * x1)", &all, false, 2, (ry_value_id[]){terms, counted}),
        ry_emit_reduce(e, "sum(x0)", &all, false, 1, &counted)};
    return ry_emit_expr(e, "x0 / max(x1, 1)", 2, sums);
}

ry_value_id ry_emit_loss(ry_emitter *emitter, const ry_loss_options *options, ry_value_id output,
                         ry_value_id target)
{
    const ry_shape shape = ry_emit_shape(emitter, output);
    const ry_dtype dtype = ry_emit_dtype(emitter, output);
    int64_t times = 1;
    ry_value_id counted = RY_NO_VALUE;
    if (options->loss == RY_LOSS_cross_entropy) {
        ry_attrs attrs = ry_attrs_default(RY_OP_softmax);
        attrs.softmax.kind = RY_softmax_kind_log_softmax;
        attrs.softmax.axis = 1;
        times = shape.dim[1];
        counted =
            options->ignores ? counted_positions(emitter, options, target, dtype) : RY_NO_VALUE;
        target = ry_dtype_is_float(ry_emit_dtype(emitter, target))
                     ? smoothed(emitter, options, target, times)
                     : rows_of_labels(emitter, options, target, dtype, times);
        output = ry_emit(emitter, RY_OP_softmax, &attrs, 1, &output);
    }
    const ry_value_id terms = ry_emit_expr_with(emitter, losses[options->loss].text,
                                                &(ry_expr_parameter){"epsilon", options->epsilon},
                                                1, 2, (ry_value_id[]){output, target});
    return counted == RY_NO_VALUE ? mean(emitter, terms, times)
                                  : mean_of_counted(emitter, terms, counted);
}
