/* SPDX-License-Identifier: Apache-2.0 */
/* Layer and group normalisation on a GPU, of any strides in memory: a row is what is normalised
 * together. */
#include "base/integer.h"
#include "kernels/common/work.h"
#include "kernels/gpu/gpu_define.h"
#include "kernels/gpu/gpu_group.h"
#include "kernels/gpu/gpu_kernel.h"
#include "kernels/gpu/gpu_offset.h"
#include "kernels/gpu/gpu_texts.h"

#include <math.h>

enum { OPERANDS = 4 }; /* x, y, scale, bias */

/* How rows are numbered, and elements in a row: of x, y, scale and bias. */
typedef struct norm_rows {
    int64_t rows, length;
    ry_gpu_dims row[OPERANDS], at[OPERANDS];
} norm_rows;

static const ry_tensor *operand(const ry_problem *problem, int i)
{
    return i == 0 ? &problem->in[0] : i == 1 ? &problem->out[0] : &problem->in[i - 1];
}

static bool is_there(const ry_problem *problem, int i)
{
    return i < 2 || ry_problem_has_input(problem, i - 1);
}

/* The stride of dim d of x in an operand that is broadcast from the right. */
static int64_t stride_of(const ry_tensor *t, int rank, int d)
{
    const int own = d - (rank - t->rank);
    return own < 0 || t->dim[own] == 1 ? 0 : t->stride[own];
}

static norm_rows layer_rows(const ry_problem *problem)
{
    norm_rows r = {.rows = 1, .length = 1};
    const ry_tensor *x = &problem->in[0];
    const int axis = ry_axis(problem->attrs.layer_norm.axis, x->rank);
    for (int d = 0; d < x->rank; d++) {
        *(d < axis ? &r.rows : &r.length) *= x->dim[d];
        for (int i = 0; i < OPERANDS; i++) {
            if (is_there(problem, i)) {
                ry_gpu_dims_add(d < axis ? &r.row[i] : &r.at[i], x->dim[d],
                                stride_of(operand(problem, i), x->rank, d));
            }
        }
    }
    return r;
}

static norm_rows group_rows(const ry_problem *problem)
{
    const ry_tensor *x = &problem->in[0];
    const int64_t groups = problem->attrs.group_norm.groups, own = x->dim[1] / groups;
    norm_rows r = {.rows = x->dim[0] * groups, .length = own};
    for (int i = 0; i < OPERANDS; i++) {
        const ry_tensor *t = operand(problem, i);
        const int64_t channel = i < 2 ? t->stride[1] : t->stride[0];
        ry_gpu_dims_add(&r.row[i], x->dim[0], i < 2 ? t->stride[0] : 0);
        ry_gpu_dims_add(&r.row[i], groups, own * channel);
        ry_gpu_dims_add(&r.at[i], own, channel);
        for (int d = 2; d < x->rank; d++) {
            ry_gpu_dims_add(&r.at[i], x->dim[d], i < 2 ? t->stride[d] : 0);
        }
    }
    for (int d = 2; d < x->rank; d++) {
        r.length *= x->dim[d];
    }
    return r;
}

static norm_rows rows_of(const ry_problem *problem)
{
    return problem->op == RY_OP_layer_norm ? layer_rows(problem) : group_rows(problem);
}

static bool is_readable(const ry_problem *problem)
{
    for (int i = 0; i < OPERANDS; i++) {
        if (is_there(problem, i) && !ry_gpu_is_float(operand(problem, i))) {
            return false;
        }
    }
    return ry_tensor_count(&problem->in[0]) > 0;
}

static bool takes_layers(const ry_problem *problem)
{
    return ry_problem_has_input(problem, 0) && ry_problem_has_output(problem, 0) &&
           !ry_problem_has_output(problem, 1) && !ry_problem_has_output(problem, 2) &&
           is_readable(problem) &&
           ry_axis(problem->attrs.layer_norm.axis, problem->in[0].rank) >= 0;
}

static bool takes_groups(const ry_problem *problem)
{
    return ry_problem_has_input(problem, 0) && ry_problem_has_input(problem, 1) &&
           ry_problem_has_input(problem, 2) && ry_problem_has_output(problem, 0) &&
           is_readable(problem) && problem->in[0].rank >= 2 &&
           problem->attrs.group_norm.groups > 0 &&
           problem->in[0].dim[1] % problem->attrs.group_norm.groups == 0;
}

static rynd_status prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    const norm_rows r = rows_of(query->problem);
    const int64_t group = ry_gpu_group_size(query, r.length <= 512 ? 64 : 256);
    (void)error;
    ry_gpu_group_prepare(group, r.rows, prepared);
    ry_count_work((double)r.rows * ((double)ry_round_up(r.length, group) * 14 +
                                    (double)group * 2 * log2((double)group)),
                  ry_problem_bytes(query->problem), prepared);
    return RYND_OK;
}

static void define(const ry_query *query, const ry_prepared *prepared, ry_text *text)
{
    static const char *const names[OPERANDS][2] = {{"x_row_at", "x_at"},
                                                   {"y_row_at", "y_at"},
                                                   {"scale_row_at", "scale_at"},
                                                   {"bias_row_at", "bias_at"}};
    const ry_problem *problem = query->problem;
    const bool layers = problem->op == RY_OP_layer_norm;
    const norm_rows r = rows_of(problem);
    ry_gpu_define_types(text, problem, ry_gpu_is_wide(problem));
    ry_gpu_group_define(prepared, text);
    ry_gpu_define(text, "LENGTH", r.length);
    ry_gpu_define(text, "CENTRED", !layers || !problem->attrs.layer_norm.rms);
    ry_gpu_define(text, "HAS_SCALE", is_there(problem, 2));
    ry_gpu_define(text, "HAS_BIAS", is_there(problem, 3));
    ry_gpu_define_float(text, "EPSILON",
                        layers ? problem->attrs.layer_norm.epsilon
                               : problem->attrs.group_norm.epsilon);
    for (int i = 0; i < OPERANDS; i++) {
        if (is_there(problem, i)) {
            ry_gpu_define_offset(text, names[i][0], &r.row[i]);
            ry_gpu_define_offset(text, names[i][1], &r.at[i]);
        }
    }
}

static const char *const entries[] = {"run"};
static const ry_gpu_kernel gpu = {ry_gpu_text_norm, entries, 1, define};

RY_GPU_KERNEL(layer_norm_gpu, layer_norm, strict, RY_GPU_GROUP_KNOB_FIELDS,
              .applicable = takes_layers, .prepare = prepare, .gpu = &gpu);
RY_GPU_KERNEL(group_norm_gpu, group_norm, strict, RY_GPU_GROUP_KNOB_FIELDS,
              .applicable = takes_groups, .prepare = prepare, .gpu = &gpu);
