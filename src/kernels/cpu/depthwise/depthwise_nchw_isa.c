/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel: depthwise convolution with pixels side by side in memory (depthwise_nchw_plan.h). */
#include "base/integer.h"
#include "kernels/cpu/depthwise/depthwise_plane.h"
#include "kernels/cpu/depthwise/depthwise_problem.h"
#include "kernels/cpu/depthwise/depthwise_rotating.h"
#include "kernels/cpu/parts/activation.h"
#include "kernels/cpu/parts/conv_kernel.h"
#include "kernels/cpu/simd/simd.h"

static void activate_rows(const depthwise_nchw_plan *plan, const depthwise_plane *p,
                          ry_activation_of activation)
{
    const int64_t step = plan->phase.y_step[1];
    RY_ISA_SYMBOL(activate_rows)
    (activation, p->y + p->first_row * step, step, p->end_row - p->first_row,
     plan->geometry.out[2]);
}

/* A pass over slice z of y: tap `tap` of the depth, which reads slice `from` of x. */
typedef struct pass {
    int64_t image, z, from, tap;
    bool first, last; /* first and last slice of the sum */
    ry_activation_of activation;
    bool bounded; /* the activation is these bounds */
    float low, high;
} pass;

static void set_plane(const ry_cpu_launch *launch, const pass *at, int64_t k, depthwise_plane *p)
{
    const depthwise_nchw_plan *plan = launch->state;
    const ry_conv_geometry *g = &plan->geometry;
    const ry_conv_phase *steps = &plan->phase;
    const float *packed = (const float *)launch->packed + k * (g->taps + 1);
    const int64_t channel = plan->multiplier == 1 ? k : k / plan->multiplier;
    p->x = (const float *)launch->in[0] + at->image * g->x_batch + at->from * g->x_step[0] +
           channel * g->x_channel;
    p->y = (float *)launch->out[0] + at->image * g->y_batch + at->z * steps->y_step[0] +
           k * g->y_channel;
    p->residual = NULL;
    if (!at->first) {
        p->residual = p->y;
        p->residual_row = steps->y_step[1];
    } else if (ry_problem_has_input(launch->problem, 3)) {
        p->residual = (const float *)launch->in[3] + at->image * g->r_batch +
                      at->z * steps->r_step[0] + k * g->r_channel;
        p->residual_row = steps->r_step[1];
    }
    p->weight = packed + at->tap * g->kernel[1] * g->kernel[2];
    p->bias = at->first ? packed[g->taps] : 0;
    p->low = at->last ? at->low : -__builtin_inff();
    p->high = at->last ? at->high : __builtin_inff();
}

/* Channels [first, end) in one pass; p: the rows. */
static void run_pass(const ry_cpu_launch *launch, const pass *at, int64_t first, int64_t end,
                     depthwise_plane p[2])
{
    const depthwise_nchw_plan *plan = launch->state;
    depthwise_rotating rotating;
    if (plan->seven_rows) {
        set_plane(launch, at, first, &p[0]);
        RY_ISA_SYMBOL(depthwise_nchw_seven_rows)(plan, p, end - first);
        return;
    }
    if (plan->rotates) {
        set_plane(launch, at, first, &p[0]);
        RY_ISA_SYMBOL(depthwise_rotating_make)(plan, p, &rotating);
    }
    for (int64_t k = first; k < end; k += 1 + plan->two_planes) {
        set_plane(launch, at, k, &p[0]);
        if (plan->two_planes) {
            /* the last of an odd number goes with itself */
            set_plane(launch, at, k + 1 < end ? k + 1 : k, &p[1]);
            RY_ISA_SYMBOL(depthwise_nchw_two_planes)(plan, p);
        } else if (plan->rotates) {
            RY_ISA_SYMBOL(depthwise_rotating_plane)(&rotating, p);
        } else {
            RY_ISA_SYMBOL(depthwise_nchw_strips)(plan, p);
        }
        for (int i = 0; at->last && !at->bounded && i <= (plan->two_planes && k + 1 < end); i++) {
            activate_rows(plan, &p[i], at->activation);
        }
    }
}

static void run(const ry_cpu_launch *launch, size_t task)
{
    const depthwise_nchw_plan *plan = launch->state;
    const ry_conv_geometry *g = &plan->geometry;
    ry_cut_range range[RY_CUT_AXES];
    ry_cut_task(&plan->cut, task, range);
    /* a plane's passes follow each other */
    const int64_t channels = g->kernel[0] == 1 ? plan->channels : 1 + plan->two_planes;
    const int64_t first = range[1].first, end = first + range[1].count;
    depthwise_plane p[2] = {
        {.first_row = range[2].first, .end_row = range[2].first + range[2].count}};
    pass at = {.image = range[0].first, .activation = ry_conv_activation(launch->problem)};
    at.bounded = ry_activation_bounds(at.activation, &at.low, &at.high);
    p[1] = p[0];
    for (int64_t k = first; k < end; k += channels) {
        for (at.z = 0; at.z < g->out[0]; at.z++) {
            const ry_window_range passes = ry_depthwise_nchw_passes(g, at.z);
            for (at.tap = passes.begin; at.tap < passes.end; at.tap++) {
                at.from = at.z * g->stride[0] - g->before[0] + at.tap * g->dilation[0];
                at.first = at.tap == passes.begin;
                at.last = at.tap + 1 == passes.end;
                run_pass(launch, &at, k, ry_min(k + channels, end), p);
            }
        }
    }
}

/* The weights of a tap of the depth, as depthwise_plane has them. */
static float *pack_window(const ry_cpu_launch *launch, int64_t k, int64_t t, float *to)
{
    const depthwise_nchw_plan *plan = launch->state;
    const ry_conv_geometry *g = &plan->geometry;
    for (int64_t first = 0, end; first < g->kernel[1]; first = end) {
        end = first + depthwise_nchw_tap_rows(g->kernel[1] - first);
        for (int64_t s = 0; s < g->kernel[2]; s++) {
            for (int64_t r = first; r < end; r++) {
                *to++ = ry_depthwise_weight(launch, g, k, 0, t, r, s);
            }
        }
    }
    return to;
}

/* Packs a channel: the weights of each depth tap, then the bias. */
static void pack(const ry_cpu_launch *launch, size_t task)
{
    const depthwise_nchw_plan *plan = launch->state;
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t k = (int64_t)task;
    float *to = (float *)launch->packed_out + k * (g->taps + 1);
    for (int64_t t = 0; t < g->kernel[0]; t++) {
        to = pack_window(launch, k, t, to);
    }
    *to = ry_depthwise_bias(launch, k);
}

/* Full vectors of pixels, or of two planes' pixels. */
RY_CONV_KERNELS(depthwise_nchw, .applicable = ry_depthwise_nchw_suits,
                .knobs = ry_depthwise_nchw_knobs, .knob_count = NCHW_KNOBS,
                .values = ry_depthwise_nchw_values, .prepare = ry_depthwise_nchw_prepare,
                .initialise = ry_depthwise_nchw_initialise, .pack = pack, .run = run,
                .packed_inputs = 1u << 1 | 1u << 2, .packing = ry_depthwise_nchw_packing);
