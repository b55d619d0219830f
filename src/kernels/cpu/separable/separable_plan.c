/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts a separable convolution into strips. */
#include "kernels/cpu/separable/separable_plan.h"

#include "base/whole.h"

#include <string.h>

enum {
    PIXELS_WANTED = 52,      /* of a strip: some tiles of the matrix product, for each pass over its weights */
    BLOCK_MOST = 192 * 1024, /* bytes: it stays in a second-level cache of 512 KiB beside the rows of x and the weights */
    TASKS_WANTED = 8,        /* where there are so many rows */
    TASK_OVERHEAD = 1000,    /* cycles */
    PIXEL_OVERHEAD = 12,     /* cycles of a block of pixels: its addresses */
};

static bool is_f32(const ry_problem *problem, int i)
{
    return !ry_problem_has_input(problem, i) || ry_type_of(&problem->in[i]) == RY_f32;
}

/* Do the rows of y, or of the residual, follow each other without a gap? */
static bool in_line(const ry_tensor *t)
{
    return t->stride[1] == 1 && (t->rank == 3 || t->dim[2] == 1 || t->stride[2] == t->dim[3] * t->stride[3]);
}

/* A spatial attribute's value for rows (0) and columns (1); a line has one row. */
static int64_t attribute(const ry_ints *list, int spatial, int i, int64_t preset)
{
    const int at = i - (2 - spatial);
    return at < 0 ? preset : ry_ints_get(list, at, preset);
}

bool separable_suits(const ry_problem *problem)
{
    const ry_tensor *x = &problem->in[0], *dw = &problem->in[1], *y = &problem->out[0];
    const ry_separable_conv_attrs *a = &problem->attrs.separable_conv;
    for (int i = 0; i < 6; i++) {
        if (!is_f32(problem, i)) {
            return false;
        }
    }
    if (ry_type_of(y) != RY_f32 || x->rank < 3 || x->rank > 4 || x->stride[1] != 1 || !in_line(y) ||
        (ry_problem_has_input(problem, 5) && !in_line(&problem->in[5]))) {
        return false;
    }
    for (int i = 0; i < x->rank; i++) {
        if (x->dim[i] < 1 || y->dim[i] < 1) {
            return false;
        }
    }
    for (int i = 0; i < x->rank - 2; i++) {
        if (dw->dim[2 + i] > SEPARABLE_WINDOW_MOST || ry_ints_get(&a->stride, i, 1) > SEPARABLE_STRIDE_MOST ||
            (ry_ints_get(&a->dilation, i, 1) != 1 && dw->dim[2 + i] > 1)) {
            return false;
        }
    }
    return true;
}

static void read_problem(const ry_problem *problem, separable_plan *plan)
{
    const ry_tensor *x = &problem->in[0], *dw = &problem->in[1], *y = &problem->out[0];
    const ry_separable_conv_attrs *a = &problem->attrs.separable_conv;
    const int spatial = x->rank - 2;
    plan->batch = x->dim[0];
    plan->channels = x->dim[1];
    plan->outputs = y->dim[1];
    for (int i = 0; i < 2; i++) {
        const int d = x->rank - 2 + i;
        const bool there = i >= 2 - spatial;
        plan->in[i] = there ? x->dim[d] : 1;
        plan->out[i] = there ? y->dim[d] : 1;
        plan->window[i] = there ? dw->dim[d] : 1;
        plan->stride[i] = attribute(&a->stride, spatial, i, 1);
        plan->before[i] = attribute(&a->pads, spatial, i, 0);
    }
    plan->x_batch = x->stride[0];
    plan->x_pixel = x->stride[x->rank - 1];
    plan->x_row = spatial == 2 ? x->stride[2] : 0;
    plan->y_batch = y->stride[0];
    plan->y_pixel = plan->out[1] > 1 ? y->stride[y->rank - 1] : spatial == 2 ? y->stride[2] : 0;
    if (ry_problem_has_input(problem, 5)) {
        const ry_tensor *r = &problem->in[5];
        plan->r_batch = r->stride[0];
        plan->r_pixel = plan->out[1] > 1 ? r->stride[r->rank - 1] : spatial == 2 ? r->stride[2] : 0;
    }
}

static void choose_rows(separable_plan *plan)
{
    const int64_t row = plan->out[1] * plan->m_step * (int64_t)sizeof(float);
    int64_t rows = ry_parts(PIXELS_WANTED, plan->out[1]), most = ry_parts(plan->out[0] * plan->batch, TASKS_WANTED);
    rows = rows < most ? rows : most;
    rows = rows * row > BLOCK_MOST ? BLOCK_MOST / row : rows;
    rows = rows < 1 ? 1 : rows > plan->out[0] ? plan->out[0] : rows;
    plan->strips = ry_parts(plan->out[0], rows);
    plan->rows = ry_parts(plan->out[0], plan->strips);
}

/* A tap is a multiply-add and about half a load; a tile's start and end cost four cycles a vector. */
static double count_cycles(const separable_plan *plan)
{
    const int64_t along = plan->whole / plan->width;
    const double vectors = (double)along, rows = (double)(plan->batch * plan->out[0]);
    const double blocks = rows * (double)ry_parts(plan->out[1], SEPARABLE_PIXELS), taps = (double)(plan->window[0] * plan->window[1]);
    const double depthwise = blocks * (vectors * SEPARABLE_PIXELS * (taps * 1.25 + 3) + PIXEL_OVERHEAD);
    const double pixels = rows * (double)plan->out[1], tasks = (double)(plan->batch * plan->strips);
    const double pointwise = pixels * (double)ry_parts(plan->outputs, plan->width) * ((double)plan->channels + 4);
    const double weights = tasks * (double)(plan->channels * plan->outputs) * (2.0 / 24.0);
    return depthwise + pointwise + weights + tasks * TASK_OVERHEAD;
}

void separable_plan_make(const ry_problem *problem, int width, int tile_rows, int tile_vectors, separable_plan *plan)
{
    memset(plan, 0, sizeof *plan);
    read_problem(problem, plan);
    plan->width = width;
    plan->whole = ry_parts(plan->channels, width) * width;
    plan->tile_rows = tile_rows > 13 ? 13 : tile_rows; /* rows that lie along the reduction need an address each */
    plan->tile_columns = (int64_t)width * tile_vectors;
    plan->units = ry_parts(plan->outputs, plan->tile_columns);
    plan->m_step = plan->whole + 16;
    choose_rows(plan);
    plan->dw_bias = plan->window[0] * plan->window[1] * plan->whole;
    plan->pointwise = plan->dw_bias + plan->whole;
    plan->bias = plan->pointwise + plan->channels * ry_parts(plan->outputs, width) * width;
    plan->packed = plan->bias + plan->units * plan->tile_columns;
    size_t at = 0;
    plan->block = at, at += ry_aligned((size_t)(plan->rows * plan->out[1] * plan->m_step) * sizeof(float));
    plan->zeros = at, at += ry_aligned((size_t)plan->whole * sizeof(float));
    plan->nobody = at, at += ry_aligned((size_t)plan->whole * sizeof(float));
    plan->scratch = at;
    plan->cycles = count_cycles(plan);
}
