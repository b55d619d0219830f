/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts a convolution into tasks of matrix products as a form says. */
#include "kernels/cpu/igemm/igemm_layout.h"

#include "base/integer.h"
#include "base/room.h"
#include "kernels/cpu/igemm/gather_program.h"
#include "kernels/cpu/igemm/igemm_copy.h"
#include "kernels/cpu/igemm/igemm_fused.h"
#include "kernels/cpu/igemm/igemm_k_block.h"
#include "kernels/cpu/igemm/igemm_padding.h"
#include "kernels/cpu/parts/epilogue_run.h"
#include "machine/machine.h"

#include <string.h>

/* Floats of a phase's shared panels: no machine has so many, and no sum of them overflows. */
#define MAX_SHARED ((int64_t)1 << 54)

static const struct ry_blocks_costs *limits_of(const igemm_plan *plan)
{
    return ry_blocks_of(plan->sizes.costs);
}

size_t ry_igemm_plan_size(const ry_problem *problem)
{
    ry_conv_geometry g;
    ry_conv_geometry_of(problem, &g, NULL, NULL);
    return ry_aligned(sizeof(igemm_plan) + (size_t)g.phases * sizeof(igemm_phase)) +
           ry_aligned((size_t)g.taps * sizeof(ry_conv_tap));
}

/* Do the pixels of the grid are with one step in memory? steps in elements a position; batch: the
 * step from image to image, where they count. */
static bool uniform(const ry_conv_phase *p, const int64_t step[RY_SPACE], int64_t images,
                    int64_t batch, int64_t *pixel_step)
{
    int64_t expected = 0;
    bool known = false;
    for (int i = RY_SPACE - 1; i >= -1; i--) {
        const int64_t count = i < 0 ? images : p->grid[i], here = i < 0 ? batch : step[i];
        if (count > 1) {
            if (known && here != expected) {
                return false;
            }
            if (!known) {
                /* inner dimensions have extent 1 */
                *pixel_step = here;
                expected = here;
                known = true;
            }
        }
        expected *= count;
    }
    if (!known) {
        *pixel_step = 1;
    }
    return true;
}

static bool is_direct(const ry_problem *problem, const igemm_plan *plan, igemm_phase *p)
{
    const ry_conv_geometry *g = &plan->geometry;
    const ry_dtype dtype = ry_type_of(&problem->out[0]);
    const bool has_residual = ry_problem_has_input(problem, 3);
    const int64_t images = p->where.images == 1 ? g->batch : 1; /* images that a block may span */
    p->where.y_pixel = p->where.r_pixel = 1;
    p->where.by_rows = false;
    if ((dtype != RY_f32 && dtype != RY_i32) ||
        (has_residual && ry_type_of(&problem->in[3]) != RY_f32)) {
        return false;
    }
    if (plan->interleave > 1 ||
        memcmp(p->where.inside, p->where.at.grid, sizeof p->where.inside) != 0) {
        return false;
    }
    const bool same_step =
        p->where.alternating == 1 &&
        uniform(&p->where.at, p->where.at.y_step, images, g->y_batch, &p->where.y_pixel) &&
        (!has_residual ||
         uniform(&p->where.at, p->where.at.r_step, images, g->r_batch, &p->where.r_pixel));
    p->where.by_rows = !same_step && plan->mode == IGEMM_ROWS &&
                       p->where.at.grid[RY_SPACE - 1] >= (int64_t)limits_of(plan)->igemm_row;
    if (p->where.by_rows) {
        p->where.y_pixel = p->where.at.y_step[RY_SPACE - 1];
        p->where.r_pixel = p->where.at.r_step[RY_SPACE - 1];
    } else if (!same_step) {
        return false;
    }
    if (plan->mode == IGEMM_PIXELS) {
        return (p->where.y_pixel == 1 || p->where.pixels == 1) &&
               (p->where.r_pixel == 1 || p->where.pixels == 1);
    }
    return g->y_channel == 1 && (!has_residual || g->r_channel == 1);
}

/* Do the pixels of a block are next to each other in y, as the channels do in a block of sums? */
static bool is_transposed(const ry_problem *problem, const igemm_plan *plan, const igemm_phase *p)
{
    const ry_conv_geometry *g = &plan->geometry;
    const bool has_residual = ry_problem_has_input(problem, 3);
    const int64_t images = p->where.images == 1 ? g->batch : 1;
    int64_t y_pixel = 1, r_pixel = 1;
    float low, high;
    return !p->where.direct && p->where.alternating == 1 && plan->interleave == 1 &&
           memcmp(p->where.inside, p->where.at.grid, sizeof p->where.inside) == 0 &&
           plan->mode != IGEMM_PIXELS && ry_type_of(&problem->out[0]) == RY_f32 &&
           (!has_residual || ry_type_of(&problem->in[3]) == RY_f32) &&
           uniform(&p->where.at, p->where.at.y_step, images, g->y_batch, &y_pixel) &&
           (!has_residual ||
            uniform(&p->where.at, p->where.at.r_step, images, g->r_batch, &r_pixel)) &&
           y_pixel == 1 && r_pixel == 1 &&
           ry_activation_bounds(ry_conv_activation(problem), &low, &high);
}

static void find_pads(const ry_problem *problem, const igemm_plan *plan, const ry_conv_tap *tap,
                      igemm_phase *p)
{
    const ry_dtype dtype = ry_type_of(&problem->in[0]);
    const ry_conv_geometry *g = &plan->geometry;
    int64_t reads[RY_SPACE];
    p->where.any_pad = false;
    for (int64_t t = p->where.at.first_tap; t < p->where.at.first_tap + p->where.at.taps; t++) {
        for (int i = 0; i < RY_SPACE; i++) {
            p->where.any_pad =
                p->where.any_pad || tap[t].first[i] > 0 || tap[t].end[i] < p->where.at.grid[i];
        }
    }
    for (int i = 0; i < RY_SPACE; i++) {
        /* a stride over padding, or of a single position, may be too large to multiply */
        reads[i] = p->where.at.grid[i] > 1 && !p->where.any_pad ? g->x_step[i] * g->stride[i] : 0;
    }
    const bool even = !plan->pairs && (dtype == RY_f32 || dtype == RY_i32) &&
                      p->where.at.taps == 1 && !p->where.any_pad && p->where.alternating == 1 &&
                      uniform(&p->where.at, reads, p->where.images == 1 ? g->batch : 1, g->x_batch,
                              &p->where.x_pixel) &&
                      (plan->mode == IGEMM_ROWS || p->where.x_pixel == 1 || p->where.pixels == 1);
    p->where.in_place = even && plan->form.value[IGEMM_KNOB_INPUT] != IGEMM_INTO_PANELS;
    p->where.plain = even && !p->where.in_place;
}

/* Pixels of a gathered vector. For GATHERED they are a tile's rows: as many as fit, and whole rows
 * of the grid or whole parts of one if that costs few of them, for then one load fills the vector.
 */
static void find_lanes(const igemm_plan *plan, igemm_phase *p)
{
    p->cut.lanes = plan->width;
    if (plan->mode != IGEMM_GATHERED) {
        return;
    }
    const int64_t max = ry_min(plan->tile_rows, plan->width), row = p->where.at.grid[RY_SPACE - 1];
    if (p->where.in_place) {
        p->cut.lanes = max;
        return;
    }
    p->cut.lanes = ry_ceil_div(p->where.pixels, ry_ceil_div(p->where.pixels, max));
    const int64_t vectors = plan->tile_columns / plan->width;
    const int64_t least = (int64_t)(limits_of(plan)->igemm_lanes * (double)max),
                  latency = (int64_t)limits_of(plan)->igemm_latency;
    for (int64_t lanes = max; lanes >= least && lanes * vectors > latency; lanes--) {
        if (row % lanes == 0 || lanes % row == 0) {
            p->cut.lanes = lanes;
            return;
        }
    }
}

/* Steps of a phase's k blocks at most. A small tile reads more operands for each product: what
 * stays in the first-level cache while others are streamed must fit there. Where x in place has so
 * few pixels that they and an oc block of weights do, a k block is as short as that takes. */
static int64_t max_k_block(const igemm_plan *plan, const igemm_phase *p)
{
    const struct ry_blocks_costs *limit = limits_of(plan);
    const int64_t lane_multiple = (int64_t)limit->igemm_k_multiple;
    const int64_t usual = (int64_t)(limit->igemm_k_block * (double)plan->sizes.l1) /
                          ((int64_t)limit->igemm_k_block_floats * 4);
    const int64_t cached = plan->sizes.l1 / 4 / (p->where.pixels + plan->tile_columns);
    const bool may_be_short = p->where.in_place && plan->mode == IGEMM_GATHERED &&
                              igemm_is_small(plan) && cached >= (int64_t)limit->igemm_short_k_block;
    const int64_t steps = p->cut.micropanels_outer
                              ? (int64_t)(limit->igemm_micropanel * (double)usual)
                          : may_be_short ? ry_min(cached, usual)
                                         : usual;
    return ry_min(ry_max(steps / lane_multiple, 1) * lane_multiple, IGEMM_MAX_K_BLOCK);
}

/* The usual k block of all phases. */
static int64_t usual_k_block(const igemm_plan *plan)
{
    int64_t steps = IGEMM_MAX_K_BLOCK;
    for (int64_t i = 0; i < plan->geometry.phases; i++) {
        steps = ry_min(steps, max_k_block(plan, &plan->phase[i]));
    }
    return steps;
}

static void find_k_blocks(const igemm_plan *plan, igemm_phase *p)
{
    const int64_t channels = plan->geometry.channels_in,
                  taps = plan->split ? ry_igemm_tap_row(plan, p) : p->where.at.taps;
    const int64_t max = plan->form.value[IGEMM_KNOB_K_BLOCK];
    p->cut.depth = channels * p->where.at.taps;
    p->cut.tap_row = taps;
    p->cut.skips = plan->split && p->where.any_pad;
    p->cut.k_block_channels = channels;
    p->cut.k_block_taps = taps;
    if (p->cut.streams) {
        p->cut.k_block_channels = (int64_t)limits_of(plan)->igemm_stream_channels;
    } else if (channels * taps <= max) {
        /* one k block */
    } else if (plan->mode == IGEMM_ROWS) {
        if (channels <= max) {
            p->cut.k_block_taps = ry_ceil_div(taps, ry_ceil_div(taps, max / channels));
        } else {
            p->cut.k_block_taps = 1;
            p->cut.k_block_channels = ry_ceil_div(channels, ry_ceil_div(channels, max));
        }
    } else if (taps <= max) {
        p->cut.k_block_channels = ry_ceil_div(channels, ry_ceil_div(channels, max / taps));
    } else {
        p->cut.k_block_channels = 1;
        p->cut.k_block_taps = ry_ceil_div(taps, ry_ceil_div(taps, max));
    }
    p->cut.k_blocks = taps == 0
                          ? 1
                          : ry_ceil_div(channels, p->cut.k_block_channels) *
                                (p->where.at.taps / taps) * ry_ceil_div(taps, p->cut.k_block_taps);
    ry_igemm_count_steps(plan, p);
}

/* A window that covers all of x, whose elements are in memory as the weights do, is one tap of as
 * many channels. */
static void unite_window(ry_conv_geometry *g, ry_conv_phase *p, ry_conv_tap *tap)
{
    const int64_t taps = p->taps;
    bool dense =
        g->phases == 1 && p->pixels == 1 && taps > 1 && g->x_channel == taps && g->w_in == taps;
    for (int64_t t = 0; dense && t < taps; t++) {
        dense = tap[t].offset == t && tap[t].weight == t;
        for (int i = 0; i < RY_SPACE; i++) {
            dense = dense && tap[t].first[i] == 0 && tap[t].end[i] == 1;
        }
    }
    if (!dense) {
        return;
    }
    g->channels_in *= taps;
    g->x_channel = g->w_in = g->taps = p->taps = 1;
    for (int i = 0; i < RY_SPACE; i++) {
        g->in[i] = g->kernel[i] = g->stride[i] = 1;
    }
}

/* Is x in place better read a few channels at a time? A single output channel needs so little time
 * for a plane's pixels that fetching the next tiles' does not keep up with it, where planes are
 * many and large. */
static bool streams(const igemm_plan *plan, const igemm_phase *p)
{
    const int64_t channels = plan->geometry.channels_in;
    return p->where.in_place && plan->mode == IGEMM_PIXELS && plan->geometry.channels_out == 1 &&
           channels > 2 * (int64_t)limits_of(plan)->igemm_stream_channels &&
           p->where.at.pixels * 4 >= plan->sizes.l1 && p->where.from_memory;
}

/* Where a tile is wider than high, its pixels are more than its weights: each step of an oc block
 * of weights that stayed would read more from the second-level cache than small tiles have time
 * for. */
static bool micropanels_outer(const igemm_plan *plan, const igemm_phase *p)
{
    return plan->mode == IGEMM_PIXELS && igemm_is_small(plan) &&
           plan->tile_columns > plan->tile_rows && p->where.direct && !p->where.in_place &&
           p->where.fused == 1;
}

/* A plane of x beside which a block's pixels may be with other images' in one task. */
bool ry_igemm_may_join(const igemm_plan *plan, const igemm_phase *p)
{
    return plan->geometry.batch > 1 &&
           p->where.at.pixels < (int64_t)limits_of(plan)->igemm_joined_tiles * plan->tile_columns;
}

static void set_tile(igemm_plan *plan)
{
    const int64_t *set = plan->form.value;
    const bool copied = set[IGEMM_KNOB_INPUT] == IGEMM_COPIED;
    if (plan->copied != copied) {
        ry_igemm_copy_set(plan, igemm_taps(plan), copied);
    }
    plan->mode = (igemm_mode)set[IGEMM_KNOB_MODE];
    plan->shared = set[IGEMM_KNOB_SHARED] != 0;
    plan->split = set[IGEMM_KNOB_SPLIT] != 0;
    const int64_t strided = (int64_t)limits_of(plan)->strided_rows;
    plan->tile_rows = plan->mode == IGEMM_ROWS ? ry_min(plan->max_rows, strided) : plan->max_rows;
    plan->max_oc_block = plan->mode == IGEMM_PIXELS ? plan->tile_rows : plan->tile_columns;
    plan->oc_blocks = ry_ceil_div(plan->geometry.channels_out, plan->max_oc_block);
}

void ry_igemm_set_mode(const ry_problem *problem, igemm_plan *plan)
{
    set_tile(plan);
    const ry_conv_geometry *g = &plan->geometry;
    for (int64_t i = 0; i < g->phases; i++) {
        igemm_phase *p = &plan->phase[i];
        const bool together = ry_igemm_may_join(plan, p) && !plan->form.value[IGEMM_KNOB_APART];
        p->where.images = together ? 1 : g->batch;
        p->where.pixels = together ? p->where.at.pixels * g->batch : p->where.at.pixels;
        p->where.alternating = together && plan->split ? g->batch : 1;
        find_pads(problem, plan, igemm_taps(plan), p);
        find_lanes(plan, p);
        p->cut.streams = streams(plan, p);
        p->where.direct = is_direct(problem, plan, p);
        p->cut.micropanels_outer = micropanels_outer(plan, p);
    }
    if (plan->form.value[IGEMM_KNOB_K_BLOCK] == RY_KNOB_FREE) {
        plan->form.value[IGEMM_KNOB_K_BLOCK] = usual_k_block(plan);
    }
    for (int64_t i = 0; i < g->phases; i++) {
        igemm_phase *p = &plan->phase[i];
        find_k_blocks(plan, p);
        p->where.transposed = is_transposed(problem, plan, p);
    }
    for (int64_t i = 0; i < g->phases; i++) {
        if (plan->phase[i].where.fused > 0) {
            ry_igemm_count_passes(&plan->phase[i]);
        }
    }
}

int64_t ry_igemm_panel_floats(const igemm_plan *plan, const igemm_phase *p, int64_t block)
{
    return plan->mode == IGEMM_ROWS ? block * igemm_panel_row(p)
                                    : ry_ceil_div(block, p->cut.lanes) * plan->width *
                                          p->cut.k_block_channels * p->cut.k_block_taps;
}

int64_t ry_igemm_block_multiple(const igemm_plan *plan, const igemm_phase *p)
{
    return p->cut.streams ? (int64_t)ry_blocks_of(plan->sizes.costs)->igemm_stream_pixels
           : plan->mode == IGEMM_PIXELS   ? plan->tile_columns
           : plan->mode == IGEMM_GATHERED ? p->cut.lanes
                                          : plan->tile_rows;
}

int64_t ry_igemm_block_pixels(const igemm_plan *plan, const igemm_phase *p, int64_t blocks)
{
    /* rows of pixels fall into tiles of like size */
    const int64_t cut =
        p->where.in_place && plan->mode != IGEMM_PIXELS ? 1 : ry_igemm_block_multiple(plan, p);
    return ry_min(p->where.pixels, ry_round_up(ry_ceil_div(p->where.pixels, blocks), cut));
}

int64_t ry_igemm_block_oc_blocks(const igemm_plan *plan, int64_t blocks)
{
    return ry_ceil_div(plan->oc_blocks, blocks);
}

void ry_igemm_set_blocks(igemm_plan *plan)
{
    for (int64_t i = 0, first = 0; i < plan->geometry.phases; i++) {
        igemm_phase *p = &plan->phase[i];
        first = p->where.fused > 0 ? i : first;
        /* all phases of a fused group are cut as its first one */
        p->cut.block = ry_igemm_block_pixels(plan, &plan->phase[first],
                                             plan->form.value[IGEMM_KNOB_PIXEL_BLOCKS]);
        p->cut.blocks = ry_ceil_div(plan->phase[first].where.pixels, p->cut.block);
        p->cut.oc_blocks_per_task =
            ry_igemm_block_oc_blocks(plan, plan->form.value[IGEMM_KNOB_CHANNEL_BLOCKS]);
    }
}

/* The order of a phase's tasks. Neighbouring tasks run at the same time, and share the larger operand:
 * the weights of an oc block, or the pixels of a block. */
static void cut_phase(const igemm_plan *plan, igemm_phase *p)
{
    const ry_conv_geometry *g = &plan->geometry;
    const ry_cut_axis images = {p->where.images, 1}, groups = {g->groups, 1},
                      pixels = {p->where.pixels, p->cut.block},
                      oc_blocks = {plan->oc_blocks, p->cut.oc_blocks_per_task};
    p->cut.blocks_first = g->groups == 1 && p->cut.depth * g->channels_out >
                                                g->channels_in * p->where.pixels * p->where.images;
    p->cut.task = p->cut.blocks_first ? (ry_task_cut){{oc_blocks, images, groups, pixels}}
                                      : (ry_task_cut){{images, groups, pixels, oc_blocks}};
    p->cut.gather = (ry_task_cut){{images, groups, pixels, {p->cut.k_blocks, 1}}};
    const bool gathers = plan->shared && !p->where.in_place &&
                         (p->where.source < 0 || p == &plan->phase[p->where.source]);
    p->cut.tasks = p->where.fused > 0 ? ry_cut_tasks(&p->cut.task) : 0;
    p->cut.gathers = gathers ? ry_cut_tasks(&p->cut.gather) : 0;
}

void ry_igemm_set_tasks(igemm_plan *plan)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t whole = plan->mode == IGEMM_PIXELS ? 1 : plan->width,
                  columns = ry_round_up(g->channels_out, whole);
    plan->tasks = plan->gathers = plan->packed_group = 0;
    plan->shared_size = 0;
    for (int64_t i = 0; i < g->phases; i++) {
        igemm_phase *p = &plan->phase[i];
        cut_phase(plan, p);
        p->cut.first_task = plan->tasks;
        p->cut.first_gather = plan->gathers;
        plan->tasks += p->cut.tasks;
        plan->gathers += p->cut.gathers;
        p->rooms.panel = p->where.in_place ? 0 : ry_igemm_panel_floats(plan, p, p->cut.block);
        p->rooms.shared_at = (int64_t)(plan->shared_size / sizeof(float));
        const int64_t shared = ry_min(ry_product(p->cut.gathers, p->rooms.panel), MAX_SHARED);
        plan->shared_size += ry_aligned((size_t)shared * sizeof(float));
        p->rooms.packed = plan->packed_group;
        plan->packed_group += ry_round_up(columns * p->cut.steps, 16);
    }
    plan->fetches_weights = plan->packed_group * 4 > plan->sizes.weights;
    if (plan->copied) {
        ry_igemm_copy_tasks(plan);
    }
}

/* A vector's multiply-adds in so many seconds. */
static double cycles_in(const ry_machine *machine, int width, double seconds)
{
    return seconds * machine->f32.one / (2 * width);
}

static igemm_sizes sizes_of(const ry_machine *machine, int width)
{
    const int64_t first = ry_machine_core_bytes(machine, RYND_LEVEL_L1);
    const ry_cost_column costs = ry_cost_column_of(machine, width);
    const struct ry_blocks_costs *share = ry_blocks_of(costs);
    return (igemm_sizes){
        .l1 = first,
        .panel = ry_machine_core_share(machine, RYND_LEVEL_L2, share->igemm_panel),
        .second = ry_min(ry_machine_core_share(machine, RYND_LEVEL_L2, share->igemm_reused),
                         (int64_t)share->igemm_reused_firsts * first),
        .weights = ry_machine_core_share(machine, RYND_LEVEL_L2, share->igemm_weights),
        .kept = (int64_t)ry_machine_kept_bytes(machine),
        .threads = ry_max(machine->cores, 1),
        .costs = costs,
        .task = cycles_in(machine, width, machine->task_seconds),
        .phase = machine->cores * cycles_in(machine, width, machine->region_seconds)};
}

/* The geometry's phases are written behind one another first, then spread into ours from the last
 * on. */
static void find_phases(const ry_problem *problem, igemm_plan *plan)
{
    ry_conv_phase *packed = (ry_conv_phase *)plan->phase;
    ry_conv_geometry_of(problem, &plan->geometry, packed, igemm_taps(plan));
    unite_window(&plan->geometry, packed, igemm_taps(plan));
    for (int64_t i = plan->geometry.phases - 1; i >= 0; i--) {
        const ry_conv_phase phase = packed[i];
        memset(&plan->phase[i], 0, sizeof plan->phase[i]);
        plan->phase[i].where.at = phase;
    }
    ry_igemm_fuse_phases(problem, plan, igemm_taps(plan));
}

/* What of x comes from memory. */
static void note_from_memory(const ry_query *query, igemm_plan *plan)
{
    const ry_conv_geometry *g = &plan->geometry;
    const double planes = (double)(g->batch * g->groups * g->channels_in),
                 size = (double)ry_dtype_size(ry_type_of(&query->problem->in[0]));
    plan->from_memory = ry_machine_exceeds_cache(
        query->target->machine, size * planes * (double)(g->in[0] * g->in[1] * g->in[2]));
    for (int64_t i = 0; i < g->phases; i++) {
        plan->phase[i].where.from_memory = ry_machine_exceeds_cache(
            query->target->machine, 4 * planes * (double)plan->phase[i].where.at.pixels);
    }
}

void ry_igemm_begin(const ry_query *query, bool alone, igemm_plan *plan)
{
    const ry_simd *simd = &query->kernel->simd;
    ry_conv_geometry g;
    ry_conv_geometry_of(query->problem, &g, NULL, NULL);
    memset(plan, 0, sizeof *plan);
    plan->width = simd->width;
    plan->lane_multiple = simd->lane_multiple;
    plan->tile_rows = plan->max_rows = simd->rows;
    plan->tile_columns = (int64_t)simd->vectors * simd->width;
    plan->pairs = query->kernel->accuracy == RY_ACCURACY_bf16;
    plan->lane = simd->lane;
    plan->alone = alone;
    plan->sizes = sizes_of(query->target->machine, simd->width);
    plan->taps = ry_aligned(sizeof(igemm_plan) + (size_t)g.phases * sizeof(igemm_phase));
    plan->size = plan->taps + ry_aligned((size_t)g.taps * sizeof(ry_conv_tap));
    find_phases(query->problem, plan);
    note_from_memory(query, plan);
    plan->as_is = plan->geometry;
}

void ry_igemm_plan_make(const ry_query *query, bool alone, igemm_plan *plan)
{
    ry_igemm_begin(query, alone, plan);
    plan->form = *query->form;
    ry_igemm_set_mode(query->problem, plan);
    ry_igemm_set_blocks(plan);
    ry_igemm_set_tasks(plan);
    ry_igemm_set_scratch(plan);
}
