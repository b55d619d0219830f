/* SPDX-License-Identifier: Apache-2.0 */
/* Lists and prices the tiles of igemm.cl. */
#include "kernels/gpu/gpu_tile.h"

#include "base/integer.h"
#include "kernels/gpu/gpu_choose.h"
#include "kernels/gpu/gpu_costs.h"
#include "kernels/gpu/gpu_group.h"
#include "kernels/gpu/gpu_tile_use.h"
#include "kernels/gpu/gpu_window.h"

#include <math.h>
#include <string.h>

/* Large ones read least, small ones leave fewer compute units idle; few rows are for few output channels. Then
 * come those that are a work-item's alone, and those of matrix units: 32 work-items sum item_m * 8 by
 * item_n * 4 (copied: 64 by 64). Copied ones come first: of equal times the first is chosen, and copies wait
 * least for memory. The last ones are for few positions: more items sum a small tile, in slices of its terms. */
#define PANEL(m, n)                        \
    {                                      \
        m, n, 64, m, n, false, 0, 1, false \
    }
#define UNITS(m, n, item_m, item_n)                 \
    {                                               \
        m, n, 16, item_m, item_n, true, 0, 1, false \
    }
#define COPIED(m, n, item_m, item_n)                \
    {                                               \
        m, n, 16, item_m, item_n, true, 3, 1, false \
    }
/* Two groups of 128 work-items: each sums 64 rows of one side by all of the other (fitted). */
#define WIDE(m, n)                                             \
    {                                                          \
        m, n, 32, (m) / 16, (n) / 16, RY_GPU_WIDE, 4, 1, false \
    }
/* A sub-group sums 16 by 16, of which an item has a column (fitted: or a row). */
#define SUBGROUPS(m, n)                                \
    {                                                  \
        m, n, 8, RY_GPU_SUBGROUP, 1, false, 0, 1, true \
    }
static const ry_gpu_tile tiles[] = {
    {128, 128, 8, 8, 8, false, 0, 1, false},
    {128, 64, 8, 8, 8, false, 0, 1, false},
    {64, 128, 8, 8, 8, false, 0, 1, false},
    {64, 64, 16, 4, 4, false, 0, 1, false},
    {64, 32, 16, 4, 4, false, 0, 1, false},
    {32, 64, 16, 4, 4, false, 0, 1, false},
    {32, 32, 16, 2, 4, false, 0, 1, false},
    {32, 128, 8, 4, 8, false, 0, 1, false},
    {16, 64, 16, 2, 4, false, 0, 1, false},
    {8, 128, 16, 2, 4, false, 0, 1, false},
    {4, 64, 16, 1, 4, false, 0, 1, false},
    PANEL(32, 32),
    PANEL(32, 128),
    PANEL(64, 64),
    PANEL(64, 128),
    PANEL(128, 64),
    PANEL(128, 128),
    COPIED(128, 128, 8, 16),
    COPIED(128, 64, 8, 16),
    COPIED(64, 128, 8, 16),
    COPIED(64, 64, 8, 16),
    UNITS(128, 128, 8, 8),
    UNITS(128, 64, 4, 8),
    UNITS(64, 128, 4, 8),
    UNITS(64, 64, 4, 8),
    UNITS(32, 128, 4, 8),
    UNITS(64, 32, 4, 4),
    UNITS(32, 64, 2, 8),
    {32, 32, 32, 4, 4, false, 0, 4, false},
    {64, 32, 32, 4, 4, false, 0, 2, false},
    {64, 64, 16, 4, 4, false, 0, 2, false},
    {32, 32, 32, 4, 8, true, 0, 4, false},
    {64, 32, 16, 4, 8, true, 0, 2, false},
    {64, 64, 16, 4, 8, true, 0, 2, false},
    WIDE(64, 128),
    WIDE(128, 64),
    WIDE(128, 128),
    WIDE(256, 128),
    WIDE(128, 256),
    SUBGROUPS(64, 64),
    SUBGROUPS(64, 32),
    SUBGROUPS(32, 64),
    SUBGROUPS(32, 32),
    SUBGROUPS(16, 64),
    SUBGROUPS(64, 16),
};
const char *const ry_gpu_tile_words[] = {"128x128",        "128x64",
                                         "64x128",         "64x64",
                                         "64x32",          "32x64",
                                         "32x32",          "32x128",
                                         "16x64",          "8x128",
                                         "4x64",           "panel32x32",
                                         "panel32x128",    "panel64x64",
                                         "panel64x128",    "panel128x64",
                                         "panel128x128",   "copied128x128",
                                         "copied128x64",   "copied64x128",
                                         "copied64x64",    "units128x128",
                                         "units128x64",    "units64x128",
                                         "units64x64",     "units32x128",
                                         "units64x32",     "units32x64",
                                         "few32x32",       "few64x32",
                                         "few64x64",       "fewunits32x32",
                                         "fewunits64x32",  "fewunits64x64",
                                         "wide64x128",     "wide128x64",
                                         "wide128x128",    "wide256x128",
                                         "wide128x256",    "subgroups64x64",
                                         "subgroups64x32", "subgroups32x64",
                                         "subgroups32x32", "subgroups16x64",
                                         "subgroups64x16", NULL};
enum { TILES = sizeof tiles / sizeof *tiles, LEAST_TERMS = 64 };
/* Registers of `join` beside sums; most groups that share a sum. */
enum { JOIN_REGISTERS = 64, PROCESSOR_SPLIT = 16, GPU_SPLIT = 1024 };

const ry_knob ry_gpu_tile_knobs[RY_GPU_TILE_KNOBS] = {
    [RY_GPU_KNOB_TILE] = {"tile", ry_gpu_tile_words, true, true},
    [RY_GPU_KNOB_SPLIT] = {.name = "split", .main = true},
};

bool ry_gpu_tile_is_panel(const ry_gpu_tile *tile)
{
    return tile->item_m == tile->m && tile->item_n == tile->n;
}

/* Rows of a warp group's product, of which an item has 2 with a quarter of the columns; of both groups. */
enum { WIDE_ROWS = 64, GROUPS_ROWS = 128 };

/* A copied tile's work-items for a product: twice as many where operands take two words each, and pairs
 * of y's rows an item where those are beside each other. */
static ry_gpu_tile fitted(const ry_gpu_product *product, ry_gpu_tile tile)
{
    if (tile.units == RY_GPU_WIDE) {
        tile.item_m = product->rows_along ? tile.m / 4 : tile.m / WIDE_ROWS;
        tile.item_n = product->rows_along ? tile.n / WIDE_ROWS : tile.n / 4;
        return tile;
    }
    if (tile.subgroups && product->rows_along) {
        tile.item_m = 1;
        tile.item_n = RY_GPU_SUBGROUP;
        return tile;
    }
    if (tile.stages && product->operands == RY_GPU_THREE_TF32) {
        tile.item_n /= 2;
    }
    if (tile.stages && product->rows_along) {
        tile.item_m *= 2;
        tile.item_n /= 2;
    }
    return tile;
}

/* Work-items of a slice, and of a group. */
static int slice_items(const ry_gpu_tile *tile)
{
    return tile->m / tile->item_m * (tile->n / tile->item_n);
}

static int items_of(const ry_gpu_tile *tile)
{
    return slice_items(tile) * tile->slices;
}

static bool is_items(const ry_gpu_tile *tile)
{
    return !tile->units && !ry_gpu_tile_is_panel(tile);
}

/* Are a convolution's terms stepped through? By work-items where channels nearly fill tiles. */
static bool is_stepped(const ry_gpu_product *product, const ry_gpu_tile *tile)
{
    const int64_t channels = product->channels;
    if (!channels || ry_gpu_tile_is_panel(tile)) {
        return false;
    }
    return tile->stages || tile->subgroups ||
           (tile->units ? product->terms_along
                        : product->phases || ry_round_up(channels, tile->k) * 4 <= channels * 5);
}

/* Words of four bytes of a side of the tile that matrix units read, the larger of the two orders.
 */
static int unit_words(const ry_gpu_tile *tile, int side)
{
    enum { PAD = 8 }; /* to the end of each row of k, 4 where rows go along k */
    return tile->k * side + (PAD * tile->k > PAD / 2 * side ? PAD * tile->k : PAD / 2 * side);
}

/* Bytes of local memory for a stage of a copied tile; a wide one's has a barrier. */
static size_t stage_bytes(const ry_gpu_product *product, const ry_gpu_tile *tile)
{
    const size_t size = ry_gpu_operand_size(product->operands),
                 terms = (size_t)tile->k * sizeof(float) / size,
                 barrier = tile->units == RY_GPU_WIDE ? sizeof(uint64_t) : 0,
                 w = product->copied_w ? (size_t)product->copied_w : size;
    return terms * ((size_t)tile->m * w + (size_t)tile->n * (size_t)product->copied) + barrier;
}

/* Stages of a tile in local memory: in the 48 KiB that every device of matrix units gives a work-group.
 * Wide tiles are given half of a unit's 228 KiB, for two groups, where three stages fit it and sums leave
 * registers; else all but 1 KiB (CUDA C++ Programming Guide, "Compute Capability 9.0"). */
static int stages_of(const ry_gpu_product *product, const ry_gpu_tile *tile)
{
    enum { ROOM = 48 << 10, UNIT = 227 << 10, HALF = 113 << 10, LEAST = 3 };
    const int64_t bytes = (int64_t)stage_bytes(product, tile);
    const bool half = tile->m * tile->n <= GROUPS_ROWS * GROUPS_ROWS && HALF / bytes >= LEAST;
    return (int)ry_min(tile->stages,
                       (tile->units == RY_GPU_WIDE ? half ? HALF : UNIT : ROOM) / bytes);
}

/* Has the architecture wide units; do their groups share whole rows; is x on that side if rounded? */
static bool is_wide_for(const ry_machine *m, const ry_gpu_product *product, const ry_gpu_tile *tile)
{
    const bool kept = (size_t)product->copied == ry_gpu_operand_size(product->operands) &&
                      product->operands != RY_GPU_TF32;
    return strcmp(m->architecture, "sm_90a") == 0 && product->wide_text &&
           (kept || product->rows_along) &&
           (product->rows_along ? tile->n : tile->m) % GROUPS_ROWS == 0;
}

/* Bytes of local memory. */
static size_t bytes_of(const ry_gpu_product *product, const ry_gpu_tile *tile)
{
    enum { PAD = 4, LISTED_WORDS = 512 * 3 }; /* at most, of walk.cl */
    if (tile->subgroups) {
        return 0;
    }
    if (tile->stages) {
        return (size_t)stages_of(product, tile) * stage_bytes(product, tile);
    }
    const int listed = product->window && !is_stepped(product, tile) ? LISTED_WORDS : 0;
    const int words = tile->units ? 2 * (unit_words(tile, tile->m) + unit_words(tile, tile->n))
                      : ry_gpu_tile_is_panel(tile)
                          ? tile->k * (tile->m + tile->n) + tile->m * tile->n
                          : 2 * tile->k * (tile->m + tile->n + 2 * PAD) + listed,
              sums = (tile->slices - 1) * tile->m * tile->n;
    return (size_t)(words + sums) * sizeof(float);
}

/* Terms of the product's sums that a tile multiplies at once. */
static int terms_of(const ry_gpu_product *product, const ry_gpu_tile *tile)
{
    return tile->units ? tile->k * (int)(sizeof(float) / ry_gpu_operand_size(product->operands))
                       : tile->k;
}

/* Has the device sub-groups; are a convolution's terms stepped through, or do all fill tiles? */
static bool runs_in_subgroups(const ry_machine *machine, const ry_gpu_product *product,
                              const ry_gpu_tile *tile)
{
    return machine->subgroups && strcmp(machine->isa, "opencl") == 0 &&
           (product->channels || (!product->window && product->terms % tile->k == 0));
}

/* Panels are for processors. */
static bool runs_on(const ry_machine *machine, const ry_gpu_product *product,
                    const ry_gpu_tile *tile)
{
    const bool panel = ry_gpu_tile_is_panel(tile);
    return (tile->units > 0) == ry_gpu_operands_are_units(product->operands) &&
           (tile->stages || product->operands != RY_GPU_THREE_TF32) &&
           (!tile->subgroups || runs_in_subgroups(machine, product, tile)) &&
           (!tile->stages || (product->copied && stages_of(product, tile) > 1)) &&
           (tile->units == RY_GPU_WIDE ? is_wide_for(machine, product, tile)
                                       : !product->wide_alone) &&
           (panel ? machine->step_items == 1 && product->operands != RY_GPU_QUADS
                  : product->operands != RY_GPU_BYTES) &&
           (!machine->group_items || (unsigned)items_of(tile) <= machine->group_items) &&
           (!machine->local_bytes || tile->units == RY_GPU_WIDE ||
            bytes_of(product, tile) <= machine->local_bytes);
}

static bool runs_any(const ry_machine *machine, ry_gpu_operands operands)
{
    const ry_gpu_product product = {
        .operands = operands, .copied = operands == RY_GPU_THREE_TF32 ? (int)sizeof(float) : 0};
    bool runs = false;
    for (int i = 0; i < TILES && !runs; i++) {
        runs = runs_on(machine, &product, &tiles[i]);
    }
    return runs;
}

#define RUNS(what, operands)                                                           \
    bool ry_gpu_tile_runs_##what(const ry_problem *problem, const ry_machine *machine) \
    {                                                                                  \
        (void)problem;                                                                 \
        return runs_any(machine, operands);                                            \
    }
RUNS(floats, RY_GPU_F32)
RUNS(units, RY_GPU_TF32)
RUNS(three, RY_GPU_THREE_TF32)
RUNS(quads, RY_GPU_QUADS)
RUNS(bytes, RY_GPU_BYTES)

void ry_gpu_tile_values(const ry_query *query, const ry_gpu_product *product, int knob,
                        ry_knob_values *values)
{
    if (knob == RY_GPU_KNOB_TILE) {
        for (int i = 0; i < TILES; i++) {
            if (runs_on(query->target->machine, product, &tiles[i])) {
                ry_knob_values_add(values, i);
            }
        }
        return;
    }
    const bool gpu = query->target->machine->step_items > 1;
    const int64_t most =
        ry_min(gpu ? GPU_SPLIT : PROCESSOR_SPLIT, ry_max(product->terms / LEAST_TERMS, 1));
    for (int64_t split = 1; split <= most; split *= 2) {
        ry_knob_values_add(values, split);
        if (gpu && split > 1 && split / 2 * 3 <= most) { /* few groups: a wave, filled */
            ry_knob_values_add(values, split / 2 * 3);
        }
    }
}

/* Channels of a tap, filled up to whole tiles. */
static int64_t term_channels(const ry_gpu_product *product, const ry_gpu_tile *tile)
{
    return is_items(tile) && is_stepped(product, tile) ? ry_round_up(product->channels, tile->k)
                                                       : product->channels;
}

/* Terms of a work-group. */
static int64_t split_terms(const ry_gpu_product *product, const ry_gpu_tile *tile, int64_t split)
{
    const int64_t channels = product->channels,
                  terms = channels ? product->terms / channels * term_channels(product, tile)
                                   : product->terms;
    return ry_round_up(ry_ceil_div(terms, split), terms_of(product, tile));
}

static int64_t tiles_of(const ry_gpu_product *product, const ry_gpu_tile *tile)
{
    return ry_ceil_div(product->rows, tile->m) * ry_ceil_div(product->columns, tile->n) *
           product->batches;
}

/* Operations of a multiply-add on a processor, of reading its operands, and of its share in finding
 * and storing the tile's elements. */
static double processor_operations(const ry_gpu_product *product, const ry_gpu_tile *tile,
                                   const ry_machine *machine)
{
    const ry_gpu_costs *cost = ry_gpu_costs_of(machine);
    const double find = product->window ? cost->tile_gather : cost->tile_find,
                 elements = cost->tile_store * (1.0 / tile->m + 1.0 / tile->n) + find / tile->m,
                 rate = fmax(machine->int8.one, machine->f32.one) / machine->f32.one,
                 multiply = product->operands == RY_GPU_QUADS ? 8 / rate : 2;
    return cost->tile * (multiply +
                         cost->tile_read * (ceil(tile->item_m / 4.0) + ceil(tile->item_n / 4.0)) /
                             (tile->item_m * tile->item_n) +
                         elements);
}

/* Work-items of a processor run one behind the other. */
static double tile_operations(const ry_gpu_product *product, const ry_gpu_tile *tile,
                              const ry_machine *machine)
{
    return machine->step_items > 1
               ? ry_gpu_tile_operations(product, tile, terms_of(product, tile), machine)
               : processor_operations(product, tile, machine);
}

/* Operations of all tiles. Panels multiply rows in whole 8s and columns in whole 32s; if terms are
 * adjacent in memory, rows in whole 32s and columns in whole 8s. */
static double panel_work(const ry_gpu_product *product, const ry_gpu_tile *tile, int64_t split,
                         const ry_gpu_costs *cost)
{
    const bool along = product->terms_along;
    const double rows = (double)ry_round_up(product->rows, along ? RY_GPU_ALONG : RY_GPU_ACROSS),
                 columns =
                     (double)ry_round_up(product->columns, along ? RY_GPU_ACROSS : RY_GPU_ALONG),
                 terms = (double)split_terms(product, tile, split) * (double)split,
                 groups = (double)ry_ceil_div(product->rows, tile->m),
                 sums = rows * columns * (double)product->batches;
    return sums * terms *
               (cost->panel_product + cost->panel_sum / tile->k +
                cost->panel_gather * groups / rows) +
           sums * cost->panel_output;
}

/* Does a residual join a convolution's sums? */
static bool has_residual(const ry_problem *problem)
{
    enum { RESIDUAL = 3 };
    return (problem->op == RY_OP_conv || problem->op == RY_OP_convt) &&
           ry_problem_has_input(problem, RESIDUAL);
}

/* Groups that join a tile's sums, of which a work-item of theirs has four. */
static int64_t join_parts(const ry_gpu_tile *tile)
{
    return ry_gpu_tile_is_panel(tile) ? 1 : tile->item_m * tile->item_n / 4;
}

static bool fill(const ry_query *query, const void *user, ry_prepared *prepared)
{
    const ry_gpu_product *product = user;
    const ry_machine *machine = query->target->machine;
    const ry_gpu_costs *cost = ry_gpu_costs_of(machine);
    const ry_gpu_tile own = fitted(product, ry_gpu_tile_of(prepared)), *tile = &own;
    const int64_t split = prepared->form.value[RY_GPU_KNOB_SPLIT];
    const int64_t count = tiles_of(product, tile), sums = (int64_t)tile->m * tile->n,
                  terms = split_terms(product, tile, split);
    prepared->phases = split > 1 ? 2 : 1;
    prepared->tasks[0] = (size_t)(count * split);
    prepared->tasks[1] = split > 1 ? (size_t)(count * join_parts(tile)) : 0;
    prepared->group[0] = (unsigned)items_of(tile);
    prepared->group[1] = (unsigned)slice_items(tile);
    const double all = (double)(count * split) * (double)sums * (double)terms,
                 partial = split > 1 ? (double)(count * split) * (double)sums : 0;
    prepared->workspace = (size_t)partial * sizeof(float);
    const double join = partial * cost->join / 2,
                 slices = (double)(count * split) * (double)sums * (tile->slices - 1);
    prepared->work[0] =
        (ry_work){join + slices * cost->tile_slice +
                      (ry_gpu_tile_is_panel(tile) ? panel_work(product, tile, split, cost)
                                                  : all * tile_operations(product, tile, machine)),
                  0};
    prepared->work[1] = (ry_work){join, 0};
    prepared->use[0] =
        ry_gpu_tile_use(product, tile, machine, terms_of(product, tile),
                        (double)terms / terms_of(product, tile), (double)(count * split));
    prepared->use[0].local = bytes_of(product, tile);
    prepared->use[1] = (ry_gpu_use){.registers = JOIN_REGISTERS,
                                    .latency = ry_gpu_tile_joined(machine, (double)split),
                                    .near = partial * sizeof(float)};
    prepared->use[split > 1].latency +=
        has_residual(query->problem) ? ry_gpu_tile_ended(tile, machine) : 0;
    prepared->counts.flop = 2 * all * (double)ry_gpu_operand_lanes(product->operands);
    prepared->counts.bytes = 2 * partial * sizeof(float) + ry_problem_bytes(query->problem);
    return runs_on(machine, product, tile) && prepared->tasks[0] < INT32_MAX;
}

static void list_values(const ry_query *query, const void *user, int knob, ry_knob_values *values)
{
    ry_gpu_tile_values(query, user, knob, values);
}

rynd_status ry_gpu_tile_prepare(const ry_query *query, const ry_gpu_product *product,
                                ry_prepared *prepared, ry_error *error)
{
    static const ry_form_axis axes[] = {{.knob = RY_GPU_KNOB_TILE}, {.knob = RY_GPU_KNOB_SPLIT}};
    static const ry_gpu_search search = {axes, 2, list_values, fill};
    return ry_gpu_choose(&search, query, product, prepared, error);
}

ry_gpu_tile ry_gpu_tile_of(const ry_prepared *prepared)
{
    return tiles[prepared->form.value[RY_GPU_KNOB_TILE]];
}

ry_gpu_tile ry_gpu_tile_fitted(const ry_gpu_product *product, const ry_prepared *prepared)
{
    return fitted(product, ry_gpu_tile_of(prepared));
}

bool ry_gpu_tile_is_stepped(const ry_gpu_product *product, const ry_prepared *prepared)
{
    const ry_gpu_tile tile = ry_gpu_tile_of(prepared);
    return is_stepped(product, &tile);
}

int64_t ry_gpu_tile_channels(const ry_gpu_product *product, const ry_prepared *prepared)
{
    const ry_gpu_tile tile = ry_gpu_tile_of(prepared);
    return term_channels(product, &tile);
}

int64_t ry_gpu_tile_whole_terms(const ry_gpu_product *product, const ry_prepared *prepared,
                                int64_t terms)
{
    const ry_gpu_tile tile = ry_gpu_tile_of(prepared);
    return tile.stages || is_items(&tile) ? ry_round_up(terms, terms_of(product, &tile)) : terms;
}

int ry_gpu_tile_terms(const ry_gpu_product *product, const ry_prepared *prepared)
{
    return terms_of(product, &tiles[prepared->form.value[RY_GPU_KNOB_TILE]]);
}

int ry_gpu_tile_stages(const ry_gpu_product *product, const ry_prepared *prepared)
{
    return stages_of(product, &tiles[prepared->form.value[RY_GPU_KNOB_TILE]]);
}

int64_t ry_gpu_tile_split_terms(const ry_gpu_product *product, const ry_prepared *prepared)
{
    return split_terms(product, &tiles[prepared->form.value[RY_GPU_KNOB_TILE]],
                       prepared->form.value[RY_GPU_KNOB_SPLIT]);
}
