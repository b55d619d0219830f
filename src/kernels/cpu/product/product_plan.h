/* SPDX-License-Identifier: Apache-2.0 */
/* How a product of any type is cut into tasks, and how its operands are packed.
 *
 * w is packed once, as tiles of k blocks: [phase][group][k block][tile][k][tile's width]. A task
 * computes some x and some tiles of w of a group: for each k block it gathers x into a panel
 * [k][panel_step], multiplies all tiles, and adds to sums in scratch. Then it stores the sums with
 * bias, residual and activation.
 *
 * For few rows w is read where it lies instead: packing a matrix that is no constant takes longer
 * than multiplying it.
 *
 * The operand along which y is contiguous is along the vectors (columns), the other one is along
 * the rows of the micro-kernel's tiles. */
#ifndef RY_KERNELS_CPU_PRODUCT_PRODUCT_PLAN_H
#define RY_KERNELS_CPU_PRODUCT_PRODUCT_PLAN_H

#include "kernels/common/task_cut.h"
#include "kernels/cpu/product/product_nest.h"

enum { PRODUCT_MAX_K_BLOCK = 512, PRODUCT_MAX_WIDTH = 64, PRODUCT_MAX_BLOCK = 1024 };

/* Indices cut into tiles: full vectors and a rest (columns), or rows shared out evenly. */
typedef struct product_tiling {
    bool columns;
    int64_t count, tiles;
    int64_t lanes, width; /* elements: a vector, the largest tile */
} product_tiling;

/* How sums are stored: y = activation(alpha * sum + beta * bias + residual). */
typedef struct product_finish {
    double alpha, beta, low, high;
    ry_activation activation;
    double act_alpha, act_beta;
    bool plain; /* both factors are 1, and the activation is a bound */
} product_finish;

typedef struct product_plan {
    product_finish finish;
    bool wide;         /* integers are summed in 64 bits: factors and activations read them */
    ry_task_cut tasks; /* phases, groups, x, tiles of w */
    ry_task_cut packs; /* phases, groups, tiles of w */
    product_tiling w;  /* all of a group's */
    product_tiling x;  /* a task's, at most */
    int64_t k_block;   /* steps at most */
    int64_t panel_step;
    bool channels_last;    /* channels are the innermost steps of k */
    bool direct;           /* the kernel reads w in place, without packing */
    int64_t w_step;        /* direct: elements of w from a step of k to the next */
    int64_t depth, groups; /* depth: of all phases */
    /* bytes from the start of a worker's scratch */
    size_t sums, bias, offsets, points, runs, run_points, scratch;
} product_plan;

static inline int64_t product_tile_start(const product_tiling *t, int64_t tile)
{
    const int64_t each = t->count / t->tiles, extra = t->count % t->tiles;
    return t->columns ? tile * t->width : tile * each + ry_min(tile, extra);
}

static inline int64_t product_tile_size(const product_tiling *t, int64_t tile)
{
    const int64_t end = tile + 1 == t->tiles ? t->count : product_tile_start(t, tile + 1);
    return end - product_tile_start(t, tile);
}

/* Elements of a step of k in a tile. */
static inline int64_t product_tile_width(const product_tiling *t, int64_t tile)
{
    const int64_t size = product_tile_size(t, tile);
    return t->columns ? ry_round_up(size, t->lanes) : size;
}

static inline int64_t product_padded(const product_tiling *t)
{
    return t->columns ? ry_round_up(t->count, t->lanes) : t->count;
}

/* `count` indices cut as `like` is. */
static inline product_tiling product_cut(const product_tiling *like, int64_t count)
{
    product_tiling t = *like;
    t.count = count;
    t.tiles = ry_ceil_div(count, t.width);
    return t;
}

/* Steps of the k blocks of a phase of `depth` steps. */
static inline int64_t product_k_block(const product_plan *plan, int64_t depth)
{
    return depth == 0 ? 1 : ry_ceil_div(depth, ry_ceil_div(depth, plan->k_block));
}

bool ry_product_takes(const ry_problem *problem);
/* Few rows by a matrix whose rows are full vectors: the matrix need not be packed. */
bool ry_product_takes_direct(const ry_problem *problem);
rynd_status ry_product_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error);
void ry_product_initialise(const ry_query *query, void *state);
void ry_product_packing(const ry_prepared *prepared, ry_text *key);

#endif
