/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a convolution problem into phases and taps. */
#include "kernels/cpu/conv/conv_geometry.h"

#include <string.h>

/* Attributes of conv and convt that have the same meaning. */
typedef struct window {
    const ry_ints *stride, *dilation, *pads;
    int64_t groups;
    int space; /* spatial dimensions of the problem */
} window;

static window window_of(const ry_problem *problem)
{
    const int space = problem->in[0].rank - 2;
    if (problem->op == RY_OP_conv) {
        const ry_conv_attrs *a = &problem->attrs.conv;
        return (window){&a->stride, &a->dilation, &a->pads, a->groups, space};
    }
    const ry_convt_attrs *a = &problem->attrs.convt;
    return (window){&a->stride, &a->dilation, &a->pads, a->groups, space};
}

/* Index in the problem's spatial lists of our dimension i, or -1 where the problem has no such dimension. */
static int listed(const window *w, int i)
{
    return i - (RY_SPACE - w->space) >= 0 ? i - (RY_SPACE - w->space) : -1;
}

static int64_t list_get(const window *w, const ry_ints *list, int i, int64_t preset)
{
    const int at = listed(w, i);
    return at < 0 ? preset : ry_ints_get(list, at, preset);
}

int64_t ry_conv_attribute(const ry_problem *problem, const ry_ints *list, int i, int64_t preset)
{
    const int at = i - (RY_SPACE - (problem->in[0].rank - 2));
    return at < 0 ? preset : ry_ints_get(list, at, preset);
}

static int64_t dim_of(const window *w, const ry_tensor *tensor, int i)
{
    const int at = listed(w, i);
    return at < 0 ? 1 : tensor->dim[at + 2];
}

static int64_t step_of(const window *w, const ry_tensor *tensor, int i)
{
    const int at = listed(w, i);
    return at < 0 ? 0 : tensor->stride[at + 2];
}

/* Elements of the bias from a phase to that of the next residue along our dimension i. */
static int64_t bias_step(const ry_problem *problem, const window *w, int i)
{
    const int at = listed(w, i);
    return at < 0 || !ry_conv_has_phase_bias(problem) ? 0 : problem->in[2].stride[at + 1];
}

bool ry_conv_has_phase_bias(const ry_problem *problem)
{
    return ry_problem_has_input(problem, 2) && problem->in[2].rank > 1;
}

static bool is_empty(const ry_tensor *tensor)
{
    for (int i = 0; i < tensor->rank; i++) {
        if (tensor->dim[i] < 1) {
            return true;
        }
    }
    return false;
}

bool ry_conv_is_spatial(const ry_problem *problem)
{
    if (problem->op == RY_OP_conv ? problem->attrs.conv.dir != RY_direction_fwd : problem->op != RY_OP_convt) {
        return false;
    }
    const int rank = problem->in[0].rank;
    return rank >= 3 && rank <= 2 + RY_SPACE && !is_empty(&problem->in[0]) && !is_empty(&problem->in[1]) && !is_empty(&problem->out[0]);
}

/* Has every axis unit stride, and no more padding than the window reaches over? */
static bool is_mirrored(const ry_problem *problem, const window *win)
{
    bool mirrored = true;
    for (int i = 0; i < RY_SPACE; i++) {
        const int64_t reach = (dim_of(win, &problem->in[1], i) - 1) * list_get(win, win->dilation, i, 1);
        mirrored = mirrored && list_get(win, win->stride, i, 1) == 1 && list_get(win, win->pads, i, 0) <= reach;
    }
    return mirrored;
}

bool ry_conv_reads_forward(const ry_problem *problem)
{
    const window win = window_of(problem);
    return problem->op == RY_OP_conv || is_mirrored(problem, &win);
}

bool ry_conv_is_flat(const ry_conv_geometry *g)
{
    /* padding before a single plane moves it away from the only output */
    return g->in[0] == 1 && g->out[0] == 1 && g->kernel[0] == 1 && g->before[0] == 0;
}

/* Floor division for any sign of a, b > 0. */
static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

static int64_t ceil_div(int64_t a, int64_t b)
{
    return -floor_div(-a, b);
}

static int64_t clamp(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

/* Completes a tap from `at`. */
static void finish_tap(const ry_conv_geometry *g, const ry_conv_phase *phase, ry_conv_tap *tap)
{
    tap->offset = 0;
    for (int i = 0; i < RY_SPACE; i++) {
        tap->offset += tap->at[i] * g->x_step[i];
        tap->first[i] = clamp(ceil_div(-tap->at[i], g->stride[i]), 0, phase->grid[i]);
        tap->end[i] = clamp(ceil_div(g->in[i] - tap->at[i], g->stride[i]), tap->first[i], phase->grid[i]);
    }
}

/* The window's taps; those of a transposed convolution that reads as a forward one lie backwards. */
static void find_window(const ry_problem *problem, const window *win, bool mirrored, ry_conv_geometry *g)
{
    for (int i = 0; i < RY_SPACE; i++) {
        const int64_t pad = list_get(win, win->pads, i, 0), step = step_of(win, &problem->in[1], i), last = g->kernel[i] - 1;
        g->spread[i] = problem->op == RY_OP_conv ? 1 : list_get(win, win->stride, i, 1);
        g->dilation[i] = list_get(win, win->dilation, i, 1);
        g->before[i] = mirrored ? last * g->dilation[i] - pad : pad;
        g->w_step[i] = mirrored ? -step : step;
        g->w_first += mirrored ? last * step : 0;
    }
}

/* Does tap r of an axis read inside x for any output? */
static bool reaches_x(const ry_conv_geometry *g, int i, int64_t r)
{
    const int64_t at = r * g->dilation[i] - g->before[i];
    const int64_t first = clamp(ceil_div(-at, g->stride[i]), 0, g->out[i]);
    return first < clamp(ceil_div(g->in[i] - at, g->stride[i]), 0, g->out[i]);
}

/* Leaves out the taps at the ends of each axis that read nothing but padding: wide dilated windows on small x have many. */
static void trim_window(ry_conv_geometry *g)
{
    for (int i = 0; i < RY_SPACE; i++) {
        int64_t first = 0, last = g->kernel[i] - 1;
        while (first < last && !reaches_x(g, i, first)) {
            first++;
        }
        while (last > first && !reaches_x(g, i, last)) {
            last--;
        }
        g->kernel[i] = last - first + 1;
        g->before[i] -= first * g->dilation[i];
        g->w_first += first * g->w_step[i];
    }
}

/* The one phase of what reads as a forward convolution. */
static void forward_phase(const ry_problem *problem, const window *win, ry_conv_geometry *g, ry_conv_phase *phase, ry_conv_tap *tap)
{
    g->phases = 1;
    g->taps = g->kernel[0] * g->kernel[1] * g->kernel[2];
    if (!phase) {
        return;
    }
    memset(phase, 0, sizeof *phase);
    phase->taps = g->taps;
    for (int i = 0; i < RY_SPACE; i++) {
        phase->grid[i] = g->out[i];
        phase->y_step[i] = step_of(win, &problem->out[0], i);
        phase->r_step[i] = ry_problem_has_input(problem, 3) ? step_of(win, &problem->in[3], i) : 0;
    }
    for (int64_t t = 0; t < g->taps; t++) {
        int64_t rest = t;
        memset(&tap[t], 0, sizeof tap[t]);
        tap[t].weight = g->w_first;
        for (int i = RY_SPACE - 1; i >= 0; i--) {
            const int64_t r = rest % g->kernel[i];
            rest /= g->kernel[i];
            tap[t].at[i] = r * g->dilation[i] - g->before[i];
            tap[t].weight += r * g->w_step[i];
        }
        finish_tap(g, phase, &tap[t]);
    }
}

/* The taps of phase `residue`: those with (residue + pad - r * dilation) divisible by the stride in each dimension. Returns their count. */
static int64_t phase_taps(const ry_problem *problem, const window *win, const ry_conv_geometry *g, const int64_t residue[RY_SPACE],
                          const ry_conv_phase *phase, ry_conv_tap *tap)
{
    int64_t count = 0;
    /* from the last one on: where each reads ascends, and neighbours in x are neighbours here */
    for (int64_t t = g->kernel[0] * g->kernel[1] * g->kernel[2] - 1; t >= 0; t--) {
        ry_conv_tap next = {.weight = 0};
        int64_t rest = t;
        bool reaches = true;
        for (int i = RY_SPACE - 1; i >= 0; i--) {
            const int64_t r = rest % g->kernel[i], stride = list_get(win, win->stride, i, 1);
            rest /= g->kernel[i];
            const int64_t from = residue[i] + list_get(win, win->pads, i, 0) - r * list_get(win, win->dilation, i, 1);
            reaches = reaches && from % stride == 0;
            next.at[i] = from / stride;
            next.weight += r * step_of(win, &problem->in[1], i);
        }
        if (reaches && tap) {
            finish_tap(g, phase, &next);
            tap[count] = next;
        }
        count += reaches;
    }
    return count;
}

static void transposed_phases(const ry_problem *problem, const window *win, ry_conv_geometry *g, ry_conv_phase *phase, ry_conv_tap *tap)
{
    int64_t stride[RY_SPACE], residues[RY_SPACE];
    for (int i = 0; i < RY_SPACE; i++) {
        stride[i] = list_get(win, win->stride, i, 1);
        residues[i] = stride[i] < g->out[i] ? stride[i] : g->out[i];
    }
    const ry_tensor *y = &problem->out[0];
    g->phases = g->taps = 0;
    for (int64_t p = 0; p < residues[0] * residues[1] * residues[2]; p++) {
        const int64_t residue[RY_SPACE] = {p / (residues[1] * residues[2]), p / residues[2] % residues[1], p % residues[2]};
        ry_conv_phase next = {.first_tap = g->taps};
        for (int i = 0; i < RY_SPACE; i++) {
            next.grid[i] = (g->out[i] - residue[i] + stride[i] - 1) / stride[i];
            next.y_offset += residue[i] * step_of(win, y, i);
            next.y_step[i] = stride[i] * step_of(win, y, i);
            next.bias_offset += residue[i] * bias_step(problem, win, i);
            if (ry_problem_has_input(problem, 3)) {
                next.r_offset += residue[i] * step_of(win, &problem->in[3], i);
                next.r_step[i] = stride[i] * step_of(win, &problem->in[3], i);
            }
        }
        next.taps = phase_taps(problem, win, g, residue, &next, tap ? tap + g->taps : NULL);
        g->taps += next.taps;
        if (phase) {
            phase[g->phases] = next;
        }
        g->phases++;
    }
}

void ry_conv_geometry_of(const ry_problem *problem, ry_conv_geometry *g, ry_conv_phase *phase, ry_conv_tap *tap)
{
    const ry_tensor *x = &problem->in[0], *w = &problem->in[1], *y = &problem->out[0];
    const window win = window_of(problem);
    const bool forward = problem->op == RY_OP_conv, has_residual = ry_problem_has_input(problem, 3);
    memset(g, 0, sizeof *g);
    g->batch = x->dim[0];
    g->groups = win.groups;
    g->channels_in = x->dim[1] / win.groups;
    g->channels_out = y->dim[1] / win.groups;
    for (int i = 0; i < RY_SPACE; i++) {
        g->in[i] = dim_of(&win, x, i);
        g->out[i] = dim_of(&win, y, i);
        g->kernel[i] = dim_of(&win, w, i);
        g->x_step[i] = step_of(&win, x, i);
        g->stride[i] = forward ? list_get(&win, win.stride, i, 1) : 1;
    }
    g->x_batch = x->stride[0];
    g->x_channel = x->stride[1];
    g->y_batch = y->stride[0];
    g->y_channel = y->stride[1];
    g->r_batch = has_residual ? problem->in[3].stride[0] : 0;
    g->r_channel = has_residual ? problem->in[3].stride[1] : 0;
    /* conv: w[groups * out][in]; convt: w[groups * in][out] */
    g->w_out = w->stride[forward ? 0 : 1];
    g->w_in = w->stride[forward ? 1 : 0];
    g->w_group = w->stride[0] * (forward ? g->channels_out : g->channels_in);
    const bool mirrored = !forward && is_mirrored(problem, &win);
    g->forward = forward || mirrored;
    g->phase_bias = ry_conv_has_phase_bias(problem);
    find_window(problem, &win, mirrored, g);
    if (g->forward) {
        trim_window(g);
        forward_phase(problem, &win, g, phase, tap);
    } else {
        transposed_phases(problem, &win, g, phase, tap);
    }
    for (int64_t p = 0; phase && p < g->phases; p++) {
        phase[p].pixels = phase[p].grid[0] * phase[p].grid[1] * phase[p].grid[2];
    }
}

int64_t ry_conv_woven(const ry_problem *problem, const ry_conv_geometry *g)
{
    const ry_tensor *y = &problem->out[0];
    if (problem->op != RY_OP_convt || g->phases == 1 || y->stride[y->rank - 1] != 1) {
        return 1;
    }
    const int64_t stride = ry_conv_attribute(problem, &problem->attrs.convt.stride, RY_SPACE - 1, 1), width = g->out[RY_SPACE - 1];
    return stride < width ? stride : width;
}

ry_activation_of ry_conv_activation(const ry_problem *problem)
{
    if (problem->op == RY_OP_conv) {
        const ry_conv_attrs *a = &problem->attrs.conv;
        return (ry_activation_of){a->activation, (float)a->act_alpha, (float)a->act_beta};
    }
    if (problem->op == RY_OP_convt) {
        const ry_convt_attrs *a = &problem->attrs.convt;
        return (ry_activation_of){a->activation, (float)a->act_alpha, (float)a->act_beta};
    }
    const ry_matmul_attrs *a = &problem->attrs.matmul;
    return (ry_activation_of){a->activation, (float)a->act_alpha, (float)a->act_beta};
}
