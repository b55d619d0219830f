/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions: the axes are an attribute or, later, an input. */
#include "onnx/operators.h"

typedef struct reduce {
    ry_ints axes;
    ry_reduction how;
    int inputs; /* 2: the axes are the second */
} reduce;

static void describe(ry_import *import, reduce *r)
{
    *r = (reduce){.inputs = 1};
    r->axes = ry_import_ints(import, "axes");
    r->how.axes = &r->axes;
    r->how.drop = !ry_import_int(import, "keepdims");
    r->how.noop_empty = ry_import_int(import, "noop_with_empty_axes") != 0;
    if (ry_import_has(import, 1)) {
        r->how.axes_input = true;
        r->inputs = 2;
    }
}

/* values[count], then the axes if they are an input. */
static ry_value_id emit_reduction(ry_import *import, const reduce *r, const char *text, int count,
                                  const ry_value_id *values, ry_value_id to)
{
    ry_value_id in[4];
    for (int i = 0; i < count; i++) {
        in[i] = values[i];
    }
    in[count] = ry_import_in(import, 1);
    return ry_onnx_emit_expr(import, text, NULL, 0, &r->how, count + r->inputs - 1, in, to);
}

void ry_import_reduce(ry_import *import)
{
    reduce r;
    describe(import, &r);
    ry_value_id x = ry_import_in(import, 0);
    emit_reduction(import, &r, import->row->text, 1, &x, ry_import_out(import, 0));
}

/* Integers go through f64. */
static ry_value_id as_float(ry_import *import, ry_value_id x)
{
    ry_dtype dtype = ry_import_dtype(import, x);
    return dtype == RY_NONE || ry_dtype_is_float(dtype)
               ? x
               : ry_onnx_emit_cast(import, x, RY_f64, RY_NO_VALUE);
}

void ry_import_reduce_float(ry_import *import)
{
    reduce r;
    describe(import, &r);
    ry_value_id x = ry_import_in(import, 0), y = as_float(import, x);
    if (x == y) {
        emit_reduction(import, &r, import->row->text, 1, &y, ry_import_out(import, 0));
        return;
    }
    y = emit_reduction(import, &r, import->row->text, 1, &y, RY_NO_VALUE);
    ry_onnx_emit_cast(import, y, ry_import_dtype(import, x), ry_import_out(import, 0));
}

/* log(sum(exp(x))) = m + log(sum(exp(x - m))), m the largest x: nothing overflows. An infinite m is
 * left out, its exponential is right anyway. */
void ry_import_reduce_log_sum_exp(ry_import *import)
{
    static const char *const largest = "m = max(x0); y0 = select(isinf(m), 0, m)";
    reduce r;
    describe(import, &r);
    ry_value_id x = ry_import_in(import, 0), y = as_float(import, x);
    reduce keep = r;
    keep.how.axes = &keep.axes;
    keep.how.drop = false;
    ry_value_id m = emit_reduction(import, &keep, largest, 1, &y, RY_NO_VALUE);
    ry_value_id sum_in[] = {y, m};
    ry_value_id sum = emit_reduction(import, &r, "log(sum(exp(x0 - x1)))", 2, sum_in, RY_NO_VALUE);
    ry_value_id add_in[] = {
        sum, r.how.drop ? emit_reduction(import, &r, largest, 1, &y, RY_NO_VALUE) : m};
    bool direct = x == y;
    sum = ry_onnx_emit_expr(import, "x0 + x1", NULL, 0, NULL, 2, add_in,
                            direct ? ry_import_out(import, 0) : RY_NO_VALUE);
    if (!direct) {
        ry_onnx_emit_cast(import, sum, ry_import_dtype(import, x), ry_import_out(import, 0));
    }
}

/* A reduction over all spatial dims. */
static void pool_all(ry_import *import, const char *text, const ry_expr_parameter *p)
{
    ry_value_id x = ry_import_in(import, 0);
    ry_ints axes = {0};
    int rank = ry_import_rank(import, x);
    for (int i = 2; i < rank; i++) {
        axes.at[axes.count++] = i;
    }
    if (rank < 3) {
        ry_import_fail(
            import, RYND_ERROR_SHAPE,
            "its input has %d dimensions; a batch, channels and at least one more are needed",
            rank);
    }
    ry_reduction how = {.axes = &axes};
    ry_onnx_emit_expr(import, text, p, p ? 1 : 0, &how, 1, &x, ry_import_out(import, 0));
}

void ry_import_global_pool(ry_import *import)
{
    pool_all(import, import->row->text, NULL);
}

void ry_import_global_lp_pool(ry_import *import)
{
    const bool whole = import->node->opset > 1;
    const double number = whole ? (double)ry_import_int(import, "p") : ry_import_float(import, "p");
    const ry_expr_parameter p = {"p", number};
    if (!(number > 0)) {
        ry_import_fail(import, RYND_ERROR_FORMAT, "its p is %g; it must be positive", number);
    }
    pool_all(import,
             number == 1   ? "sum(abs(x0))"
             : number == 2 ? "sqrt(sum(x0 * x0))"
                           : "pow(sum(pow(abs(x0), p)), 1 / p)",
             number == 1 || number == 2 ? NULL : &p);
}
