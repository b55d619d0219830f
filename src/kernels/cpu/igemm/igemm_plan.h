/* SPDX-License-Identifier: Apache-2.0 */
/* How a convolution is cut into matrix products: which operand is along the vectors, blocks, k
 * blocks, tasks. Plain data, kept in a kernel's state; it depends on the problem, the vector width
 * and the tile, never on the number of threads.
 *
 * A task computes a block of output channels (whole oc blocks) for a block of pixels of one group.
 * It goes through the reduction in k blocks: it gathers the k block's pixels into a panel that
 * stays in the caches, multiplies every oc block of weights with it, and goes on from C.
 *
 *   PIXELS    vectors are along pixels    A = weights, packed [oc block][k][rows of the oc block]
 *                                         B = panel of micro-panels [k][columns]
 *   GATHERED  vectors are along channels  A = panel of micro-panels [k][lanes of a vector]
 *                                         B = weights, packed [oc block][k][columns]
 *   ROWS      vectors are along channels  A = panel [pixel][k], or x itself (in_place)
 *                                         B = weights, packed [oc block][k][columns]
 *
 * Phases of a transposed convolution may be a fused group: a task computes the same block of all of
 * them. Those whose taps read the same pixels share a panel. Those that write to the same rows of
 * y, to every second pixel or third, are interleaved: their sums are in scratch and are stored to
 * y side by side. The grids of a fused group's phases are made equal; what exceeds a phase's own is
 * dropped.
 *
 * Where a panel would serve few channels before it is gathered again (small images, whose tasks
 * must be cut along channels), it is `shared`: tasks of an earlier phase gather every k block of
 * every block once, into the workspace.
 *
 * Where windows reach far beyond x (wide padding, wide dilations, transposed convolutions of small
 * x), k blocks may be `split`: each is of one row of taps, and a task leaves out those of which
 * its block reads nothing but padding.
 *
 * Where neither suits what a window reads, x is `copied` with its channels innermost by tasks of
 * an earlier phase, and read as ROWS (igemm_copy.h).
 *
 * PIXELS and GATHERED want x's pixels next to each other in memory and order the reduction
 * (channel, tap); ROWS wants its channels next to each other and orders it (tap, channel). */
#ifndef RY_KERNELS_CPU_IGEMM_IGEMM_PLAN_H
#define RY_KERNELS_CPU_IGEMM_IGEMM_PLAN_H

#include "base/integer.h"
#include "kernels/common/task_cut.h"
#include "kernels/costs.h"
#include "kernels/cpu/parts/conv_geometry.h"
#include "kernels/cpu/parts/tile_lines.h"

enum { IGEMM_MAX_K_BLOCK = 1024, IGEMM_MAX_BUNDLE = 16 };

/* Rows of a tile that meet in one set of the first-level cache, beside a vector of B. */
enum { IGEMM_SET_ROWS = RY_SET_LINES - 1 };

typedef enum igemm_mode { IGEMM_PIXELS, IGEMM_GATHERED, IGEMM_ROWS, IGEMM_MODES } igemm_mode;

/* Where x is read: as it is stored, and gathered only where it cannot be; gathered even then; from
 * a copy with its channels innermost. */
typedef enum igemm_input { IGEMM_AS_IS, IGEMM_INTO_PANELS, IGEMM_COPIED, IGEMM_INPUTS } igemm_input;

/* What a form sets, in the order of the kernel's knobs. */
typedef enum igemm_knob {
    IGEMM_KNOB_MODE,
    IGEMM_KNOB_INPUT,
    IGEMM_KNOB_SHARED,
    IGEMM_KNOB_APART,
    IGEMM_KNOB_SPLIT,
    IGEMM_KNOB_K_BLOCK, /* steps of one at most */
    /* that the pixels of a range are cut into, about: blocks are full tiles */
    IGEMM_KNOB_PIXEL_BLOCKS,
    IGEMM_KNOB_CHANNEL_BLOCKS, /* that the oc blocks of a group are cut into, about */
    IGEMM_KNOBS
} igemm_knob;

/* What a plan takes from the machine: its caches, in bytes, and its threads. */
typedef struct igemm_sizes {
    int64_t l1; /* the first-level cache */
    /* bytes of the second-level cache for a panel, with weights streaming through */
    int64_t panel;
    int64_t second; /* bytes of it for all reused data */
    /* bytes of the second-level cache for weights that stay from run to run */
    int64_t weights;
    int64_t kept; /* bytes that stay in the caches between steps */
    int64_t threads;
    double task, phase; /* cycles: taking a task; the threads meet */
    ry_cost_column costs;
} igemm_sizes;

/* Positions of a phase, and their steps in its tensors. */
typedef struct igemm_where {
    ry_conv_phase at;
    int64_t inside[RY_SPACE]; /* the phase's own positions of the grid */
    int64_t fused;  /* phases of a task, this one the first; 0: it belongs to an earlier one's */
    int64_t source; /* fused group: the member whose panel serves all, or -1 */
    /* ranges of pixels that blocks do not cross: one an image, or one of all images */
    int64_t images, pixels;
    /* images of a range whose rows alternate, as one row of all images reads like rows of x; 1:
     * none do */
    int64_t alternating;
    /* steps between pixels, valid if in_place (x) or direct (y, r) */
    int64_t x_pixel, y_pixel, r_pixel;
    /* tiles are written to y itself; else to a block of scratch, and from there to y */
    bool direct;
    /* not direct: pixels are next to each other in y, channels in the block of sums; all are f32 */
    bool transposed;
    /* x is the panel: no padding, one tap, one step from pixel to pixel (1 but for ROWS) */
    bool in_place;
    bool plain; /* x could be read in place, and is copied to the panel as it is there */
    /* ROWS and direct: tiles do not cross rows of the grid, between which y's step is another */
    bool by_rows;
    bool any_pad;     /* some tap of some pixel is outside x */
    bool from_memory; /* its part of x comes from memory */
} igemm_where;

/* The reduction's k blocks, and the blocks of pixels and channels that tasks take. */
typedef struct igemm_cut {
    int64_t depth; /* channels_in * taps */
    int64_t steps; /* steps of the tiles: depth, or pairs of the k blocks */
    /* taps that k blocks do not cross the end of: all, or (split) those of one row */
    int64_t tap_row;
    /* channels and taps of a k block; one of them is complete, or a complete row */
    int64_t k_block_channels, k_block_taps;
    int64_t k_blocks;
    int64_t last_k_block; /* where the last one's steps begin */
    int64_t passes;       /* fused group: over the block's sums */
    /* pixels of one gathered vector: all its lanes, or (GATHERED) the rows of a tile */
    int64_t lanes;
    int64_t block, blocks; /* pixels of a task; blocks of a range */
    int64_t oc_blocks_per_task;
    /* images, groups, pixels and oc blocks; oc blocks come first if blocks_first */
    ry_task_cut task;
    ry_task_cut gather; /* shared: images, groups, pixels, k blocks */
    int64_t first_task, tasks;
    int64_t first_gather, gathers;
    /* while a plan is chosen: of the k blocks of all blocks, how many are needed */
    double in_bounds;
    bool skips;        /* k blocks may be left out */
    bool blocks_first; /* tasks are ordered [range of oc blocks][block], else [block][range] */
    /* x in place is read once: long runs of pixels of few channels at a time, as memory likes it */
    bool streams;
    /* PIXELS: a tile's pixels stay in the first-level cache while all oc blocks of weights are
     * streamed */
    bool micropanels_outer;
} igemm_cut;

/* Sizes and places of the phase's panels, blocks and weights. */
typedef struct igemm_rooms {
    int64_t panel; /* floats of one k block's panel */
    /* floats from the start of the worker's panels and blocks to the member's */
    int64_t panel_at, block_at;
    int64_t shared_at; /* floats from the shared panels' start, in the order of gathering tasks */
    int64_t packed;    /* where its weights start, in elements */
} igemm_rooms;

typedef struct igemm_phase {
    igemm_where where;
    igemm_cut cut;
    igemm_rooms rooms;
} igemm_phase;

/* What the phase before the products, if there is one, and the products take, in multiply-adds of a
 * vector. */
typedef struct igemm_count {
    ry_work gather, work;
    size_t gathers, tasks;
} igemm_count;

typedef struct igemm_plan {
    ry_conv_geometry geometry;
    igemm_mode mode;
    /* lanes of a vector; rows used by this mode and columns of a tile */
    int64_t width, tile_rows, tile_columns;
    int64_t max_rows; /* rows of the instruction set's tile */
    /* a tile's last vector costs as many lanes as are a multiple of this: width, or half of it */
    int64_t lane_multiple;
    /* blocks of a group's output channels; most channels of a block */
    int64_t oc_blocks, max_oc_block;
    int64_t interleave;   /* phases whose pixels alternate in a row of y; 1: none */
    int64_t packed_group; /* elements of one group's packed weights, all phases */
    int64_t tasks;
    ry_form form;      /* complete */
    igemm_count count; /* once the form is chosen */
    igemm_sizes sizes;
    bool alone; /* one thread runs all tasks */
    /* operands are pairs of neighbours along the reduction: a k block of odd depth ends with
     * half a pair */
    bool pairs;
    ry_lane lane; /* an element */
    int32_t fill; /* ROWS: bits of an element of padding */
    bool shared;
    bool split;           /* k blocks end with a row of taps */
    bool copied;          /* the geometry is that of a copy of x in the workspace */
    bool from_memory;     /* x comes from memory */
    bool fetches_weights; /* tiles fetch those that come next */
    /* tasks of the gathering phase, or of the copying one; 0 where panels are not shared */
    int64_t gathers;
    size_t shared_size;     /* bytes of the shared panels, or of the copy */
    ry_conv_geometry as_is; /* with x as it is stored */
    ry_task_cut copy;       /* images, positions, channels */
    /* scratch of a worker, in bytes from its start */
    size_t panel, block, transposed, interleaved_row, bias, segments, program, runs, scratch;
    /* floats from the bias of a fused group's phase to the next one's; 0: they have the same */
    int64_t bias_step;
    size_t taps; /* ry_conv_tap[geometry.taps], in bytes from the plan's start */
    size_t size; /* bytes of the plan, taps included */
    igemm_phase phase[];
} igemm_plan;

/* Does a tile have so few sums that a step of it reads much for each? */
static inline bool igemm_is_small(const igemm_plan *plan)
{
    return plan->tile_rows * plan->tile_columns <=
           (int64_t)ry_blocks_of(plan->sizes.costs)->igemm_small_tile;
}

static inline ry_conv_tap *igemm_taps(igemm_plan *plan)
{
    return (ry_conv_tap *)(void *)((char *)plan + plan->taps);
}

static inline const ry_conv_tap *igemm_phase_taps(const igemm_plan *plan, const igemm_phase *phase)
{
    return (const ry_conv_tap *)(const void *)((const char *)plan + plan->taps) +
           phase->where.at.first_tap;
}

/* Floats from row to row of a panel [pixel][k]. */
static inline int64_t igemm_panel_row(const igemm_phase *p)
{
    return p->cut.k_block_channels * p->cut.k_block_taps + RY_ROW_GAP;
}

/* Steps of the tiles for a k block of so much depth. */
static inline int64_t igemm_steps(const igemm_plan *plan, int64_t depth)
{
    return plan->pairs ? (depth + 1) / 2 : depth;
}

/* Is there a phase before the products? */
static inline bool igemm_has_gathering(const igemm_plan *plan)
{
    return plan->shared || plan->copied;
}

/* First output channel of an oc block, and their count. */
static inline int64_t igemm_oc_block_first(const igemm_plan *plan, int64_t oc_block)
{
    if (plan->mode != IGEMM_PIXELS) {
        return oc_block * plan->max_oc_block;
    }
    const int64_t each = plan->geometry.channels_out / plan->oc_blocks,
                  extra = plan->geometry.channels_out % plan->oc_blocks;
    return oc_block * each + (oc_block < extra ? oc_block : extra);
}

static inline int64_t igemm_oc_block_count(const igemm_plan *plan, int64_t oc_block)
{
    const int64_t end = oc_block + 1 == plan->oc_blocks ? plan->geometry.channels_out
                                                        : igemm_oc_block_first(plan, oc_block + 1);
    return end - igemm_oc_block_first(plan, oc_block);
}

/* Are elements quads or pairs of whole numbers (cpu/qconv/)? */
static inline bool igemm_is_quantised(const igemm_plan *plan)
{
    return plan->lane != RY_LANE_NUMBER;
}

/* Most pixels of a tile, if pixels are its rows. */
static inline int64_t igemm_pixel_rows(const igemm_plan *plan, const igemm_phase *p)
{
    if (plan->mode == IGEMM_GATHERED) {
        return p->cut.lanes;
    }
    const bool meet = p->where.in_place && p->where.x_pixel % RY_SET_FLOATS == 0;
    return meet ? ry_min(plan->tile_rows, IGEMM_SET_ROWS) : plan->tile_rows;
}

#endif
