/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts and joins the dims of an expression's positions. */
#include "kernels/gpu/gpu_positions.h"

#include "expr/expr.h"

#include <stdlib.h>
#include <string.h>

typedef struct dims {
    ry_gpu_space *space;
    bool reduced[RY_MAX_RANK];
    int leader; /* the operand whose order counts first */
} dims;

static bool broadcast(const ry_problem *problem, ry_shape *shape)
{
    const ry_expr *program = problem->attrs.expr.program;
    bool fits = true;
    *shape = program->inputs ? (ry_shape){.rank = 0} : ry_tensor_shape(&problem->out[0]);
    for (int i = 0; i < program->inputs && fits; i++) {
        const ry_shape one = ry_tensor_shape(&problem->in[i]);
        fits = ry_shape_broadcast(shape, &one, shape);
    }
    return fits;
}

/* The axes given, or all; none where the program does not reduce. */
static bool find_reduced(const ry_expr_attrs *attrs, int rank, bool *reduced)
{
    const bool all = attrs->program->reduces && attrs->axes.count == 0 && !attrs->noop_empty;
    bool fits = true;
    for (int d = 0; d < RY_MAX_RANK; d++) {
        reduced[d] = all && d < rank;
    }
    for (int i = 0; i < attrs->axes.count && attrs->program->reduces && fits; i++) {
        const int axis = ry_axis(attrs->axes.at[i], rank);
        fits = axis >= 0;
        if (fits) {
            reduced[axis] = true;
        }
    }
    return fits;
}

static void bind_input(ry_gpu_space *space, const ry_tensor *tensor)
{
    ry_gpu_operand *operand = &space->operand[space->operands++];
    const int missing = space->rank - tensor->rank;
    *operand = (ry_gpu_operand){.dtype = (ry_dtype)tensor->dtype};
    for (int d = missing; d < space->rank; d++) {
        operand->stride[d] = tensor->dim[d - missing] == 1 ? 0 : tensor->stride[d - missing];
    }
}

static bool bind_output(dims *s, const ry_problem *problem, int output)
{
    const ry_expr_attrs *attrs = &problem->attrs.expr;
    const bool behind = attrs->program->reduced[attrs->program->result[output]];
    const ry_tensor *tensor = &problem->out[output];
    ry_gpu_space *space = s->space;
    ry_gpu_operand *operand = &space->operand[space->operands++];
    *operand = (ry_gpu_operand){.dtype = (ry_dtype)tensor->dtype};
    int at = 0;
    for (int d = 0; d < space->rank; d++) {
        const bool gone = behind && s->reduced[d];
        if (gone && !attrs->keepdims) {
            continue;
        }
        if (at >= tensor->rank || tensor->dim[at] != (gone ? 1 : space->dim[d])) {
            return false;
        }
        operand->stride[d] = space->dim[d] == 1 || gone ? 0 : tensor->stride[at];
        at++;
    }
    return at == tensor->rank;
}

static void swap_dims(dims *s, int a, int b)
{
    ry_gpu_space *space = s->space;
    const int64_t dim = space->dim[a];
    const bool reduced = s->reduced[a];
    space->dim[a] = space->dim[b];
    space->dim[b] = dim;
    s->reduced[a] = s->reduced[b];
    s->reduced[b] = reduced;
    for (int i = 0; i < space->operands; i++) {
        int64_t *stride = space->operand[i].stride, t = stride[a];
        stride[a] = stride[b];
        stride[b] = t;
    }
}

static void drop_dim(dims *s, int d)
{
    for (; d + 1 < s->space->rank; d++) {
        swap_dims(s, d, d + 1);
    }
    s->space->rank--;
}

/* The operand with the most elements; of several the last, which is an output where one has them
 * all. */
static void choose_leader(dims *s)
{
    int64_t most = -1;
    for (int i = 0; i < s->space->operands; i++) {
        int64_t elements = 1;
        for (int d = 0; d < s->space->rank; d++) {
            elements *= s->space->operand[i].stride[d] ? s->space->dim[d] : 1;
        }
        if (elements >= most) {
            most = elements;
            s->leader = i;
        }
    }
}

static bool belongs_inside(const dims *s, int a, int b)
{
    for (int i = 0; i < s->space->operands; i++) {
        const int64_t *stride = s->space->operand[(s->leader + i) % s->space->operands].stride;
        const int64_t p = llabs(stride[a]), q = llabs(stride[b]);
        if (p != 0 && q != 0 && p != q) {
            return p < q;
        }
    }
    return false;
}

/* Insertion sorts, since the order is only partly given: by strides, then kept dims first. */
static void sort_dims(dims *s)
{
    for (int i = 1; i < s->space->rank; i++) {
        for (int k = i; k > 0 && belongs_inside(s, k - 1, k); k--) {
            swap_dims(s, k - 1, k);
        }
    }
    s->space->inner_is_reduced = s->space->rank > 0 && s->reduced[s->space->rank - 1];
    for (int i = 1; i < s->space->rank; i++) {
        for (int k = i; k > 0 && s->reduced[k - 1] && !s->reduced[k]; k--) {
            swap_dims(s, k - 1, k);
        }
    }
}

static bool can_join(const dims *s, int d)
{
    bool fits = s->reduced[d] == s->reduced[d + 1];
    for (int i = 0; i < s->space->operands && fits; i++) {
        const int64_t *stride = s->space->operand[i].stride;
        fits = stride[d] == stride[d + 1] * s->space->dim[d + 1];
    }
    return fits;
}

static void join_dims(dims *s)
{
    for (int d = s->space->rank - 2; d >= 0; d--) {
        if (can_join(s, d)) {
            s->space->dim[d + 1] *= s->space->dim[d];
            drop_dim(s, d);
        }
    }
}

static void measure(dims *s)
{
    ry_gpu_space *space = s->space;
    space->kept = space->behind = 1;
    for (int d = 0; d < space->rank; d++) {
        space->kept_rank += !s->reduced[d];
        *(s->reduced[d] ? &space->behind : &space->kept) *= space->dim[d];
    }
    for (int i = 0; i < space->operands; i++) {
        int64_t field = 0;
        for (int d = 0; d < space->rank; d++) {
            field += llabs(space->operand[i].stride[d]) * space->dim[d];
        }
        space->farthest = field > space->farthest ? field : space->farthest;
    }
}

bool ry_gpu_space_make(const ry_problem *problem, ry_gpu_space *space)
{
    const ry_expr *program = problem->attrs.expr.program;
    ry_shape shape;
    dims s = {.space = space};
    memset(space, 0, sizeof *space);
    if (!broadcast(problem, &shape) || !find_reduced(&problem->attrs.expr, shape.rank, s.reduced)) {
        return false;
    }
    space->rank = shape.rank;
    memcpy(space->dim, shape.dim, sizeof space->dim);
    for (int i = 0; i < program->inputs; i++) {
        bind_input(space, &problem->in[i]);
    }
    for (int o = 0; o < program->outputs; o++) {
        if (!bind_output(&s, problem, o)) {
            return false;
        }
    }
    for (int d = space->rank - 1; d >= 0; d--) {
        if (space->dim[d] == 1) {
            drop_dim(&s, d);
        }
    }
    choose_leader(&s);
    sort_dims(&s);
    join_dims(&s);
    measure(&s);
    return true;
}
