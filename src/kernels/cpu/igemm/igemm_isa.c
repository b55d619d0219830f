/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a task of the implicit GEMM (igemm_plan.h). */
#include "base/integer.h"
#include "kernels/cpu/igemm/gather.h"
#include "kernels/cpu/igemm/igemm.h"
#include "kernels/cpu/igemm/igemm_lines.h"
#include "kernels/cpu/igemm/igemm_task.h"

/* A tile fetches the C of the tile that is so many further along its rows. */
enum { PREFETCHED_TILES = 2 };

/* x, or its copy, of the task's group; the batch is reached by the offsets of segments and rows. */
static const char *x_of(const igemm_task *t)
{
    const ry_conv_geometry *g = &t->plan->geometry;
    return (const char *)(t->plan->copied ? t->launch->workspace : t->launch->in[0]) +
           t->group * g->channels_in * g->x_channel *
               (int64_t)ry_dtype_size(ry_type_of(&t->launch->problem->in[0]));
}

/* A gathered panel as the tiles' operands. */
static void pair(const igemm_task *t, const igemm_k_block *k_block)
{
    const igemm_phase *p = t->phase;
    if (t->plan->mode == IGEMM_ROWS) {
        for (int64_t i = 0; i < t->count; i++) {
            t->pairs->row(t->panel + i * igemm_panel_row(p), k_block->depth);
        }
        return;
    }
    const int64_t vectors = (t->count + p->cut.lanes - 1) / p->cut.lanes,
                  micropanel = t->plan->mode == IGEMM_PIXELS ? RY_TILE_VECTORS : 1;
    for (int64_t v = 0; v < vectors; v += micropanel) {
        t->pairs->micropanel(t->panel + v * RY_W * k_block->depth, k_block->depth,
                             ry_min(micropanel, vectors - v) * RY_W);
    }
}

/* Where pixel 0 of the task's block is in x that is its own panel, or is copied to it. */
static const float *in_place(const igemm_task *t, const igemm_k_block *k_block)
{
    const igemm_phase *p = t->phase;
    const ry_conv_tap *tap = igemm_phase_taps(t->plan, p);
    return (const float *)(const void *)x_of(t) + t->image * t->plan->geometry.x_batch +
           tap->offset + t->first * p->where.x_pixel +
           k_block->channel * t->plan->geometry.x_channel;
}

/* into t->panel */
static void gather(igemm_task *t, const igemm_k_block *k_block, bool write_program)
{
    const igemm_plan *plan = t->plan;
    const igemm_phase *p = t->phase;
    const ry_dtype dtype = ry_type_of(&t->launch->problem->in[0]);
    if (p->where.plain) {
        RY_ISA_SYMBOL(igemm_copy_micropanels)
        (in_place(t, k_block), plan->geometry.x_channel, k_block->depth, t->count, t->panel);
    } else if (plan->mode == IGEMM_ROWS) {
        RY_ISA_SYMBOL(igemm_gather_rows)
        (plan, p, k_block, t->image, t->first, t->count, dtype, x_of(t), t->panel,
         igemm_panel_row(p));
    } else {
        const int64_t vectors = (t->count + p->cut.lanes - 1) / p->cut.lanes,
                      micropanel = plan->mode == IGEMM_PIXELS ? RY_TILE_VECTORS : 1;
        if (write_program) {
            ry_igemm_write_program(plan, p, t->segment, t->segments, vectors, micropanel,
                                   k_block->tap, k_block->taps, t->program);
        }
        RY_ISA_SYMBOL(igemm_gather)
        (plan, k_block, t->program, vectors, micropanel, dtype, x_of(t), t->panel);
    }
    if (t->pairs && t->pairs->row) {
        pair(t, k_block);
    }
}

/* Rows of y that have just been finished, and are still in the first-level cache. */
static void activate(const igemm_task *t, void *y, int64_t step, int64_t rows, int64_t columns)
{
    if (!t->bounds) {
        RY_ISA_SYMBOL(activate_rows)(t->activation, y, step, rows, columns);
    }
}

/* Where a tile's finished sums go, from `row` of the run and from channel `column` of the task. */
static const ry_tile_end *place_end(const igemm_task *t, const epilogue_run *run, int64_t row,
                                    int64_t column, ry_tile_end *end)
{
    const int64_t channel = t->group * t->plan->geometry.channels_out + t->channel + column;
    const ry_tile_end *of_zero = t->pairs->end;
    end->how = of_zero->how;
    end->y = of_zero->y + run->y + row * run->y_step + channel;
    end->y_step = run->y_step;
    end->residual =
        of_zero->residual ? of_zero->residual + run->r + row * run->r_step + channel : NULL;
    end->residual_step = run->r_step;
    end->scale = of_zero->scale + channel;
    return end;
}

/* One tile: rows from `row`, in the block or in a direct task's run, and columns from `column`.
 * PIXELS: rows are channels; else columns are. */
static void run_tile(const igemm_task *t, ry_tile *tile, const epilogue_run *run, int64_t row,
                     int64_t rows, int64_t column, bool a_along_k, bool last)
{
    const int64_t vectors = (tile->columns + RY_W - 1) / RY_W;
    const ry_conv_geometry *g = &t->plan->geometry;
    const bool pixels = t->plan->mode == IGEMM_PIXELS;
    if (t->phase->where.direct) {
        tile->c_step = pixels ? g->y_channel : run->y_step;
        tile->c = t->y + (run->y + row * tile->c_step + column) * 4;
        if (t->residual && last) {
            tile->residual_step = pixels ? g->r_channel : run->r_step;
            tile->residual = (const float *)(const void *)t->residual + run->r +
                             row * tile->residual_step + column;
        }
    } else {
        const int64_t before = t->block_channel - t->channel;
        tile->c_step = t->block_step;
        tile->c = t->block + (pixels ? row - before : run->column + row) * t->block_step +
                  (pixels ? column : column - before);
    }
    ry_tile_end end;
    if (igemm_is_quantised(t->plan)) {
        tile->end = t->ends && last ? place_end(t, run, row, column, &end) : NULL;
    }
    const int64_t ahead = PREFETCHED_TILES * (pixels ? RY_TILE_COLUMNS : rows * tile->c_step);
    tile->c_prefetch_distance =
        t->phase->cut.micropanels_outer || ahead != (int32_t)ahead ? 0 : (int32_t)ahead;
    tile->ahead = t->phase->where.direct && tile->start != RY_TILE_FROM_C &&
                  tile->c_step % RY_SET_FLOATS != 0;
    const ry_tile_table *table = &RY_ISA_SYMBOL(tiles);
    const ry_tile_set *tiles = t->pairs ? t->pairs->tiles : t->integer ? &table->i32 : &table->f32;
    (*tiles)[a_along_k][vectors - 1][rows - 1](tile);
    if (last && t->phase->where.direct && !pixels) {
        activate(t, tile->c, tile->c_step, rows, tile->columns);
    }
}

static ry_tile start_tile(const igemm_task *t, const igemm_k_block *k_block, bool last)
{
    ry_tile tile = {.depth = k_block->steps,
                    .low = -__builtin_inff(),
                    .high = __builtin_inff(),
                    .start = RY_TILE_FROM_C};
    if (k_block->first == t->k_range.begin) {
        tile.start =
            t->plan->mode == IGEMM_PIXELS ? RY_TILE_FROM_ROW_BIAS : RY_TILE_FROM_COLUMN_BIAS;
    }
    if (last && t->bounds) {
        tile.low = t->low;
        tile.high = t->high;
    }
    return tile;
}

/* From a tile's pixels of x in place to those of the tile after the next one: with the next one's
 * alone, a line that both touch would come late. Behind the last pixels of a group's planes, the
 * next group's follow, or the next image's. */
static int64_t pixels_prefetched(const igemm_task *t, int64_t column)
{
    const int64_t distance = 2 * RY_TILE_COLUMNS, full = ry_round_up(t->count, RY_TILE_COLUMNS);
    if (t->first + t->count < t->phase->where.pixels || column + distance < full) {
        return distance;
    }
    return distance + t->plan->geometry.channels_in * t->plan->geometry.x_channel - t->first - full;
}

static int64_t oc_block_width(const igemm_plan *plan, int64_t oc_block)
{
    const int64_t count = igemm_oc_block_count(plan, oc_block);
    return plan->mode == IGEMM_PIXELS ? count : ry_round_up(count, RY_W);
}

/* The weights that the task reads behind those of an oc block's k block, which tiles of that one
 * fetch, each a part: a network's come from memory. Count 0: they are near anyway. */
static ry_tile_lines find_next_weights(const igemm_task *t, const igemm_k_block *k_block,
                                       int64_t oc_block)
{
    const igemm_plan *plan = t->plan;
    const igemm_phase *p = t->phase;
    const bool more = oc_block + 1 < t->oc_block + t->oc_blocks;
    const int64_t next = more ? oc_block + 1 : t->oc_block, width = oc_block_width(plan, next),
                  from = k_block->first + (more ? 0 : k_block->steps);
    if (!plan->fetches_weights || p->cut.micropanels_outer || from >= p->cut.steps) {
        return (ry_tile_lines){NULL, 0};
    }
    const float *at = t->packed + igemm_oc_block_first(plan, next) * p->cut.steps + from * width;
    return (ry_tile_lines){(const char *)at,
                           ry_min(k_block->steps, p->cut.steps - from) * width / RY_LINE_FLOATS};
}

/* PIXELS: an oc block of weights are the rows, and the pixels from `begin` to `end` pass. */
static void multiply_pixels(const igemm_task *t, const float *panel, const igemm_k_block *k_block,
                            bool last, int64_t oc_block, int64_t begin, int64_t end)
{
    const igemm_plan *plan = t->plan;
    const int64_t first = igemm_oc_block_first(plan, oc_block),
                  rows = igemm_oc_block_count(plan, oc_block);
    const bool contiguous = t->phase->where.in_place;
    const float *b = contiguous ? in_place(t, k_block) : panel;
    const ry_tile_lines weights = find_next_weights(t, k_block, oc_block);
    ry_tile_lines lines[2];
    for (int64_t j = begin; j < end; j += RY_TILE_COLUMNS) {
        ry_tile tile = start_tile(t, k_block, last);
        if (weights.count > 0) {
            igemm_take_lines(&weights, (j - begin) / RY_TILE_COLUMNS,
                             ry_ceil_div(end - begin, RY_TILE_COLUMNS), lines);
            tile.lines = lines;
        }
        tile.columns = ry_min(RY_TILE_COLUMNS, end - j);
        tile.a = t->packed + first * t->phase->cut.steps + k_block->first * rows;
        tile.a_step = rows;
        tile.b = b + (contiguous ? j : j * k_block->depth);
        tile.b_step = contiguous ? plan->geometry.x_channel
                      : tile.columns > RY_TILE_COLUMNS - RY_W
                          ? RY_TILE_COLUMNS
                          : (tile.columns + RY_W - 1) / RY_W * RY_W;
        tile.b_exact = contiguous && tile.columns % RY_W != 0;
        tile.b_prefetch_distance = contiguous && !t->phase->cut.streams && oc_block == t->oc_block
                                       ? pixels_prefetched(t, j)
                                       : 0;
        tile.bias = t->bias + (first - t->channel);
        run_tile(t, &tile, t->run, first - t->channel, rows, j, false, last);
    }
    if (last && t->phase->where.direct) {
        const int64_t step = plan->geometry.y_channel;
        activate(t, t->y + (t->run->y + (first - t->channel) * step + begin) * 4, step, rows,
                 end - begin);
    }
}

/* x in place of the `rows` pixels that are behind pixel `end` of a block, or of its first ones for
 * the next k block: memory's prefetchers do not follow from one tile's rows to the next one's. `a`:
 * of the k block's first pixel. Returns the number of lists. */
static int64_t find_lines(const igemm_task *t, const igemm_k_block *k_block, const float *a,
                          int64_t end, int64_t rows, ry_tile_lines *lines)
{
    const int64_t step = t->phase->where.x_pixel;
    const float *from =
        end == t->count && t->phase->cut.k_blocks > 1 ? a + k_block->depth : a + end * step;
    const bool dense = step == k_block->depth;
    const int64_t runs = dense ? 1 : rows, floats = dense ? rows * step : k_block->depth;
    for (int64_t i = 0; i < runs; i++, from += step) {
        lines[i] = (ry_tile_lines){(const char *)from, ry_ceil_div(floats, RY_LINE_FLOATS)};
    }
    return runs;
}

/* GATHERED and ROWS: pixels are the rows; an oc block of weights stays in the cache while the
 * panel's rows pass. */
static void multiply_channels(const igemm_task *t, const float *panel, const igemm_k_block *k_block,
                              bool last, int64_t oc_block)
{
    const igemm_plan *plan = t->plan;
    const igemm_phase *p = t->phase;
    const bool along_k = plan->mode == IGEMM_ROWS, contiguous = p->where.in_place;
    const int64_t row_step = igemm_panel_row(p), max = igemm_pixel_rows(plan, p);
    const int64_t first = igemm_oc_block_first(plan, oc_block),
                  count = igemm_oc_block_count(plan, oc_block),
                  width = (count + RY_W - 1) / RY_W * RY_W;
    const int64_t a_row =
        contiguous ? p->where.x_pixel : row_step; /* where rows may begin anywhere */
    const int64_t a_step = along_k ? a_row : contiguous ? plan->geometry.x_channel : RY_W;
    const float *a = contiguous ? in_place(t, k_block) : panel;
    const epilogue_run full = {.length = t->count};
    const bool fetches = along_k && contiguous && oc_block == t->oc_block && p->where.from_memory;
    const ry_tile_lines weights = find_next_weights(t, k_block, oc_block);
    ry_tile_lines lines[RY_TILE_MOST_ROWS + 2];
    const bool by_runs = p->where.direct || (t->ends && last);
    const epilogue_run *run = by_runs ? t->run : &full;
    /* made once: a copy of what was just stored field by field takes as long as a small tile */
    ry_tile tile = start_tile(t, k_block, last);
    tile.columns = count;
    tile.a_step = a_step;
    tile.b = t->packed + first * p->cut.steps + k_block->first * width;
    tile.b_step = width;
    tile.bias = t->bias + (first - t->channel);
    tile.lines = fetches || weights.count > 0 ? lines : NULL;
    for (const epilogue_run *end = run + (by_runs ? t->runs : 1); run < end; run++) {
        const int64_t parts = (run->length + max - 1) / max, each = run->length / parts,
                      extra = run->length % parts;
        for (int64_t i = 0, row = 0; i < parts; i++) {
            const int64_t rows =
                along_k || contiguous ? each + (i < extra) : ry_min(max, run->length - row);
            tile.a = a + (along_k || contiguous ? (run->column + row) * a_row
                                                : i * k_block->depth * RY_W);
            const int64_t lists =
                fetches ? find_lines(t, k_block, a, run->column + row + rows, rows, lines) : 0;
            lines[lists].count = 0;
            if (weights.count > 0) {
                igemm_take_lines(&weights, (run->column + row) / max, ry_ceil_div(t->count, max),
                                 lines + lists);
            }
            run_tile(t, &tile, run, row, rows, first - t->channel, along_k, last);
            row += rows;
        }
    }
}

void RY_ISA_SYMBOL(igemm_share)(const igemm_plan *plan, const ry_cpu_launch *launch,
                                const ry_tile_pairs *pairs, float *shared, int64_t index,
                                char *scratch)
{
    if (plan->copied) {
        RY_ISA_SYMBOL(igemm_copy)(plan, launch, shared, index);
        return;
    }
    const igemm_phase *p = plan->phase;
    while (index >= p->cut.first_gather + p->cut.gathers) {
        p++;
    }
    index -= p->cut.first_gather;
    igemm_task t;
    ry_cut_range range[RY_CUT_AXES];
    ry_cut_task(&p->cut.gather, (size_t)index, range);
    RY_ISA_SYMBOL(igemm_set_block)(plan, p, launch, range, scratch, &t);
    t.pairs = pairs;
    t.panel = shared + p->rooms.shared_at + index * p->rooms.panel;
    igemm_k_block k_block = {0};
    for (int64_t i = 0; i <= range[3].first; i++) {
        ry_igemm_next_k_block(plan, p, &k_block);
    }
    t.k_range = ry_igemm_find_k_range(plan, p, t.first, t.count);
    if (!ry_igemm_k_block_in_bounds(plan, p, &t.k_range, &k_block)) {
        return;
    }
    if (plan->mode != IGEMM_ROWS) {
        t.segments = ry_igemm_cut_segments(plan, p, t.image, t.first, t.count, t.segment);
    }
    gather(&t, &k_block, true);
}

/* The other phases of a fused group, from the first one's task; then where each has its weights, panels,
 * sums and pixels. */
static void output_stride(const igemm_plan *plan, const float *packed, const float *shared,
                          igemm_task *member)
{
    const igemm_phase *first = member->phase;
    const igemm_task of_first = *member;
    for (int64_t i = 0; i < first->where.fused; i++) {
        igemm_task *t = &member[i];
        const igemm_phase *p = first + i,
                          *source = p->where.source < 0 ? p : first + p->where.source;
        *t = of_first;
        t->phase = p;
        /* where a residual is added to the sums later, bounds come after it */
        t->bounds = t->bounds && (p->where.direct || !ry_problem_has_input(t->launch->problem, 3));
        t->ends = t->pairs && t->pairs->end && !p->where.direct;
        t->packed = packed + t->group * plan->packed_group + p->rooms.packed;
        t->panel += p->rooms.panel_at;
        t->block += p->rooms.block_at;
        if (plan->bias_step > 0 && i > 0) {
            t->bias += i * plan->bias_step;
            RY_ISA_SYMBOL(igemm_read_bias)(t);
        }
        t->run += i * (first->cut.block + 1);
        t->k_range = ry_igemm_find_k_range(plan, p, t->first, t->count);
        if (source->cut.gathers > 0) {
            const int64_t block =
                (t->image * plan->geometry.groups + t->group) * source->cut.blocks +
                t->first / source->cut.block;
            t->shared = shared + source->rooms.shared_at +
                        block * source->cut.k_blocks * source->rooms.panel;
        } else {
            t->shared = NULL;
        }
        if (p->where.direct) {
            RY_ISA_SYMBOL(igemm_place_direct)(t);
        } else if (i % plan->interleave == 0) {
            RY_ISA_SYMBOL(igemm_find_runs)(t);
        }
    }
}

/* The panel of a member's k block: shared by tasks, or by the fused group, or gathered now. */
static const float *panel_for(igemm_task *member, int64_t i, int64_t index,
                              const igemm_k_block *k_block)
{
    igemm_task *t = &member[i];
    const igemm_phase *p = t->phase;
    if (t->shared) {
        return t->shared +
               index * (p->where.source < 0 ? p : member[p->where.source].phase)->rooms.panel;
    }
    if (!p->where.in_place && (p->where.source < 0 || i == p->where.source)) {
        gather(t, k_block, index == 0 || p->cut.k_block_taps < p->where.at.taps);
    }
    return p->where.source < 0 ? t->panel : member[p->where.source].panel;
}

static void multiply(const igemm_task *t, const float *panel, const igemm_k_block *k_block,
                     bool last, int64_t oc_block)
{
    if (t->plan->mode == IGEMM_PIXELS) {
        multiply_pixels(t, panel, k_block, last, oc_block, 0, t->count);
    } else {
        multiply_channels(t, panel, k_block, last, oc_block);
    }
}

/* All oc blocks, a micro-panel of pixels after the other. */
static void multiply_micropanels(const igemm_task *t, const float *panel,
                                 const igemm_k_block *k_block, bool last)
{
    for (int64_t j = 0; j < t->count; j += RY_TILE_COLUMNS) {
        for (int64_t u = t->oc_block; u < t->oc_block + t->oc_blocks; u++) {
            multiply_pixels(t, panel, k_block, last, u, j, ry_min(j + RY_TILE_COLUMNS, t->count));
        }
    }
}

/* Finished sums of an oc block to y. */
static void store_oc_block(const igemm_task *t, int64_t oc_block)
{
    if (t->pairs && t->pairs->store) {
        t->pairs->store(t->pairs->how, t, oc_block);
    } else {
        RY_ISA_SYMBOL(igemm_epilogue_oc_block)(t, oc_block);
    }
}

/* The sums of members [first, end) over their k blocks number `index`, and, behind the last sums of
 * the fused group, the finished ones' way to y. */
static void pass(igemm_task *member, int64_t first, int64_t end, int64_t index,
                 igemm_k_block *k_block, bool final)
{
    const igemm_phase *fused = member->phase;
    const float *panel[IGEMM_MAX_BUNDLE] = {NULL};
    bool in_bounds[IGEMM_MAX_BUNDLE] = {false};
    for (int64_t k = 0, i = fused->where.source < 0 ? first : fused->where.source; k < end - first;
         k++) {
        /* the source comes before the others */
        const igemm_phase *p = fused + i;
        if (index < p->cut.k_blocks) {
            ry_igemm_next_k_block(member->plan, p, &k_block[i]);
            in_bounds[i] =
                ry_igemm_k_block_in_bounds(member->plan, p, &member[i].k_range, &k_block[i]);
            panel[i] = in_bounds[i] ? panel_for(member, i, index, &k_block[i]) : NULL;
        }
        i = i + 1 == end ? first : i + 1;
    }
    if (fused->cut.micropanels_outer) {
        if (in_bounds[0]) {
            multiply_micropanels(member, panel[0], k_block, k_block->first == member->k_range.last);
        }
        return;
    }
    for (int64_t u = member->oc_block; u < member->oc_block + member->oc_blocks; u++) {
        for (int64_t i = first; i < end; i++) {
            if (fused->cut.passes == 1) {
                member[i].block_channel = igemm_oc_block_first(member->plan, u);
            }
            if (in_bounds[i]) {
                multiply(&member[i], panel[i], &k_block[i],
                         k_block[i].first == member[i].k_range.last, u);
            }
        }
        for (int64_t i = 0; final && i < fused->where.fused; i += member->plan->interleave) {
            if (!fused[i].where.direct && !member[i].ends) {
                store_oc_block(&member[i], u);
            }
        }
    }
}

void RY_ISA_SYMBOL(igemm_run)(const igemm_plan *plan, const ry_cpu_launch *launch,
                              const ry_tile_pairs *pairs, const float *packed, const float *shared,
                              int64_t index, char *scratch)
{
    igemm_task member[IGEMM_MAX_BUNDLE];
    igemm_k_block k_block[IGEMM_MAX_BUNDLE] = {{0}};
    RY_ISA_SYMBOL(igemm_decode)(plan, launch, index, scratch, member);
    member->pairs = pairs;
    RY_ISA_SYMBOL(igemm_read_bias)(member);
    const igemm_phase *fused = member->phase, *gathered = fused;
    while (gathered->where.in_place && gathered + 1 < fused + fused->where.fused) {
        /* one of a fused group may read x in place, with vectors of its own; the others' are alike */
        gathered++;
    }
    if (plan->mode != IGEMM_ROWS && !gathered->where.in_place) {
        member->segments = ry_igemm_cut_segments(plan, gathered, member->image, member->first,
                                                 member->count, member->segment);
    }
    output_stride(plan, packed, shared, member);
    if (fused->cut.passes == 1 || fused->where.source >= 0) {
        for (int64_t i = 0; i < fused->cut.passes; i++) {
            pass(member, 0, fused->where.fused, i, k_block, i + 1 == fused->cut.passes);
        }
        return;
    }
    for (int64_t m = 0; m < fused->where.fused; m++) {
        for (int64_t i = 0; i < fused[m].cut.k_blocks; i++) {
            pass(member, m, m + 1, i, k_block,
                 m + 1 == fused->where.fused && i + 1 == fused[m].cut.k_blocks);
        }
    }
}
