/* SPDX-License-Identifier: Apache-2.0 */
/* Gives the positions of a block, and what their taps meet of x, places in one row. */
#include "kernels/cpu/amx/wgrad_split_plan.h"

#include "base/integer.h"
#include "base/room.h"

enum {
    MIN_CHANNELS = 16, /* input and output channels of a group: those of a tile */
    /* terms of a sum: if shorter sums cancel, two parts are over 32 times less accurate than the
     * direct sum */
    MIN_TERMS = 64,
    /* places of one channel of x: windows that span more do not stay in a cache */
    MAX_PLACES = 1 << 17,
    FEW_POSITIONS = 32, /* the smallest blocks */
};

/* For strides > 0. */
static int64_t floor_div(int64_t a, int64_t b)
{
    return a >= 0 ? a / b : -ry_ceil_div(-a, b);
}

/* What a tap meets, from the position times the stride on. */
static int64_t tap_offset(const ry_window_axis *window, int64_t tap)
{
    return tap * window->dilation - window->pad;
}

static void find_residues(wgrad_split_axis *axis)
{
    const ry_window_axis *window = &axis->window;
    const int64_t stride = window->stride,
                  last = floor_div(tap_offset(window, window->taps - 1), stride);
    bool met[SPLIT_MAX_STRIDE] = {false};
    axis->low = floor_div(tap_offset(window, 0), stride);
    axis->span = last - axis->low;
    for (int64_t tap = 0; tap < window->taps && tap < stride; tap++) {
        const int64_t at = tap_offset(window, tap); /* residues repeat after `stride` taps */
        met[at - floor_div(at, stride) * stride] = true;
    }
    axis->residues = 0;
    for (int64_t residue = 0; residue < stride; residue++) {
        axis->residue[residue] = (int8_t)(met[residue] ? axis->residues : -1);
        if (met[residue]) {
            axis->residue_of[axis->residues++] = (int8_t)residue;
        }
    }
}

/* Places, beginning with that of position `begin` met by the first tap, whose elements of a residue
 * are inside x: of all that the taps of `count` positions meet. */
static ry_window_range inside(const wgrad_split_axis *axis, int64_t residue, int64_t begin,
                              int64_t count)
{
    const int64_t stride = axis->window.stride;
    return ry_window_inside(axis->window.in,
                            (begin + axis->low) * stride + axis->residue_of[residue], stride,
                            count + axis->span);
}

/* Cuts the positions of an axis, of which one takes `inner` others, into equal blocks. */
static void cut_axis(wgrad_split_axis *axis, int64_t positions, int64_t inner, bool inner_is_whole)
{
    const int64_t out = axis->window.out,
                  fit = inner_is_whole ? ry_clamp(positions / inner, 1, out) : 1;
    axis->block = ry_ceil_div(out, ry_ceil_div(out, fit));
    axis->blocks = ry_ceil_div(out, axis->block);
    axis->pitch = axis->block + axis->span;
    if (axis->blocks > 1) {
        return; /* blocks have one position of each axis before */
    }
    /* Elements of x end before the next ones' zeros begin, and the zeros behind them before the
     * next ones' elements. */
    axis->pitch = out;
    for (int64_t residue = 0; residue < axis->residues; residue++) {
        const ry_window_range range = inside(axis, residue, 0, out);
        if (range.begin < range.end) {
            axis->pitch = ry_max(axis->pitch, ry_max(range.end, out + axis->span - range.begin));
        }
    }
}

static int64_t positions_of(const wgrad_split_plan *plan, const int64_t count[WGRAD_SPLIT_LEVELS])
{
    int64_t last = count[0] - 1;
    for (int i = 1; i < WGRAD_SPLIT_LEVELS; i++) {
        last = last * plan->axis[i].pitch + count[i] - 1;
    }
    return last + 1;
}

void ry_wgrad_split_cut(const ry_problem *problem, int64_t splits, int64_t positions,
                        wgrad_split_plan *plan)
{
    memset(plan, 0, sizeof *plan);
    wgrad_shape *s = &plan->shape;
    ry_wgrad_shape_of(problem, s);
    plan->splits = splits;
    plan->residues = plan->blocks = 1;
    int64_t inner = 1, count[WGRAD_SPLIT_LEVELS], shift = 0;
    bool whole = true;
    for (int i = WGRAD_SPLIT_LEVELS - 1; i >= 0; i--) {
        wgrad_split_axis *axis = &plan->axis[i];
        axis->window = i > 0 ? s->axis[i - 1] : RY_WINDOW_UNIT;
        if (i == 0) {
            axis->window.in = axis->window.out = s->images;
        }
        find_residues(axis);
        cut_axis(axis, positions, inner, whole);
        whole = whole && axis->blocks == 1;
        inner *= axis->pitch;
        count[i] = axis->block;
        plan->residues *= axis->residues;
        plan->blocks *= axis->blocks;
    }
    for (int i = 0; i < WGRAD_SPLIT_LEVELS; i++) {
        shift = shift * plan->axis[i].pitch + plan->axis[i].span;
    }
    plan->steps = ry_ceil_div(positions_of(plan, count), WGRAD_SPLIT_PAIR);
    plan->positions = ry_round_up(plan->steps * WGRAD_SPLIT_PAIR + shift, WGRAD_SPLIT_PAIR);
    /* an odd number of cache lines spreads a tile's rows over all sets of the first-level cache */
    plan->row = (plan->steps | 1) * WGRAD_SPLIT_PAIR;
    plan->plane = plan->positions * SPLIT_LANES;
    plan->shifts = 1;
    for (int64_t tap = 0; tap < s->taps && plan->shifts == 1; tap++) {
        plan->shifts += ry_wgrad_split_tap(plan, tap).shift % 2;
    }
    plan->c_pairs = ry_ceil_div(s->c, WGRAD_SPLIT_PAIR);
    plan->k_pairs = ry_ceil_div(s->k, WGRAD_SPLIT_PAIR);
}

bool ry_wgrad_split_is_possible(const ry_problem *problem)
{
    if (!ry_wgrad_takes(problem)) {
        return false;
    }
    wgrad_shape s;
    ry_wgrad_shape_of(problem, &s);
    for (int i = 0; i < WGRAD_SPACE; i++) {
        if (s.axis[i].stride > SPLIT_MAX_STRIDE) {
            return false;
        }
    }
    if (s.c < MIN_CHANNELS || s.k < MIN_CHANNELS || s.images * s.positions < MIN_TERMS) {
        return false;
    }
    wgrad_split_plan plan;
    ry_wgrad_split_cut(problem, SPLIT_MAX_PARTS, FEW_POSITIONS, &plan);
    return plan.positions * plan.residues <= MAX_PLACES;
}

wgrad_split_block ry_wgrad_split_block(const wgrad_split_plan *plan, int64_t index)
{
    wgrad_split_block block;
    for (int i = WGRAD_SPLIT_LEVELS - 1; i >= 0; i--) {
        const wgrad_split_axis *axis = &plan->axis[i];
        block.begin[i] = index % axis->blocks * axis->block;
        block.count[i] = ry_min(axis->block, axis->window.out - block.begin[i]);
        index /= axis->blocks;
    }
    return block;
}

int64_t ry_wgrad_split_steps(const wgrad_split_plan *plan, const wgrad_split_block *block)
{
    return ry_ceil_div(positions_of(plan, block->count), WGRAD_SPLIT_PAIR);
}

/* Behind `count` others, or as more elements of the last one, whose next element it has in the next
 * place. */
static int64_t add_run(wgrad_split_run *runs, int64_t count, wgrad_split_run run, int64_t step)
{
    wgrad_split_run *last = count > 0 ? &runs[count - 1] : NULL;
    if (last && last->at + last->count == run.at && last->from + last->count * step == run.from) {
        last->count += run.count;
        return count;
    }
    runs[count] = run;
    return count + 1;
}

/* The lines of ranges of elements along each axis, of places that begin with those of 0. */
static int64_t list_runs(const wgrad_split_plan *plan, const wgrad_operand *operand,
                         const ry_window_range range[WGRAD_SPLIT_LEVELS],
                         const int64_t first[WGRAD_SPLIT_LEVELS],
                         const int64_t stride[WGRAD_SPLIT_LEVELS], wgrad_split_run *runs)
{
    const int64_t step[WGRAD_SPLIT_LEVELS] = {operand->image, operand->step[0], operand->step[1],
                                              operand->step[2]};
    int64_t count = 0, at[WGRAD_SPLIT_LEVELS];
    const int64_t length = range[3].end - range[3].begin;
    for (at[0] = range[0].begin; length > 0 && at[0] < range[0].end; at[0]++) {
        for (at[1] = range[1].begin; at[1] < range[1].end; at[1]++) {
            for (at[2] = range[2].begin; at[2] < range[2].end; at[2]++) {
                at[3] = range[3].begin;
                wgrad_split_run run = {.count = length};
                for (int i = 0; i < WGRAD_SPLIT_LEVELS; i++) {
                    run.from += (first[i] + at[i] * stride[i]) * step[i];
                    run.at = (i > 0 ? run.at * plan->axis[i].pitch : 0) + at[i];
                }
                count = add_run(runs, count, run, stride[3] * step[3]);
            }
        }
    }
    return count;
}

int64_t ry_wgrad_split_runs_of_x(const wgrad_split_plan *plan, const wgrad_split_block *block,
                                 int64_t residue, wgrad_split_run *runs)
{
    ry_window_range range[WGRAD_SPLIT_LEVELS];
    int64_t first[WGRAD_SPLIT_LEVELS], stride[WGRAD_SPLIT_LEVELS];
    for (int i = WGRAD_SPLIT_LEVELS - 1; i >= 0; i--) {
        const wgrad_split_axis *axis = &plan->axis[i];
        const int64_t own = residue % axis->residues;
        residue /= axis->residues;
        range[i] = inside(axis, own, block->begin[i], block->count[i]);
        stride[i] = axis->window.stride;
        first[i] = (block->begin[i] + axis->low) * stride[i] + axis->residue_of[own];
    }
    return list_runs(plan, &plan->shape.x, range, first, stride, runs);
}

int64_t ry_wgrad_split_runs_of_dy(const wgrad_split_plan *plan, const wgrad_split_block *block,
                                  wgrad_split_run *runs)
{
    static const int64_t stride[WGRAD_SPLIT_LEVELS] = {1, 1, 1, 1};
    ry_window_range range[WGRAD_SPLIT_LEVELS];
    for (int i = 0; i < WGRAD_SPLIT_LEVELS; i++) {
        range[i] = (ry_window_range){0, block->count[i]};
    }
    return list_runs(plan, &plan->shape.dy, range, block->begin, stride, runs);
}

wgrad_split_sums ry_wgrad_split_sums_of(const wgrad_split_plan *plan, void *share,
                                        const wgrad_split_piece *p)
{
    const wgrad_shape *s = &plan->shape;
    const bool own = plan->parts == 1; /* and nobody else's */
    const int64_t out = own ? 0 : p->group * s->k + p->out,
                  channel = own ? 0 : p->group * s->c + p->channel, column = own ? 0 : p->channel;
    char *bytes = share;
    return (wgrad_split_sums){
        .sums = (float *)share + out * s->taps * plan->pitch + column,
        .bias = RY_AT(float, bytes, plan->bias) + out,
        .x_ranges = RY_AT(split_range, bytes, plan->x_ranges) + channel,
        .dy_ranges = RY_AT(split_range, bytes, plan->dy_ranges) + out,
    };
}

wgrad_split_tap ry_wgrad_split_tap(const wgrad_split_plan *plan, int64_t tap)
{
    int64_t taps[WGRAD_SPACE];
    wgrad_tap_at(&plan->shape, tap, taps);
    wgrad_split_tap result = {0, 0};
    for (int i = 1; i < WGRAD_SPLIT_LEVELS; i++) {
        const wgrad_split_axis *axis = &plan->axis[i];
        const int64_t at = tap_offset(&axis->window, taps[i - 1]), stride = axis->window.stride,
                      strides = floor_div(at, stride);
        result.residue = result.residue * axis->residues + axis->residue[at - strides * stride];
        result.shift = result.shift * axis->pitch + strides - axis->low;
    }
    return result;
}
