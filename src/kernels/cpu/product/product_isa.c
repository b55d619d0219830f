/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel: convolutions in every direction and matrix products of one type (product_plan.h). */
#include "kernels/cpu/parts/cpu_kernel.h"
#include "kernels/cpu/product/product_loops.h"
#include "kernels/cpu/product/product_plan.h"

#include <math.h>

/* Memory to walk with: the points and runs of a list's indices and of the depth. One has points,
 * the other one runs with a point each (product_nest.h). */
typedef struct product_walk {
    product_operand operand;
    product_lists list;
    bool along_depth; /* runs are along the depth */
    int64_t runs_found;
    int64_t *points, *run_points;
    product_run *runs;
} product_walk;

/* How many elements are copied in a go, and twice that if they are next to each other. */
static int64_t run_length(const product_list *l, product_operand operand, int64_t count)
{
    if (l->rank == 0) {
        return 1;
    }
    const product_dim *d = &l->dim[l->rank - 1];
    return ry_min(d->count, count) * (d->step[operand] == 1 ? 2 : 1);
}

static void walk_part(const product_nest *nest, product_walk *walk, product_lists list,
                      int64_t first, int64_t count)
{
    if (walk->along_depth == (list == PRODUCT_DEPTH)) {
        walk->runs_found =
            ry_product_runs(nest, list, walk->operand, first, count, walk->runs, walk->run_points);
    } else {
        ry_product_points(nest, list, walk->operand, first, count, walk->points);
    }
}

/* Walks `count` indices of the operand's list, for k blocks of `depth` steps. */
static void walk_indices(const product_nest *nest, product_walk *walk, product_operand operand,
                         int64_t first, int64_t count, int64_t depth)
{
    walk->operand = operand;
    walk->list = operand == PRODUCT_X ? PRODUCT_XS : PRODUCT_WS;
    walk->along_depth = run_length(&nest->list[walk->list], operand, count) <
                        run_length(&nest->list[PRODUCT_DEPTH], operand, depth);
    walk_part(nest, walk, walk->list, first, count);
}

/* Packs `count` indices as [k][step]. */
static void gather(const product_loops *loops, const product_nest *nest, product_walk *walk,
                   const void *data, int64_t base, int64_t count, int64_t step, int64_t depth_first,
                   int64_t depth, void *to)
{
    walk_part(nest, walk, PRODUCT_DEPTH, depth_first, depth);
    const bool along_depth = walk->along_depth;
    const product_source s = {.data = data,
                              .base = base,
                              .nest = nest,
                              .axes = walk->operand == PRODUCT_X ? nest->axes : 0,
                              .points = walk->points,
                              .run_points = walk->run_points,
                              .runs = walk->runs,
                              .run_count = walk->runs_found,
                              .point_count = along_depth ? count : depth,
                              .point_step = along_depth ? 1 : step,
                              .run_step = along_depth ? step : 1};
    loops->gather(&s, to);
}

typedef struct product_task {
    const ry_cpu_launch *launch;
    const product_plan *plan;
    const product_loops *loops;
    product_nest nest;
    int64_t depth; /* steps of k */
    ry_cut_range group, x, w;
    product_walk walk;
    char *panel, *sums, *bias;
    int64_t row_step; /* from a row of sums to the next */
    int64_t *offsets; /* [row][operand] */
} product_task;

/* Elements from the packed weights' start to a phase's group. */
static int64_t packed_at(const product_plan *plan, const product_nest *nest, int64_t depth,
                         int64_t group)
{
    return product_padded(&plan->w) * (plan->groups * nest->depth_before + group * depth);
}

/* Tiles of w of a group, from its packed weights' start. */
static void pack_tiles(const product_plan *plan, const product_loops *loops,
                       const product_nest *nest, product_walk *walk, const void *w, int64_t base,
                       ry_cut_range tiles, char *to)
{
    const int64_t depth = ry_product_count(&nest->list[PRODUCT_DEPTH]),
                  k_block = product_k_block(plan, depth), size = (int64_t)loops->size;
    for (int64_t k = 0; k < depth; k += k_block) {
        const int64_t here = ry_min(k_block, depth - k);
        for (int64_t t = tiles.first; t < tiles.first + tiles.count; t++) {
            const int64_t first = product_tile_start(&plan->w, t),
                          count = product_tile_size(&plan->w, t),
                          width = product_tile_width(&plan->w, t);
            char *tile = to + (product_padded(&plan->w) * k + first * here) * size;
            if (count < width) {
                memset(tile, 0, (size_t)(here * width * size));
            }
            walk_indices(nest, walk, PRODUCT_W, first, count, k_block);
            gather(loops, nest, walk, w, base, count, width, k, here, tile);
        }
    }
}

static void pack(const ry_cpu_launch *launch, size_t task)
{
    const product_plan *plan = launch->state;
    const product_loops *loops =
        &RY_ISA_SYMBOL(product_loops)[launch->problem->out[0].dtype][plan->wide];
    int64_t points[PRODUCT_MAX_K_BLOCK + PRODUCT_MAX_WIDTH];
    int64_t run_points[PRODUCT_MAX_K_BLOCK + PRODUCT_MAX_WIDTH];
    product_run runs[PRODUCT_MAX_K_BLOCK + PRODUCT_MAX_WIDTH];
    product_walk walk = {.points = points, .run_points = run_points, .runs = runs};
    ry_cut_range range[RY_CUT_AXES];
    product_nest nest;
    ry_cut_task(&plan->packs, task, range);
    ry_product_nest(launch->problem, range[0].first, &nest);
    const int64_t depth = ry_product_count(&nest.list[PRODUCT_DEPTH]);
    for (int64_t g = range[1].first; g < range[1].first + range[1].count; g++) {
        int64_t base[PRODUCT_OPERANDS] = {[PRODUCT_W] = nest.base[PRODUCT_W]};
        ry_product_offsets(&nest.list[PRODUCT_GROUPS], g, base);
        pack_tiles(plan, loops, &nest, &walk, launch->in[1], base[PRODUCT_W], range[2],
                   (char *)launch->packed_out +
                       packed_at(plan, &nest, depth, g) * (int64_t)loops->size);
    }
}

/* Where a tile of w begins for a k block, and how far apart its steps are. */
static const char *place_w(const product_task *t, const char *w, int64_t k, int64_t depth,
                           int64_t tile, int64_t *step)
{
    const product_plan *plan = t->plan;
    const int64_t at = product_tile_start(&plan->w, tile);
    *step = plan->direct ? plan->w_step : product_tile_width(&plan->w, tile);
    return w + (plan->direct ? k * plan->w_step + at : product_padded(&plan->w) * k + at * depth) *
                   (int64_t)t->loops->size;
}

/* One k block of gathered x, in the panel, by the tiles of w. */
static void multiply(const product_task *t, const char *packed, int64_t k, int64_t depth)
{
    const product_plan *plan = t->plan;
    const int64_t size = (int64_t)t->loops->size;
    const product_tiling xs = product_cut(&plan->x, t->x.count);
    const bool by_w = plan->w.columns;
    const int64_t columns = by_w ? t->w.count : xs.tiles, rows = by_w ? xs.tiles : t->w.count;
    const int64_t w_first = product_tile_start(&plan->w, t->w.first);
    for (int64_t c = 0; c < columns; c++) {
        for (int64_t r = 0; r < rows; r++) {
            const int64_t w = t->w.first + (by_w ? c : r), x = by_w ? r : c;
            const int64_t w_at = product_tile_start(&plan->w, w), x_at = product_tile_start(&xs, x);
            const int64_t w_width = product_tile_width(&plan->w, w),
                          x_width = product_tile_width(&xs, x);
            int64_t w_step;
            const char *wp = place_w(t, packed, k, depth, w, &w_step), *xp = t->panel + x_at * size;
            const int64_t row = by_w ? x_at : w_at - w_first, column = by_w ? w_at - w_first : x_at;
            const product_tile tile = {.a = by_w ? xp : wp,
                                       .b = by_w ? wp : xp,
                                       .a_step = by_w ? plan->panel_step : w_step,
                                       .b_step = by_w ? w_step : plan->panel_step,
                                       .c = t->sums + (row * t->row_step + column) * size,
                                       .c_step = t->row_step,
                                       .depth = depth,
                                       .first = k == 0};
            const int64_t vectors = (by_w ? w_width : x_width) / plan->w.lanes;
            RY_ISA_SYMBOL(product_tiles)
            [t->loops->type][vectors - 1][(by_w ? x_width : w_width) - 1](&tile);
        }
    }
}

/* db of a weight gradient: dy is what is packed. */
static void add_bias(const product_task *t, const char *packed, int64_t k, int64_t depth)
{
    const product_plan *plan = t->plan;
    const int64_t size = (int64_t)t->loops->size;
    const int64_t first = product_tile_start(&plan->w, t->w.first);
    for (int64_t w = t->w.first; w < t->w.first + t->w.count; w++) {
        const int64_t at = product_tile_start(&plan->w, w);
        t->loops->add(t->bias + (at - first) * size,
                      packed + (product_padded(&plan->w) * k + at * depth) * size, depth,
                      product_tile_width(&plan->w, w), product_tile_size(&plan->w, w));
    }
}

static bool is_weight_gradient(const ry_problem *p)
{
    return p->op == RY_OP_conv && p->attrs.conv.dir == RY_direction_bwd_weights;
}

/* The sums of `count` rows of the task, run by run of columns; base: the group's offsets. */
static void store(const product_task *t, const int64_t *base)
{
    const ry_problem *p = t->launch->problem;
    const product_plan *plan = t->plan;
    const int64_t w_first = product_tile_start(&plan->w, t->w.first),
                  w_last = t->w.first + t->w.count - 1,
                  ws = product_tile_start(&plan->w, w_last) + product_tile_size(&plan->w, w_last) -
                       w_first;
    const bool by_w = plan->w.columns;
    const product_lists rows = by_w ? PRODUCT_XS : PRODUCT_WS,
                        columns = by_w ? PRODUCT_WS : PRODUCT_XS;
    const int64_t row_count = by_w ? t->x.count : ws, row_first = by_w ? t->x.first : w_first,
                  column_count = by_w ? ws : t->x.count, column_first = by_w ? w_first : t->x.first;
    const product_list *l = &t->nest.list[columns];
    for (int64_t i = 0; i < row_count; i++) {
        int64_t *at = t->offsets + i * PRODUCT_OPERANDS;
        memcpy(at, base, PRODUCT_OPERANDS * sizeof *at);
        ry_product_offsets(&t->nest.list[rows], row_first + i, at);
    }
    product_row row = {.y = t->launch->out[0]};
    if (!is_weight_gradient(p)) {
        row.bias = p->inputs > 2 ? t->launch->in[2] : NULL;
        row.residual = p->inputs > 3 ? t->launch->in[3] : NULL;
    }
    for (int o = 0; o < PRODUCT_OPERANDS; o++) {
        row.step[o] = l->rank > 0 ? l->dim[l->rank - 1].step[o] : 0;
    }
    for (int64_t c = 0; c < column_count; c += row.n) {
        const int64_t inner = l->rank > 0 ? l->dim[l->rank - 1].count : 1;
        int64_t from[PRODUCT_OPERANDS] = {0};
        row.n = ry_min(column_count - c, inner - (column_first + c) % inner);
        ry_product_offsets(l, column_first + c, from);
        for (int64_t i = 0; i < row_count; i++) {
            for (int o = 0; o < PRODUCT_OPERANDS; o++) {
                row.at[o] = from[o] + t->offsets[i * PRODUCT_OPERANDS + o];
            }
            row.sums = t->sums + (i * t->row_step + c) * (int64_t)t->loops->size;
            t->loops->store(&plan->finish, &row);
        }
    }
}

static void store_bias(const product_task *t, const int64_t *base)
{
    static const product_finish how = {
        .alpha = 1, .beta = 1, .low = -INFINITY, .high = INFINITY, .plain = true};
    const product_plan *plan = t->plan;
    const int64_t first = product_tile_start(&plan->w, t->w.first);
    for (int64_t w = t->w.first; w < t->w.first + t->w.count; w++) {
        for (int64_t i = 0; i < product_tile_size(&plan->w, w); i++) {
            int64_t at[PRODUCT_OPERANDS];
            const int64_t index = product_tile_start(&plan->w, w) + i;
            memcpy(at, base, sizeof at);
            ry_product_offsets(&t->nest.list[PRODUCT_WS], index, at);
            const product_row row = {.sums = t->bias + (index - first) * (int64_t)t->loops->size,
                                     .y = t->launch->out[1],
                                     .n = 1,
                                     .at = {[PRODUCT_Y] = at[PRODUCT_BIAS]},
                                     .step = {[PRODUCT_Y] = 1}};
            t->loops->store(&how, &row);
        }
    }
}

static void run_group(const product_task *t, int64_t group)
{
    const ry_cpu_launch *launch = t->launch;
    const product_plan *plan = t->plan;
    const int64_t size = (int64_t)t->loops->size,
                  w_block = plan->tasks.axis[3].part * plan->w.width;
    const bool bias = is_weight_gradient(launch->problem) &&
                      ry_problem_has_output(launch->problem, 1) && t->x.first == 0;
    int64_t base[PRODUCT_OPERANDS];
    memcpy(base, t->nest.base, sizeof base);
    ry_product_offsets(&t->nest.list[PRODUCT_GROUPS], group, base);
    const char *w = plan->direct ? (const char *)launch->in[1] + base[PRODUCT_W] * size
                                 : (const char *)launch->packed +
                                       packed_at(plan, &t->nest, t->depth, group) * size;
    const int64_t k_block = product_k_block(plan, t->depth);
    product_walk walk = t->walk;
    walk_indices(&t->nest, &walk, PRODUCT_X, t->x.first, t->x.count, k_block);
    memset(t->bias, 0, (size_t)(w_block * size));
    if (t->depth == 0) {
        memset(t->sums, 0, (size_t)(ry_round_up(plan->x.count, plan->x.width) * w_block * size));
    }
    for (int64_t k = 0; k < t->depth; k += k_block) {
        const int64_t here = ry_min(k_block, t->depth - k);
        gather(t->loops, &t->nest, &walk, launch->in[0], base[PRODUCT_X], t->x.count,
               plan->panel_step, k, here, t->panel);
        multiply(t, w, k, here);
        if (bias) {
            add_bias(t, w, k, here);
        }
    }
    store(t, base);
    if (bias) {
        store_bias(t, base);
    }
}

static void run(const ry_cpu_launch *launch, size_t task)
{
    const product_plan *plan = launch->state;
    char *scratch = launch->scratch;
    ry_cut_range range[RY_CUT_AXES];
    ry_cut_task(&plan->tasks, task, range);
    product_task t = {.launch = launch,
                      .plan = plan,
                      .loops =
                          &RY_ISA_SYMBOL(product_loops)[launch->problem->out[0].dtype][plan->wide],
                      .group = range[1],
                      .x = range[2],
                      .w = range[3],
                      .walk = {.points = (int64_t *)(void *)(scratch + plan->points),
                               .run_points = (int64_t *)(void *)(scratch + plan->run_points),
                               .runs = (product_run *)(void *)(scratch + plan->runs)},
                      .panel = scratch,
                      .sums = scratch + plan->sums,
                      .bias = scratch + plan->bias,
                      .offsets = (int64_t *)(void *)(scratch + plan->offsets)};
    ry_product_nest(launch->problem, range[0].first, &t.nest);
    t.depth = ry_product_count(&t.nest.list[PRODUCT_DEPTH]);
    t.x.count = ry_min(t.x.count, ry_product_count(&t.nest.list[PRODUCT_XS]) - t.x.first);
    t.row_step = plan->w.columns ? plan->tasks.axis[3].part * plan->w.width
                                 : ry_round_up(plan->x.count, plan->x.width);
    for (int64_t g = t.group.first; t.x.count > 0 && g < t.group.first + t.group.count; g++) {
        run_group(&t, g);
    }
}

#define PRODUCT_KERNEL(operator)                                                 \
    RY_CPU_KERNEL(operator##_product, operator, strict, .simd = RY_SIMD,         \
                  .applicable = ry_product_takes, .prepare = ry_product_prepare, \
                  .initialise = ry_product_initialise, .pack = pack, .run = run, \
                  .packed_inputs = 1u << 1, .packing = ry_product_packing)

PRODUCT_KERNEL(conv);
PRODUCT_KERNEL(convt);
PRODUCT_KERNEL(matmul);

RY_CPU_KERNEL(matmul_product_direct, matmul, strict, .simd = RY_SIMD,
              .applicable = ry_product_takes_direct, .prepare = ry_product_prepare,
              .initialise = ry_product_initialise, .run = run);
