/* SPDX-License-Identifier: Apache-2.0 */
/* How the weight gradient of depthwise convolutions and of groups of few channels is computed:
 * tap by tap, as sums of products of two rows of numbers.
 *
 * A frame holds the positions of some lines or images of one channel one after another, with gaps:
 * behind a line as many places as a tap reaches further than the first, and behind the lines as
 * many lines. In the gaps dy's frame has zeros. x's frames, one for each residue of the stride,
 * have at place j what the first tap of that residue meets there, zeros for padding. Then
 *
 *     dw[tap] = sum over j of dy[j] * x of the tap's residue [j + the tap's shift]
 *
 * is one loop, whatever window, stride, dilation and padding are. A place is one float, whose
 * neighbours are a vector (sums of lanes are added in the end); or, where channels are last and
 * vectors have whole groups, a vector of neighbouring channels of dy. A frame of x then has one
 * channel of each group, as often as the group has channels of dy.
 *
 * Zeros of gaps meet elements of x that no position does: where those are infinite or NaN, so is
 * the sum. Sums that are not finite are therefore computed again, from positions alone. */
#ifndef RY_KERNELS_CPU_WGRAD_WGRAD_DIRECT_PLAN_H
#define RY_KERNELS_CPU_WGRAD_WGRAD_DIRECT_PLAN_H

#include "kernels/common/task_cut.h"
#include "kernels/costs.h"
#include "kernels/cpu/wgrad/wgrad_shape.h"
#include "kernels/form_method.h"

enum { WGRAD_DIRECT_PARTS, WGRAD_DIRECT_PLACES, WGRAD_DIRECT_KNOBS };
extern const ry_knob ry_wgrad_direct_knobs[WGRAD_DIRECT_KNOBS];

/* Taps whose sums are in registers at once. */
enum { WGRAD_MAX_TAPS = 9 };

typedef struct wgrad_direct_plan {
    wgrad_shape shape;
    int64_t width, lanes; /* lanes: floats of a place, 1 or a vector */
    ry_cost_column costs;
    /* along each axis: places of a frame that have positions; all; how many residues */
    int64_t extent[WGRAD_SPACE], positions[WGRAD_SPACE], residues[WGRAD_SPACE];
    int64_t images;                         /* images of a frame */
    int64_t image_positions, frame, frames; /* places of an image; floats of a frame; frames of x */
    ry_task_cut blocks;                     /* frames: images, then each axis */
    int64_t parts;
    /* parts, units; units. A unit is a vector of output channels, or a group */
    ry_task_cut tasks[2];
    int64_t outputs, part_floats; /* floats of dw; of a part's sums: dw, then db */
    size_t x, dy, sums, bias, scratch;
} wgrad_direct_plan;

/* Frames of dy of a unit. */
static inline int64_t wgrad_unit_outputs(const wgrad_direct_plan *plan)
{
    return plan->lanes > 1 ? 1 : plan->shape.k;
}

static inline int64_t wgrad_direct_units(const wgrad_direct_plan *plan)
{
    return plan->tasks[1].axis[0].extent;
}

/* The positions of a frame: from image and from[] on. */
typedef struct wgrad_frame {
    int64_t image, images, from[WGRAD_SPACE], count[WGRAD_SPACE];
} wgrad_frame;

wgrad_frame ry_wgrad_frame_of(const wgrad_direct_plan *plan, int64_t index);

/* Which frame of x each tap reads, from which place on, in floats from the first frame on: behind
 * the plan in a kernel's state. */
static inline const int64_t *wgrad_direct_shifts(const wgrad_direct_plan *plan)
{
    return (const int64_t *)(const void *)(plan + 1);
}

/* Floats from a frame's first position to its last. */
static inline int64_t wgrad_frame_floats(const wgrad_direct_plan *plan, const wgrad_frame *frame)
{
    const int64_t *count = frame->count, *positions = plan->positions;
    return plan->lanes * ((frame->images - 1) * plan->image_positions +
                          ((count[0] - 1) * positions[1] + count[1] - 1) * positions[2] + count[2]);
}

bool ry_wgrad_direct_takes(const ry_problem *problem);
RY_FORM_FUNCTIONS(ry_wgrad_direct);

#endif
