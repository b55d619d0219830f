/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a problem into a nest of loops, and walks the nest. */
#include "kernels/cpu/product/product_nest.h"

#include "base/integer.h"

#include <string.h>

enum { NO_DIM = -1 };

/* A nest while it is made: its operands' tensors; an absent one has rank 0. */
typedef struct builder {
    const ry_problem *problem;
    product_nest *nest;
    ry_tensor tensor[PRODUCT_OPERANDS];
} builder;

/* A new innermost dim of a list: dim[operand] of each tensor. */
static product_dim *add(builder *b, product_lists list, int64_t count,
                        const int dim[PRODUCT_OPERANDS])
{
    product_list *l = &b->nest->list[list];
    product_dim *d = &l->dim[l->rank++];
    *d = (product_dim){.count = count, .axis = -1};
    for (int i = 0; i < PRODUCT_OPERANDS; i++) {
        const ry_tensor *t = &b->tensor[i];
        d->step[i] = dim[i] >= 0 && dim[i] < t->rank ? t->stride[dim[i]] : 0;
    }
    return d;
}

/* Multiplies a step. A dim of one position takes no step, however large the stride. */
static void scale_step(product_dim *d, int i, int64_t by)
{
    d->step[i] = d->count > 1 ? ry_product(d->step[i], by) : 0;
}

/* The groups of a convolution; `channels`: x's of a group, `others`: w's of a group. */
static void add_groups(builder *b, int64_t groups, int64_t channels, int64_t others,
                       const int dim[PRODUCT_OPERANDS])
{
    product_dim *d = add(b, PRODUCT_GROUPS, groups, dim);
    for (int i = 0; i < PRODUCT_OPERANDS; i++) {
        scale_step(d, i, i == PRODUCT_X ? channels : others);
    }
}

/* A dim along axis i of x, whose elements are `at` apart there. */
static product_dim *add_spatial(builder *b, product_lists list, int i, int64_t count, int64_t at,
                                const int dim[PRODUCT_OPERANDS])
{
    product_dim *d = add(b, list, count, dim);
    scale_step(d, PRODUCT_X, at);
    d->axis = i;
    d->at = at;
    return d;
}

/* x's axis i has `in` elements; the first position's first tap meets element `at`. */
static void set_axis(builder *b, int i, int64_t in, int64_t at)
{
    product_nest *n = b->nest;
    n->axes = i + 1;
    n->in[i] = in;
    n->at[i] = at;
    n->base[PRODUCT_X] += ry_product(at, b->tensor[PRODUCT_X].stride[i + 2]);
}

static void read_forward(builder *b, const ry_window *w)
{
    const int64_t groups = b->problem->attrs.conv.groups;
    const ry_tensor *x = &b->tensor[PRODUCT_X], *weights = &b->tensor[PRODUCT_W];
    const int64_t channels = weights->dim[1], others = b->tensor[PRODUCT_Y].dim[1] / groups;
    add_groups(b, groups, channels, others, (int[]){1, 0, 1, 0, 1});
    add(b, PRODUCT_XS, x->dim[0], (int[]){0, NO_DIM, 0, NO_DIM, 0});
    add(b, PRODUCT_WS, others, (int[]){NO_DIM, 0, 1, 0, 1});
    add(b, PRODUCT_DEPTH, channels, (int[]){1, 1, NO_DIM, NO_DIM, NO_DIM});
    for (int i = 0; i < w->rank; i++) {
        const ry_window_axis *axis = &w->axis[i];
        set_axis(b, i, axis->in, -axis->pad);
        add_spatial(b, PRODUCT_XS, i, axis->out, axis->stride,
                    (int[]){i + 2, NO_DIM, i + 2, NO_DIM, i + 2});
        add_spatial(b, PRODUCT_DEPTH, i, axis->taps, axis->dilation,
                    (int[]){i + 2, i + 2, NO_DIM, NO_DIM, NO_DIM});
    }
}

static void read_weight_gradient(builder *b, const ry_window *w)
{
    const int64_t groups = b->problem->attrs.conv.groups;
    const ry_tensor *x = &b->tensor[PRODUCT_X], *dw = &b->tensor[PRODUCT_Y];
    const int64_t channels = dw->dim[1], others = dw->dim[0] / groups;
    add_groups(b, groups, channels, others, (int[]){1, 1, 0, 0, NO_DIM});
    add(b, PRODUCT_XS, channels, (int[]){1, NO_DIM, 1, NO_DIM, NO_DIM});
    add(b, PRODUCT_WS, others, (int[]){NO_DIM, 1, 0, 0, NO_DIM});
    add(b, PRODUCT_DEPTH, x->dim[0], (int[]){0, 0, NO_DIM, NO_DIM, NO_DIM});
    for (int i = 0; i < w->rank; i++) {
        const ry_window_axis *axis = &w->axis[i];
        set_axis(b, i, axis->in, -axis->pad);
        add_spatial(b, PRODUCT_XS, i, axis->taps, axis->dilation,
                    (int[]){i + 2, NO_DIM, i + 2, NO_DIM, NO_DIM});
        add_spatial(b, PRODUCT_DEPTH, i, axis->out, axis->stride,
                    (int[]){i + 2, i + 2, NO_DIM, NO_DIM, NO_DIM});
    }
}

static int64_t residues_of(const ry_window_axis *axis)
{
    return ry_min(axis->stride, axis->in);
}

/* Taps that positions of residues below `residue` read. */
static int64_t taps_below(const ry_window_axis *axis, int64_t residue)
{
    int64_t taps = 0;
    for (int64_t r = 0; r < axis->taps; r++) {
        const int64_t at = (r * axis->dilation - axis->pad) % axis->stride;
        taps += (at < 0 ? at + axis->stride : at) < residue;
    }
    return taps;
}

static void read_transposed(builder *b, const ry_window *w, int64_t groups, int64_t phase)
{
    product_nest *n = b->nest;
    const ry_tensor *x = &b->tensor[PRODUCT_X], *weights = &b->tensor[PRODUCT_W];
    const ry_tensor *bias = &b->tensor[PRODUCT_BIAS];
    const int64_t channels = weights->dim[0] / groups, others = weights->dim[1];
    add_groups(b, groups, channels, others, (int[]){1, 0, 1, 0, 1});
    n->list[PRODUCT_GROUPS].dim[0].step[PRODUCT_W] = channels * weights->stride[0];
    add(b, PRODUCT_XS, x->dim[0], (int[]){0, NO_DIM, 0, NO_DIM, 0});
    add(b, PRODUCT_WS, others, (int[]){NO_DIM, 1, 1, 0, 1});
    add(b, PRODUCT_DEPTH, channels, (int[]){1, 0, NO_DIM, NO_DIM, NO_DIM});
    int64_t all = 1, before = 0, index = phase;
    for (int i = w->rank - 1; phase >= 0 && i >= 0; i--) {
        const ry_window_axis *axis = &w->axis[i];
        const int64_t residue = index % residues_of(axis), below = taps_below(axis, residue);
        before = below * all + (taps_below(axis, residue + 1) - below) * before;
        all *= taps_below(axis, residues_of(axis));
        index /= residues_of(axis);
        n->at[i] = residue; /* until the loop below */
    }
    n->depth_before = channels * before;
    for (int i = 0; i < w->rank; i++) {
        const ry_window_axis *axis = &w->axis[i];
        const int64_t residue = n->at[i];
        const ry_window_readers r =
            phase < 0 ? (ry_window_readers){.count = axis->taps, .tap_step = 1, .out_step = -1}
                      : ry_window_phase(axis, residue);
        set_axis(b, i, axis->out, r.out);
        product_dim *o =
            add_spatial(b, PRODUCT_XS, i, ry_ceil_div(axis->in - residue, axis->stride), 1,
                        (int[]){i + 2, NO_DIM, i + 2, NO_DIM, i + 2});
        product_dim *k = add_spatial(b, PRODUCT_DEPTH, i, r.count, r.out_step,
                                     (int[]){i + 2, i + 2, NO_DIM, NO_DIM, NO_DIM});
        for (int y = PRODUCT_Y; y < PRODUCT_OPERANDS; y++) {
            n->base[y] += residue * o->step[y];
            o->step[y] *= axis->stride;
        }
        if (bias->rank > 1) {
            n->base[PRODUCT_BIAS] += residue * bias->stride[i + 1];
        }
        n->base[PRODUCT_W] += r.tap * k->step[PRODUCT_W];
        k->step[PRODUCT_W] *= r.tap_step;
    }
}

/* Dim i of y in a tensor that broadcasts to y's dims; `own`: dims of y that it takes part in. */
static int broadcast_dim(const ry_tensor *t, int i, int own, int rank)
{
    const int at = i - (own - rank);
    return at < 0 || at >= rank || t->dim[at] == 1 ? NO_DIM : at;
}

static void read_matmul(builder *b)
{
    const ry_matmul_attrs *attrs = &b->problem->attrs.matmul;
    const ry_tensor *x = &b->tensor[PRODUCT_X], *w = &b->tensor[PRODUCT_W],
                    *y = &b->tensor[PRODUCT_Y];
    const ry_tensor *bias = &b->tensor[PRODUCT_BIAS], *residual = &b->tensor[PRODUCT_RESIDUAL];
    const int x_batch = x->rank > 2 ? x->rank - 2 : 0, w_batch = w->rank > 2 ? w->rank - 2 : 0;
    const int batch = y->rank - (x->rank > 1) - (w->rank > 1);
    for (int i = 0; i < batch; i++) {
        const int along_w = broadcast_dim(w, i, batch, w_batch);
        add(b, along_w == NO_DIM ? PRODUCT_XS : PRODUCT_GROUPS, y->dim[i],
            (int[]){broadcast_dim(x, i, batch, x_batch), along_w, i,
                    broadcast_dim(bias, i, y->rank, bias->rank),
                    broadcast_dim(residual, i, y->rank, residual->rank)});
    }
    int at = batch, depth_x = x->rank - 1, depth_w = 0;
    if (x->rank > 1) {
        depth_x = attrs->trans_a ? x->rank - 2 : x->rank - 1;
        add(b, PRODUCT_XS, y->dim[at],
            (int[]){2 * x->rank - 3 - depth_x, NO_DIM, at,
                    broadcast_dim(bias, at, y->rank, bias->rank),
                    broadcast_dim(residual, at, y->rank, residual->rank)});
        at++;
    }
    if (w->rank > 1) {
        depth_w = attrs->trans_b ? w->rank - 1 : w->rank - 2;
        add(b, PRODUCT_WS, y->dim[at],
            (int[]){NO_DIM, 2 * w->rank - 3 - depth_w, at,
                    broadcast_dim(bias, at, y->rank, bias->rank),
                    broadcast_dim(residual, at, y->rank, residual->rank)});
    }
    add(b, PRODUCT_DEPTH, x->dim[depth_x], (int[]){depth_x, depth_w, NO_DIM, NO_DIM, NO_DIM});
}

/* Channels that are next to each other in x become the innermost steps of k. */
static void put_channels_last(product_nest *n)
{
    product_list *depth = &n->list[PRODUCT_DEPTH];
    const product_dim channels = depth->dim[0];
    n->channels_last = depth->rank > 1 && channels.step[PRODUCT_X] == 1 && channels.count > 1;
    if (n->channels_last) {
        memmove(depth->dim, depth->dim + 1, (size_t)(depth->rank - 1) * sizeof *depth->dim);
        depth->dim[depth->rank - 1] = channels;
    }
}

/* Axes along which nothing is outside x are no axes. */
static void drop_axes(product_nest *n)
{
    int kept[PRODUCT_AXES], axes = 0;
    for (int a = 0; a < n->axes; a++) {
        int64_t low = n->at[a], high = n->at[a];
        for (int l = PRODUCT_XS; l < PRODUCT_LISTS; l++) {
            for (int i = 0; i < n->list[l].rank; i++) {
                const product_dim *d = &n->list[l].dim[i];
                const int64_t field = d->axis == a ? (d->count - 1) * d->at : 0;
                low += ry_min(field, 0);
                high += ry_max(field, 0);
            }
        }
        kept[a] = low < 0 || high >= n->in[a] ? axes++ : -1;
    }
    for (int a = 0; a < n->axes; a++) {
        if (kept[a] >= 0) {
            n->in[kept[a]] = n->in[a];
            n->at[kept[a]] = n->at[a];
        }
    }
    for (int l = 0; l < PRODUCT_LISTS; l++) {
        for (int i = 0; i < n->list[l].rank; i++) {
            product_dim *d = &n->list[l].dim[i];
            d->axis = d->axis < 0 ? -1 : kept[d->axis];
        }
    }
    n->axes = axes;
}

static bool goes_on(const product_dim *outer, const product_dim *inner)
{
    bool same = outer->axis < 0 && inner->axis < 0;
    for (int i = 0; i < PRODUCT_OPERANDS; i++) {
        same = same && outer->step[i] == inner->count * inner->step[i];
    }
    return same;
}

/* Drops dims of one element; joins neighbours that are one dim in every operand. */
static void join_dims(product_list *l)
{
    int rank = 0;
    for (int i = 0; i < l->rank; i++) {
        const product_dim d = l->dim[i];
        if (d.count == 1) {
            continue;
        }
        if (rank > 0 && goes_on(&l->dim[rank - 1], &d)) {
            const int64_t count = l->dim[rank - 1].count * d.count;
            l->dim[rank - 1] = d;
            l->dim[rank - 1].count = count;
        } else {
            l->dim[rank++] = d;
        }
    }
    l->rank = rank;
}

static const ry_tensor *output(const ry_problem *p, int i)
{
    return ry_problem_has_output(p, i) ? &p->out[i] : NULL;
}

static const ry_tensor *input(const ry_problem *p, int i)
{
    return ry_problem_has_input(p, i) ? &p->in[i] : NULL;
}

static bool is_weight_gradient(const ry_problem *p)
{
    return p->op == RY_OP_conv && p->attrs.conv.dir == RY_direction_bwd_weights;
}

static bool is_transposed(const ry_problem *p)
{
    return p->op == RY_OP_convt ||
           (p->op == RY_OP_conv && p->attrs.conv.dir == RY_direction_bwd_data);
}

void ry_product_nest(const ry_problem *p, int64_t phase, product_nest *nest)
{
    memset(nest, 0, sizeof *nest);
    builder b = {.problem = p, .nest = nest};
    const ry_tensor *tensor[PRODUCT_OPERANDS] = {input(p, 0), input(p, 1), output(p, 0),
                                                 is_weight_gradient(p) ? output(p, 1) : input(p, 2),
                                                 input(p, 3)};
    for (int i = 0; i < PRODUCT_OPERANDS; i++) {
        b.tensor[i] = tensor[i] ? *tensor[i] : (ry_tensor){0};
    }
    if (p->op == RY_OP_matmul) {
        read_matmul(&b);
    } else {
        const ry_window w = ry_window_of(p);
        if (is_weight_gradient(p)) {
            read_weight_gradient(&b, &w);
        } else if (is_transposed(p)) {
            read_transposed(
                &b, &w, p->op == RY_OP_convt ? p->attrs.convt.groups : p->attrs.conv.groups, phase);
        } else {
            read_forward(&b, &w);
        }
    }
    put_channels_last(nest);
    drop_axes(nest);
    for (int l = 0; l < PRODUCT_LISTS; l++) {
        join_dims(&nest->list[l]);
    }
}

int64_t ry_product_phases(const ry_problem *p)
{
    int64_t phases = 1;
    if (is_transposed(p)) {
        const ry_window w = ry_window_of(p);
        for (int i = 0; i < w.rank; i++) {
            phases *= residues_of(&w.axis[i]);
        }
    }
    return phases;
}

int64_t ry_product_depth(const ry_problem *p)
{
    product_nest nest;
    if (!is_transposed(p)) {
        ry_product_nest(p, -1, &nest);
        return ry_product_count(&nest.list[PRODUCT_DEPTH]);
    }
    const int64_t groups = p->op == RY_OP_convt ? p->attrs.convt.groups : p->attrs.conv.groups;
    int64_t depth = p->in[1].dim[0] / groups;
    for (int i = 2; i < p->in[1].rank; i++) {
        depth *= p->in[1].dim[i];
    }
    return depth;
}

int64_t ry_product_count(const product_list *list)
{
    int64_t count = 1;
    for (int i = 0; i < list->rank; i++) {
        count *= list->dim[i].count;
    }
    return count;
}

void ry_product_offsets(const product_list *list, int64_t index, int64_t *offset)
{
    for (int i = list->rank - 1; i >= 0; i--) {
        const product_dim *d = &list->dim[i];
        const int64_t at = index % d->count;
        index /= d->count;
        for (int o = 0; o < PRODUCT_OPERANDS; o++) {
            offset[o] += at * d->step[o];
        }
    }
}

/* The index in each dim of a list. */
static void decode(const product_list *list, int64_t index, int64_t *at)
{
    for (int i = list->rank - 1; i >= 0; i--) {
        at[i] = index % list->dim[i].count;
        index /= list->dim[i].count;
    }
}

/* Goes on by `by` indices, which do not cross the end of the innermost dim. */
static void advance(const product_list *list, int64_t by, int64_t *at)
{
    for (int i = list->rank - 1; i >= 0; i--, by = 1) {
        at[i] += by;
        if (at[i] < list->dim[i].count) {
            return;
        }
        at[i] = 0;
    }
}

static void point_at(const product_list *list, product_operand operand, int64_t size,
                     const int64_t *at, int64_t *point)
{
    memset(point, 0, (size_t)size * sizeof *point);
    for (int i = 0; i < list->rank; i++) {
        const product_dim *d = &list->dim[i];
        point[0] += at[i] * d->step[operand];
        if (size > 1 && d->axis >= 0) {
            point[1 + d->axis] += at[i] * d->at;
        }
    }
}

void ry_product_points(const product_nest *nest, product_lists list, product_operand operand,
                       int64_t first, int64_t count, int64_t *points)
{
    const product_list *l = &nest->list[list];
    const int64_t size = product_point_size(nest, operand);
    int64_t at[RY_MAX_RANK];
    decode(l, first, at);
    for (int64_t i = 0; i < count; i++) {
        point_at(l, operand, size, at, points + i * size);
        advance(l, 1, at);
    }
}

int64_t ry_product_runs(const product_nest *nest, product_lists list, product_operand operand,
                        int64_t first, int64_t count, product_run *runs, int64_t *points)
{
    static const product_dim none = {.count = 1, .axis = -1};
    const product_list *l = &nest->list[list];
    const product_dim *inner = l->rank > 0 ? &l->dim[l->rank - 1] : &none;
    const int64_t size = product_point_size(nest, operand);
    int64_t at[RY_MAX_RANK] = {0}, found = 0;
    decode(l, first, at);
    for (int64_t i = 0; i < count; found++) {
        const int64_t left = inner->count - at[l->rank > 0 ? l->rank - 1 : 0];
        const int64_t here = ry_min(count - i, left);
        point_at(l, operand, size, at, points + found * size);
        runs[found] = (product_run){.first = i,
                                    .count = here,
                                    .step = inner->step[operand],
                                    .axis = size > 1 ? inner->axis : -1,
                                    .at_step = inner->at};
        advance(l, here, at);
        i += here;
    }
    return found;
}
