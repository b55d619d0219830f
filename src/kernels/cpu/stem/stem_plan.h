/* SPDX-License-Identifier: Apache-2.0 */
/* How a convolution of few input channels (a network's stem) is computed: the sum over taps and channels straight from rows of x, which a task
 * stages once, with zeros around them. Plain data, kept in a kernel's state.
 *
 *   PIXELS    y's pixels lie next to each other: vectors lie along pixels; a staged row is one strip for each channel and each residue of
 *             the position modulo the stride, so that neighbouring outputs read neighbouring elements. Tap k reads at offset[k].
 *   CHANNELS  y's channels lie next to each other: vectors lie along output channels; a staged row is [position][channel], and a row of taps
 *             reads one run of it. */
#ifndef RY_KERNELS_CPU_STEM_STEM_PLAN_H
#define RY_KERNELS_CPU_STEM_STEM_PLAN_H

#include "kernels/cpu/conv/conv_geometry.h"
#include "kernels/kernel.h"

typedef struct stem_plan {
    ry_conv_geometry geometry;
    bool pixels; /* the mode */
    bool turned; /* CHANNELS, though y's pixels lie next to each other: a row of y would fill its last vector badly */
    int64_t pad[2], dilation;
    int64_t y_row, y_pixel;             /* steps of y */
    int64_t width, columns_most;        /* of a vector, of a tile */
    int64_t rows_most;                  /* of a tile: output channels, or pixels */
    int64_t units, unit_most;           /* of output channels */
    int64_t depth;                      /* of the whole sum */
    int64_t strip, row;                 /* floats of one strip, of a staged row */
    int64_t rows_a_task, blocks;        /* of output rows; blocks of an image */
    double cycles;                      /* in vector multiply-adds, on one core */
    size_t stage, bias, block, scratch; /* of a worker, in bytes from its start */
    size_t size;                        /* of the plan */
    int32_t offset[];                   /* PIXELS: of tap and channel k */
} stem_plan;

typedef enum stem_mode { STEM_CHANNELS, STEM_PIXELS, STEM_TURNED, STEM_MODES } stem_mode;

/* mode makes the forms; rows of a task cut them. */
enum { STEM_MODE, STEM_ROWS, STEM_KNOBS };
extern const ry_knob stem_knobs[STEM_KNOBS];

bool stem_is_possible(const ry_problem *problem);
bool stem_has(const ry_problem *problem, stem_mode mode);

/* The plan that the query's form asks for: everything but the offsets, for which plan->size bytes are needed; then the whole of it. */
void stem_plan_choose(const ry_query *query, stem_plan *plan);
void stem_plan_make(const ry_query *query, stem_plan *plan);

void stem_values(const ry_query *query, int knob, ry_knob_values *values);
rynd_status stem_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error);
void stem_initialise(const ry_query *query, void *state);

/* The weights as [unit][k][channels of the unit]: k runs over row, channel, column for PIXELS, over row, column, channel for CHANNELS, whose
 * channels are whole vectors. */
void stem_pack(const stem_plan *plan, const float *w, float *packed);

/* First output channel of a unit; units are as even as they can be. */
static inline int64_t stem_unit_first(const stem_plan *plan, int64_t unit)
{
    if (!plan->pixels) {
        const int64_t first = unit * plan->unit_most;
        return first < plan->geometry.channels_out ? first : plan->geometry.channels_out;
    }
    const int64_t each = plan->geometry.channels_out / plan->units, extra = plan->geometry.channels_out % plan->units;
    return unit * each + (unit < extra ? unit : extra);
}

/* Rows [*first, *end) of the window that lie in x where its row 0 would read row `top`: the others, of the padding, are left out. */
static inline void stem_rows_inside(const stem_plan *plan, int64_t top, int64_t *first, int64_t *end)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t step = plan->dilation, behind = g->in[1] > top ? (g->in[1] - top + step - 1) / step : 0;
    *end = behind < g->kernel[1] ? behind : g->kernel[1];
    *first = top < 0 ? (step - 1 - top) / step : 0;
    *first = *first < *end ? *first : *end;
}

enum { STEM_WOVEN_MOST = 4 };

/* CHANNELS: are rows of x whose positions lie next to each other staged by permutations of two vectors? */
static inline bool stem_weaves(const ry_conv_geometry *g)
{
    return g->x_step[2] == 1 && g->channels_in > 1 && g->channels_in <= STEM_WOVEN_MOST;
}

/* Channels of a unit as they are packed. */
static inline int64_t stem_unit_packed(const stem_plan *plan, int64_t unit)
{
    const int64_t count = stem_unit_first(plan, unit + 1) - stem_unit_first(plan, unit);
    return plan->pixels ? count : (count + plan->width - 1) / plan->width * plan->width;
}

#endif
