/* SPDX-License-Identifier: Apache-2.0 */
/* Lists, prices and defines the tiles of igemm.cl. */
#include "kernels/gpu/gpu_tile.h"

#include "base/integer.h"
#include "kernels/common/work.h"
#include "kernels/form.h"
#include "kernels/gpu/gpu_define.h"
#include "machine/machine.h"

#include <math.h>

/* Large ones read least, small ones leave fewer compute units idle; those of few rows are for
 * convolutions of few output channels. */
static const ry_gpu_tile tiles[] = {
    {128, 128, 8, 8, 8}, {128, 64, 8, 8, 8}, {64, 128, 8, 8, 8}, {64, 64, 16, 4, 4},
    {64, 32, 16, 4, 4},  {32, 64, 16, 4, 4}, {32, 32, 16, 2, 4}, {32, 128, 8, 4, 8},
    {16, 64, 16, 2, 4},  {8, 128, 16, 2, 4}, {4, 64, 16, 1, 4},
};
static const char *const tile_words[] = {"128x128", "128x64", "64x128", "64x64", "64x32", "32x64",
                                         "32x32",   "32x128", "16x64",  "8x128", "4x64",  NULL};
enum { TILES = sizeof tiles / sizeof *tiles, SPLITS = 5, LEAST_TERMS = 64 };

const ry_knob ry_gpu_tile_knobs[RY_GPU_TILE_KNOBS] = {
    [RY_GPU_KNOB_TILE] = {"tile", tile_words, true},
    [RY_GPU_KNOB_SPLIT] = {"split", NULL, true},
};

/* Operations that take as long as handing out an element of a tile, beside finding it, and as
 * reading four floats of local memory, where a product with its sum counts 2. */
static const double store_operations = 8, read_operations = 4;
/* Of a partial sum, written and read again. */
static const double join_operations = 32;

void ry_gpu_tile_values(const ry_gpu_product *product, int knob, ry_knob_values *values)
{
    if (knob == RY_GPU_KNOB_TILE) {
        for (int i = 0; i < TILES; i++) {
            ry_knob_values_add(values, i);
        }
        return;
    }
    for (int64_t split = 1; split < 1 << SPLITS; split *= 2) {
        if (split == 1 || product->terms >= split * LEAST_TERMS) {
            ry_knob_values_add(values, split);
        }
    }
}

static int items_of(const ry_gpu_tile *tile)
{
    return tile->m / tile->item_m * (tile->n / tile->item_n);
}

/* Terms of a work-group. */
static int64_t split_terms(const ry_gpu_product *product, const ry_gpu_tile *tile, int64_t split)
{
    return ry_round_up(ry_ceil_div(product->terms, split), tile->k);
}

static int64_t tiles_of(const ry_gpu_product *product, const ry_gpu_tile *tile)
{
    return ry_ceil_div(product->rows, tile->m) * ry_ceil_div(product->columns, tile->n) *
           product->batches;
}

/* Of a product with its sum: the share that the item has of finding and storing the tile's
 * elements, and of reading them. */
static double operations(const ry_gpu_product *product, const ry_gpu_tile *tile)
{
    const double reads = ceil(tile->item_m / 4.0) + ceil(tile->item_n / 4.0);
    return 2 + store_operations * (1.0 / tile->m + 1.0 / tile->n) + product->gather / tile->m +
           read_operations * reads / (tile->item_m * tile->item_n);
}

static void fill(const ry_gpu_product *product, int which, int64_t split, ry_prepared *prepared)
{
    const ry_gpu_tile *tile = &tiles[which];
    const int64_t count = tiles_of(product, tile), sums = (int64_t)tile->m * tile->n,
                  terms = split_terms(product, tile, split);
    prepared->form.value[RY_GPU_KNOB_TILE] = which;
    prepared->form.value[RY_GPU_KNOB_SPLIT] = split;
    prepared->phases = split > 1 ? 2 : 1;
    prepared->tasks[0] = (size_t)(count * split);
    prepared->tasks[1] = split > 1 ? (size_t)count : 0;
    prepared->group[0] = prepared->group[1] = (unsigned)items_of(tile);
    const double all = (double)(count * split) * (double)sums * (double)terms;
    const double partial = split > 1 ? (double)(count * split) * (double)sums : 0;
    prepared->workspace = (size_t)partial * sizeof(float);
    prepared->work[0] =
        (ry_work){all * operations(product, tile) + partial * join_operations / 2, 0};
    prepared->work[1] = (ry_work){partial * join_operations / 2, 0};
    prepared->counts.flop = 2 * all;
    prepared->counts.bytes = 2 * partial * sizeof(float);
}

static double work_of(const ry_prepared *prepared, unsigned cores)
{
    return ry_spread_work(&prepared->work[0], prepared->tasks[0], cores, 0) +
           (prepared->phases > 1 ? ry_spread_work(&prepared->work[1], prepared->tasks[1], cores, 0)
                                 : 0);
}

rynd_status ry_gpu_tile_prepare(const ry_query *query, const ry_gpu_product *product,
                                ry_prepared *prepared, ry_error *error)
{
    const unsigned cores = (unsigned)ry_max(query->target->machine->cores, 1);
    double least = INFINITY;
    for (int which = 0; which < TILES; which++) {
        ry_knob_values splits = {0};
        ry_gpu_tile_values(product, RY_GPU_KNOB_SPLIT, &splits);
        for (int i = 0; ry_form_allows(query, RY_GPU_KNOB_TILE, which) && i < splits.count; i++) {
            ry_prepared one = *prepared;
            fill(product, which, splits.value[i], &one);
            const double work = work_of(&one, cores);
            if (ry_form_allows(query, RY_GPU_KNOB_SPLIT, splits.value[i]) && work < least &&
                (double)one.tasks[0] < INT32_MAX) {
                least = work;
                *prepared = one;
            }
        }
    }
    if (least == INFINITY) {
        return ry_form_fail(query, error);
    }
    prepared->counts.bytes += ry_problem_bytes(query->problem);
    return RYND_OK;
}

ry_gpu_tile ry_gpu_tile_of(const ry_prepared *prepared)
{
    return tiles[prepared->form.value[RY_GPU_KNOB_TILE]];
}

void ry_gpu_tile_define(const ry_gpu_product *product, const ry_prepared *prepared, ry_text *text)
{
    const ry_gpu_tile tile = ry_gpu_tile_of(prepared);
    const int64_t split = prepared->form.value[RY_GPU_KNOB_SPLIT];
    ry_gpu_define(text, "TILE_M", tile.m);
    ry_gpu_define(text, "TILE_N", tile.n);
    ry_gpu_define(text, "TILE_K", tile.k);
    ry_gpu_define(text, "ITEM_M", tile.item_m);
    ry_gpu_define(text, "ITEM_N", tile.item_n);
    ry_gpu_define(text, "TILES_M", ry_ceil_div(product->rows, tile.m));
    ry_gpu_define(text, "TILES_N", ry_ceil_div(product->columns, tile.n));
    ry_gpu_define(text, "SPLITS", split);
    ry_gpu_define(text, "SPLIT_TERMS", split_terms(product, &tile, split));
}
