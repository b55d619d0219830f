/* SPDX-License-Identifier: Apache-2.0 */
/* How a convolution of stride 1 or 2, or a transposed one, is computed in Winograd's form: points,
 * tiles, blocks, tasks. Plain data, kept in a kernel's state; it depends on the problem, the
 * machine, the vector width and the tile of products, never on the number of threads. Of a form's
 * knobs only the points change bits of the result.
 *
 * An axis of m outputs and r taps needs t = m + r - 1 points (Toom-Cook at 0, +-a, +-b, ...,
 * infinity; S. Winograd, Arithmetic Complexity of Computations, 1980; A. Lavin and S. Gray,
 * arXiv:1509.09308). With two axes, P = t_h t_w products replace m_h m_w r_h r_w:
 *
 *     V[p][tile][c] = (B^T d B)[p]     M[p][tile][k] = sum over c of V[p][tile][c] U[p][c][k]
 *                                      y = A^T M A     U = G g G^T, packed
 *
 * Vectors are along channels everywhere; where x or y have their channels apart, strips of their
 * rows are transposed on the way, and those of a group of few channels among many are copied. A
 * task takes a block of tiles through all three steps, so that V and M stay in the second-level
 * cache. Where a block would serve few output channels before it is transformed again (few tiles,
 * many channels: tasks are cut along output channels), V is `shared`: tasks of an earlier phase
 * transform every block once, into the workspace.
 *
 * A third axis (depth) is not transformed: its taps are along the reduction beside the channels. A
 * dilated axis falls into `dilation` interleaved axes; tiles are counted phase by phase. Where
 * strips of rows are transposed on the way, the phases of a row are interleaved: a tile of each,
 * then the next one of each, which read and write one strip together; a phase that has one less
 * gets an empty tile.
 *
 * An axis of a transposed convolution with stride s is s phases, one for each residue of the
 * output's position modulo s: forward convolutions of at most r / s taps, rounded up. They are
 * numbered so that output i of every phase reads x from the same position on: phases share V, each
 * has its own U, like more output channels, and the m s outputs of a tile are neighbours in y.
 *
 * Where y's channels are next to each other, and the window is a multiple of the strides, phases
 * have the same taps, and may be more output channels altogether (`fold`): column k of the
 * products is of channel k of all phases, in the order of y's memory, each row of phases in full
 * vectors.
 *
 * An axis that is read with stride 2 is two classes, the residues of x's position: each is a
 * convolution of unit stride, of half the taps, and their sum is formed in M, like that over input
 * channels. Where a phase or a class has a tap less than others, products of infinity (or of 0)
 * are left out: its weights are 0 there. */
#ifndef RY_KERNELS_CPU_WINOGRAD_WINOGRAD_PLAN_H
#define RY_KERNELS_CPU_WINOGRAD_WINOGRAD_PLAN_H

#include "kernels/common/task_cut.h"
#include "kernels/costs.h"
#include "kernels/cpu/parts/conv_geometry.h"
#include "kernels/cpu/parts/tile_lines.h"
#include "kernels/cpu/parts/winograd_points.h"

enum {
    WINOGRAD_POINTS_H,
    WINOGRAD_POINTS_W,
    WINOGRAD_SHARED,
    WINOGRAD_TILES,
    WINOGRAD_OC_BLOCKS,
    WINOGRAD_KNOBS
};
enum { WINOGRAD_CHOICES = 3 };  /* for the points of an axis */
enum { WINOGRAD_ALIGNED = 64 }; /* positions of a row, that are worth a vector more */

/* What plans are held against: of the machine. Times are in multiply-adds of a vector. */
typedef struct winograd_limits {
    int64_t cores;
    int64_t l1, l2;      /* bytes of caches, as far as they are one core's */
    int64_t kept;        /* bytes that caches keep from step to step of a network */
    double memory;       /* a float from memory, while all cores read */
    double task, region; /* taking a task; a step of tasks, summed over all cores */
    ry_cost_column costs;
} winograd_limits;

/* Tile of one axis: outputs origin, origin + dilation, ... of each phase. */
typedef struct winograd_tile {
    int32_t origin, outputs;
} winograd_tile;

/* Outputs first, ..., last of a tile along one axis. Their windows have positions in common: from
 * begin, of the last output, to end, of the first. */
typedef struct winograd_group {
    int8_t first, last, begin, end;
} winograd_group;

typedef struct winograd_axis {
    int64_t points, outputs, taps; /* 1, 1, 1: not transformed */
    int64_t dilation, pad;         /* before the first input */
    /* phases; output i of phase p is position i * spread + p - lead of y, if there is one */
    int64_t output_stride, output_offset;
    /* stride of reads; residues of x's position modulo the stride that are summed */
    int64_t stride, classes;
    int64_t step; /* positions of x between a tile's inputs of one class */
    /* neighbouring tiles, one of each phase of the dilation, where they are interleaved; else 1 */
    int64_t interleave;
    /* tap j of phase p and class a is tap + p + a + j * tap_step of the window's, 0 where that
     * has none */
    int64_t tap, tap_step, window;
    /* winograd_contrast.h: each output is in one group; none if phases have no tap in common. So
     * many of a group's positions, of one class, are looked at. */
    winograd_group group[WINOGRAD_MAX_OUTPUTS];
    int64_t groups, probes, probe_class;
    /* their positions, group after group, in tiles of so many outputs */
    int8_t probe[WINOGRAD_MAX_OUTPUTS + 1][WINOGRAD_MAX_OUTPUTS];
    int64_t tiles;
    size_t tile; /* winograd_tile[tiles], in bytes from the plan's start */
} winograd_axis;

/* Outputs of one tile in one phase, a bit each: output j of row i is bit i * axis[1].outputs + j.
 */
typedef struct winograd_outputs {
    uint64_t inside;   /* y's */
    uint64_t nan;      /* whose windows hold a NaN */
    uint64_t infinite; /* no NaN, but an infinity */
    uint64_t uneven;   /* whose contrast is too large (winograd_contrast.h) */
    uint64_t zero;     /* uneven, and all finite elements of their windows are 0 */
    uint64_t direct;   /* to be summed over taps for the oc block at hand */
    uint64_t open;     /* direct outputs that further terms may change */
    /* false: parts of finite inputs are skipped, as only infinities decide the outputs */
    bool terms;
} winograd_outputs;

typedef struct winograd_fold {
    int64_t channels;     /* channels of y; 0: no fold */
    int64_t row, room;    /* columns of a row of phases; rounded up to full vectors */
    int64_t y_row, r_row; /* steps of y and the residual from a row of phases to the next */
} winograd_fold;

typedef struct winograd_plan {
    ry_conv_geometry geometry; /* folded: of the columns, and positions of one phase */
    winograd_limits limits;
    winograd_fold fold;
    ry_conv_phase steps;   /* steps of y and the residual */
    winograd_axis axis[2]; /* height, width */
    int64_t points;        /* points of a tile */
    int64_t phases;        /* product over both axes */
    int64_t classes;       /* product over both axes */
    /* products of a tile and pair of channels, all phases, without all-zero weights */
    int64_t products;
    /* lanes of the instruction set's vectors; the tile of products */
    int64_t width, tile_rows, tile_columns;
    int64_t tiles;         /* in the whole batch */
    int64_t channel_step;  /* channels of one depth tap in the reduction */
    int64_t depth;         /* the reduction */
    int64_t oc_blocks;     /* blocks of tile_columns output channels, in a group */
    int64_t block, blocks; /* tiles of a task */
    /* oc blocks whose products are held at once; shared: of a task */
    int64_t oc_blocks_per_task, oc_block_ranges;
    /* groups, tiles; shared: oc blocks, groups, tiles, which keeps the weights of tasks that run at
     * the same time: they are larger than a block */
    ry_task_cut tasks;
    ry_task_cut transforms; /* shared: groups, tiles, input channels of the first phase */
    ry_task_cut packs;      /* groups, oc blocks */
    int64_t run_span;       /* positions of a row that are transposed at once, at most */
    double contrast;        /* largest one that is left to Winograd's form (winograd_contrast.h) */
    /* input channels that direct sums take at once; floats of their weights */
    int64_t fixup_channels, fixup_weights;
    int64_t v_row, v_point, m_phase, m_row, m_point; /* steps in floats */
    int64_t packed_oc_block, packed_group;           /* floats */
    bool shared;
    int64_t channel_parts;                 /* shared: tasks that transform a block */
    bool x_channels_last, y_channels_last; /* channels are next to each other in x, in y */
    bool x_staged; /* rows of x pass through a strip, whether numbers are finite or not */
    /* a block's products run while x of the next one, and its y, are fetched */
    bool prefetch_x, prefetch_y;
    /* V of the next point, U of the next oc block: they may not be near */
    bool v_fetched, u_fetched;
    int64_t point_cached; /* floats of V and U of a point that stay in a first-level cache */
    /* scratch of a worker, in bytes from its start */
    size_t v, m, stage, squares, uneven, outputs, bias, scratch;
    size_t size; /* bytes of the plan, tables included */
} winograd_plan;

/* Can the problem be computed so, whatever it costs? */
bool ry_winograd_is_possible(const ry_problem *problem, ry_accuracy accuracy);

/* The steps of making a plan: what follows from the problem and the machine alone; the points that
 * an axis may have (returns how many); what follows from them; from the tiles of a block; from the oc
 * blocks; the rest. */
void ry_winograd_plan_start(const ry_query *query, winograd_plan *plan);
int ry_winograd_choices(const ry_query *query, const winograd_plan *plan, int axis,
                        int64_t points[WINOGRAD_CHOICES]);
void ry_winograd_set_points(winograd_plan *plan, const int64_t points[2]);
void ry_winograd_set_tiles(winograd_plan *plan, int64_t block);
void ry_winograd_set_oc_blocks(winograd_plan *plan, int64_t oc_blocks_per_task);
void ry_winograd_plan_finish(winograd_plan *plan);

/* Are V and M no larger than the caches bear? The least block is. */
bool ry_winograd_fits(const winograd_plan *plan);

/* A whole plan of a complete form, tables included, in plan->size bytes. */
void ry_winograd_initialise(const ry_query *query, void *state);

/* The contrast (winograd_contrast.h) that a class admits. */
double ry_winograd_contrast(ry_accuracy accuracy);
/* Is the contrast of data of one size in tiles of so many positions well below the class's? Else
 * most outputs would be summed directly, as those of a stride of 2 with windows of one and two taps
 * in the class strict. */
bool ry_winograd_is_even(const winograd_axis *h, const winograd_axis *w, int64_t tile,
                         ry_accuracy accuracy);

/* Fills the axis' groups and probes, from its points and taps. */
void ry_winograd_find_groups(winograd_axis *axis);

/* The finite points of `points`: 0 is one, then +-magnitude[0], +-magnitude[1], ...; the last point
 * is infinity. */
const double *ry_winograd_magnitudes(int64_t points);

/* Where the channels of a class are in the reduction, in oc blocks of channel_step: in such an
 * order that those with weights at a point are neighbours. */
static inline int64_t winograd_class(const winograd_plan *plan, int64_t down, int64_t along)
{
    return plan->classes < 4 ? down + along : down == 0 ? 1 - along : 2 + along;
}

/* Outputs first, ..., end - 1 of the tile's are y's in phase p. */
typedef struct winograd_range {
    int64_t first, end;
} winograd_range;

winograd_range ry_winograd_inside(const winograd_plan *plan, int axis, const winograd_tile *tile,
                                  int64_t phase);

/* Are all of a phase's and class's weights 0 at this point of the axis? The point 0 has tap 0 only,
 * and infinity the last. */
static inline bool winograd_is_zero(const winograd_axis *axis, int64_t point, int64_t phase,
                                    int64_t class)
{
    const int64_t first = axis->tap + phase + class,
                  last = first + (axis->taps - 1) * axis->tap_step;
    return (point == 0 && (first < 0 || first >= axis->window)) ||
           (point == axis->points - 1 && (last < 0 || last >= axis->window));
}

/* Taps of an axis that a phase has weights for: tap u, of taps * classes, reads position u of the
 * window. */
static inline winograd_range winograd_tap_range(const winograd_axis *axis, int64_t phase)
{
    winograd_range range = {.first = axis->taps * axis->classes, .end = 0};
    for (int64_t u = 0; u < axis->taps * axis->classes; u++) {
        const int64_t r =
            axis->tap + phase + u % axis->classes + u / axis->classes * axis->tap_step;
        if (r >= 0 && r < axis->window) {
            range.first = u < range.first ? u : range.first;
            range.end = u + 1;
        }
    }
    return range;
}

/* How far input u of a tile (points * classes of an axis) is stored from its first one. */
static inline int64_t winograd_position(const winograd_axis *axis, int64_t u)
{
    return u % axis->classes + u / axis->classes * axis->step;
}

/* Floats of a tile's sums of squares: a vector of channels for the whole tile, then for each probe,
 * [group of rows][probe][group of columns][probe]. */
static inline int64_t winograd_tile_squares(const winograd_plan *plan)
{
    const winograd_axis *h = &plan->axis[0], *w = &plan->axis[1];
    return (1 + h->groups * h->probes * w->groups * w->probes) * plan->width;
}

static inline const winograd_tile *winograd_tiles(const winograd_plan *plan, int axis)
{
    return (const winograd_tile *)(const void *)((const char *)plan + plan->axis[axis].tile);
}

/* Columns are a group's output channels, or (folded) those of all phases. */

/* Columns from k on, `max` at most, that are next to each other in y where its channels do; below
 * 1: there is no column k. */
static inline int64_t winograd_adjacent_columns(const winograd_plan *plan, int64_t k, int64_t max)
{
    const int64_t left = plan->fold.channels ? plan->fold.row - k % plan->fold.room : max;
    return left < max ? left : max;
}

/* Column k in y, in the residual, in the weights, from the group's first. */
static inline int64_t winograd_column_y(const winograd_plan *plan, int64_t k)
{
    const winograd_fold *f = &plan->fold;
    return f->channels ? k / f->room * f->y_row + k % f->room : k * plan->geometry.y_channel;
}

static inline int64_t winograd_column_r(const winograd_plan *plan, int64_t k)
{
    const winograd_fold *f = &plan->fold;
    return f->channels ? k / f->room * f->r_row + k % f->room : k * plan->geometry.r_channel;
}

static inline int64_t winograd_column_w(const winograd_plan *plan, int64_t k)
{
    const winograd_fold *f = &plan->fold;
    const ry_conv_geometry *g = &plan->geometry;
    return f->channels ? k / f->room * g->w_step[1] + k % f->room / f->channels * g->w_step[2] +
                             k % f->room % f->channels * g->w_out
                       : k * g->w_out;
}

/* Channels of an oc block, in full vectors. */
static inline int64_t winograd_oc_block_columns(const winograd_plan *plan, int64_t oc_block)
{
    const int64_t left = plan->geometry.channels_out - oc_block * plan->tile_columns;
    const int64_t channels = left < plan->tile_columns ? left : plan->tile_columns;
    return (channels + plan->width - 1) / plan->width * plan->width;
}

#endif
