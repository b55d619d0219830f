/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a convolution problem into phases and taps. */
#include "kernels/cpu/parts/conv_geometry.h"

#include "base/integer.h"
#include "problem/limits.h"
#include "problem/window.h"

#include <string.h>

/* The problem's axes as the last of RY_SPACE axes. */
static void axes_of(const ry_problem *problem, ry_window_axis axis[RY_SPACE])
{
    const ry_window window = ry_window_of(problem);
    for (int i = 0; i < RY_SPACE; i++) {
        const int at = i - (RY_SPACE - window.rank);
        axis[i] = at < 0 ? RY_WINDOW_UNIT : window.axis[at];
    }
}

/* Elements from a position to the next one along our dimension i. */
static int64_t step_of(const ry_tensor *tensor, int i)
{
    const int at = i - (RY_SPACE + 2 - tensor->rank);
    return at < 0 ? 0 : tensor->stride[at + 2];
}

/* Elements of the bias from a phase to that of the next residue along our dimension i. */
static int64_t bias_step(const ry_problem *problem, int i)
{
    const int at = i - (RY_SPACE + 2 - problem->in[0].rank);
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

static bool has_few_taps(const ry_problem *problem)
{
    const ry_tensor *w = &problem->in[1];
    int64_t taps = 1;
    for (int i = 2; i < w->rank; i++) {
        taps = ry_product(taps, w->dim[i]);
    }
    return taps <= RY_LIMIT_CONV_TAPS;
}

bool ry_conv_is_spatial(const ry_problem *problem)
{
    if (problem->op == RY_OP_conv ? problem->attrs.conv.dir != RY_direction_fwd
                                  : problem->op != RY_OP_convt) {
        return false;
    }
    const int rank = problem->in[0].rank;
    return rank >= 3 && rank <= 2 + RY_SPACE && !is_empty(&problem->in[0]) &&
           !is_empty(&problem->in[1]) && !is_empty(&problem->out[0]) && has_few_taps(problem);
}

/* Has every axis unit stride, and no more padding than the window reaches over? */
static bool is_mirrored(const ry_problem *problem, const ry_window_axis *axis)
{
    bool mirrored = problem->op == RY_OP_convt;
    for (int i = 0; i < RY_SPACE; i++) {
        mirrored = mirrored && axis[i].stride == 1 && axis[i].pad < ry_window_field(&axis[i]);
    }
    return mirrored;
}

bool ry_conv_reads_forward(const ry_problem *problem)
{
    if (problem->op == RY_OP_conv) {
        return true;
    }
    ry_window_axis axis[RY_SPACE];
    axes_of(problem, axis);
    return is_mirrored(problem, axis);
}

bool ry_conv_is_flat(const ry_conv_geometry *g)
{
    /* padding before a single plane moves it away from the only output */
    return g->in[0] == 1 && g->out[0] == 1 && g->kernel[0] == 1 && g->before[0] == 0;
}

/* Completes a tap from `at`. */
static void finish_tap(const ry_conv_geometry *g, const ry_conv_phase *phase, ry_conv_tap *tap)
{
    tap->offset = 0;
    for (int i = 0; i < RY_SPACE; i++) {
        tap->offset += tap->at[i] * g->x_step[i];
        const ry_window_range inside =
            ry_window_inside(g->in[i], tap->at[i], g->stride[i], phase->grid[i]);
        tap->first[i] = inside.begin;
        tap->end[i] = inside.end;
    }
}

/* Makes the window. A transposed convolution that is computed as a forward one has its taps
 * reversed. */
static void find_window(const ry_problem *problem, const ry_window_axis *axis, bool mirrored,
                        ry_conv_geometry *g)
{
    for (int i = 0; i < RY_SPACE; i++) {
        const int64_t step = step_of(&problem->in[1], i);
        const ry_window_axis a = mirrored ? ry_window_mirror(&axis[i]) : axis[i];
        g->in[i] = g->forward ? a.in : a.out;
        g->out[i] = g->forward ? a.out : a.in;
        g->kernel[i] = a.taps;
        g->stride[i] = g->forward ? a.stride : 1;
        g->output_stride[i] = g->forward ? 1 : a.stride;
        g->dilation[i] = a.dilation;
        g->before[i] = a.pad;
        g->w_step[i] = mirrored ? -step : step;
        g->w_first += mirrored ? (a.taps - 1) * step : 0;
    }
}

/* Does tap r of an axis read inside x for any output? */
static bool reaches_x(const ry_conv_geometry *g, int i, int64_t r)
{
    const ry_window_range inside =
        ry_window_inside(g->in[i], r * g->dilation[i] - g->before[i], g->stride[i], g->out[i]);
    return inside.begin < inside.end;
}

/* Leaves out the taps at the ends of each axis that read nothing but padding: wide dilated windows
 * on small x have many. */
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
static void forward_phase(const ry_problem *problem, ry_conv_geometry *g, ry_conv_phase *phase,
                          ry_conv_tap *tap)
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
        phase->y_step[i] = step_of(&problem->out[0], i);
        phase->r_step[i] = ry_problem_has_input(problem, 3) ? step_of(&problem->in[3], i) : 0;
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

/* The taps that reach the outputs of phase `residue`. Returns their count. */
static int64_t phase_taps(const ry_problem *problem, const ry_window_axis *axis,
                          const ry_conv_geometry *g, const int64_t *residue,
                          const ry_conv_phase *phase, ry_conv_tap *tap)
{
    ry_window_readers along[RY_SPACE];
    int64_t count = 1;
    for (int i = 0; i < RY_SPACE; i++) {
        along[i] = ry_window_phase(&axis[i], residue[i]);
        count *= along[i].count;
    }
    /* from the last one on: where each reads ascends, and neighbours in x are neighbours here */
    for (int64_t t = 0; t < count; t++) {
        int64_t rest = count - 1 - t;
        memset(&tap[t], 0, sizeof tap[t]);
        for (int i = RY_SPACE - 1; i >= 0; i--) {
            const int64_t j = rest % along[i].count;
            rest /= along[i].count;
            tap[t].at[i] = along[i].out + j * along[i].out_step;
            tap[t].weight += (along[i].tap + j * along[i].tap_step) * step_of(&problem->in[1], i);
        }
        finish_tap(g, phase, &tap[t]);
    }
    return count;
}

/* Counts the taps that reach the first `residues` outputs of an axis. Every tap reaches one of the
 * first `stride`. */
static int64_t count_taps(const ry_window_axis *axis, int64_t residues)
{
    int64_t count = residues == axis->stride ? axis->taps : 0;
    for (int64_t tap = 0; residues < axis->stride && tap < axis->taps; tap++) {
        const int64_t first = (tap * axis->dilation - axis->pad) % axis->stride;
        count += (first < 0 ? first + axis->stride : first) < residues;
    }
    return count;
}

/* The phase of a residue, without its taps. */
static ry_conv_phase transposed_phase(const ry_problem *problem, const ry_conv_geometry *g,
                                      const int64_t residue[RY_SPACE])
{
    const ry_tensor *y = &problem->out[0];
    ry_conv_phase phase = {.first_tap = g->taps};
    for (int i = 0; i < RY_SPACE; i++) {
        const int64_t stride = g->output_stride[i];
        phase.grid[i] = ry_ceil_div(g->out[i] - residue[i], stride);
        phase.y_offset += residue[i] * step_of(y, i);
        phase.y_step[i] = stride * step_of(y, i);
        phase.bias_offset += residue[i] * bias_step(problem, i);
        if (ry_problem_has_input(problem, 3)) {
            phase.r_offset += residue[i] * step_of(&problem->in[3], i);
            phase.r_step[i] = stride * step_of(&problem->in[3], i);
        }
    }
    return phase;
}

static void transposed_phases(const ry_problem *problem, const ry_window_axis *axis,
                              ry_conv_geometry *g, ry_conv_phase *phase, ry_conv_tap *tap)
{
    int64_t residues[RY_SPACE], phases = 1, taps = 1;
    for (int i = 0; i < RY_SPACE; i++) {
        residues[i] = ry_min(g->output_stride[i], g->out[i]);
        phases = ry_product(phases, residues[i]);
        taps = ry_product(taps, count_taps(&axis[i], residues[i]));
    }
    g->taps = 0;
    for (int64_t p = 0; phase && p < phases; p++) {
        const int64_t residue[RY_SPACE] = {p / (residues[1] * residues[2]),
                                           p / residues[2] % residues[1], p % residues[2]};
        phase[p] = transposed_phase(problem, g, residue);
        phase[p].taps = phase_taps(problem, axis, g, residue, &phase[p], tap + g->taps);
        g->taps += phase[p].taps;
    }
    g->phases = phases;
    g->taps = taps;
}

void ry_conv_geometry_of(const ry_problem *problem, ry_conv_geometry *g, ry_conv_phase *phase,
                         ry_conv_tap *tap)
{
    const ry_tensor *x = &problem->in[0], *w = &problem->in[1], *y = &problem->out[0];
    const bool forward = problem->op == RY_OP_conv, has_residual = ry_problem_has_input(problem, 3);
    ry_window_axis axis[RY_SPACE];
    axes_of(problem, axis);
    memset(g, 0, sizeof *g);
    g->batch = x->dim[0];
    g->groups = forward ? problem->attrs.conv.groups : problem->attrs.convt.groups;
    g->channels_in = x->dim[1] / g->groups;
    g->channels_out = y->dim[1] / g->groups;
    for (int i = 0; i < RY_SPACE; i++) {
        g->x_step[i] = step_of(x, i);
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
    const bool mirrored = is_mirrored(problem, axis);
    g->forward = forward || mirrored;
    g->phase_bias = ry_conv_has_phase_bias(problem);
    find_window(problem, axis, mirrored, g);
    if (g->forward) {
        trim_window(g);
        forward_phase(problem, g, phase, tap);
    } else {
        transposed_phases(problem, axis, g, phase, tap);
    }
    for (int64_t p = 0; phase && p < g->phases; p++) {
        phase[p].pixels = phase[p].grid[0] * phase[p].grid[1] * phase[p].grid[2];
    }
}

int64_t ry_conv_interleaved_phases(const ry_problem *problem, const ry_conv_geometry *g)
{
    const ry_tensor *y = &problem->out[0];
    if (problem->op != RY_OP_convt || g->phases == 1 || y->stride[y->rank - 1] != 1) {
        return 1;
    }
    return ry_min(g->output_stride[RY_SPACE - 1], g->out[RY_SPACE - 1]);
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
