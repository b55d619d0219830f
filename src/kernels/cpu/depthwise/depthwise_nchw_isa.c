/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel: depthwise convolution with pixels side by side in memory (depthwise_nchw_plan.h). */
#include "base/whole.h"
#include "kernels/cpu/common/simd.h"
#include "kernels/cpu/conv/activation.h"
#include "kernels/cpu/conv/conv_kernel.h"
#include "kernels/cpu/depthwise/depthwise_nchw.h"
#include "kernels/cpu/depthwise/depthwise_problem.h"
#include "kernels/cpu/depthwise/depthwise_roll.h"

static void activate_rows(const depthwise_nchw_plan *plan, const depthwise_plane *p, ry_activation_of activation)
{
    const int64_t step = plan->phase.y_step[1];
    RY_ISA_SYMBOL(ry_activate_rows)(activation, p->y + p->first_row * step, step, p->end_row - p->first_row, plan->geometry.out[2]);
}

static void set_plane(const ry_cpu_launch *launch, int64_t image, int64_t k, depthwise_plane *p)
{
    const depthwise_nchw_plan *plan = launch->state;
    const ry_conv_geometry *g = &plan->geometry;
    p->x = (const float *)launch->in[0] + image * g->x_batch + (plan->multiplier == 1 ? k : k / plan->multiplier) * g->x_channel;
    p->y = (float *)launch->out[0] + image * g->y_batch + k * g->y_channel;
    p->residual = ry_problem_has_input(launch->problem, 3) ? (const float *)launch->in[3] + image * g->r_batch + k * g->r_channel : NULL;
    p->weight = (const float *)launch->packed + k * (g->taps + 1);
    p->bias = p->weight[g->taps];
}

static void run(const ry_cpu_launch *launch, int phase, size_t task, unsigned worker)
{
    (void)phase;
    (void)worker;
    const depthwise_nchw_plan *plan = launch->state;
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t index = (int64_t)task, rows = index % plan->row_blocks, part = index / plan->row_blocks % plan->channel_blocks;
    const int64_t image = index / plan->row_blocks / plan->channel_blocks;
    const int64_t first = part * plan->channels, end_row = (rows + 1) * plan->rows;
    const int64_t end = first + plan->channels < plan->outputs ? first + plan->channels : plan->outputs;
    const ry_activation_of activation = ry_conv_activation(launch->problem);
    depthwise_plane p[2] = {{.first_row = rows * plan->rows, .end_row = end_row < g->out[1] ? end_row : g->out[1]}};
    const bool bounds = ry_activation_bounds(activation, &p[0].low, &p[0].high);
    p[1] = p[0];
    if (plan->sevens) {
        set_plane(launch, image, first, &p[0]);
        RY_ISA_SYMBOL(depthwise_nchw_sevens)(plan, p, end - first);
        return;
    }
    depthwise_roll roll;
    if (plan->rolls) {
        set_plane(launch, image, first, &p[0]);
        RY_ISA_SYMBOL(depthwise_roll_make)(plan, p, &roll);
    }
    for (int64_t k = first; k < end; k += 1 + plan->paired) {
        set_plane(launch, image, k, &p[0]);
        if (plan->paired) {
            /* the last of an odd number goes with itself */
            set_plane(launch, image, k + 1 < end ? k + 1 : k, &p[1]);
            RY_ISA_SYMBOL(depthwise_nchw_pair)(plan, p);
        } else if (plan->rolls) {
            RY_ISA_SYMBOL(depthwise_roll_plane)(&roll, p);
        } else {
            RY_ISA_SYMBOL(depthwise_nchw_strips)(plan, p);
        }
        for (int i = 0; !bounds && i <= (plan->paired && k + 1 < end); i++) {
            activate_rows(plan, &p[i], activation);
        }
    }
}

/* Of a channel: the weights as depthwise_plane has them, then the bias. */
static void pack(const ry_cpu_launch *launch, size_t task)
{
    const depthwise_nchw_plan *plan = launch->state;
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t k = (int64_t)task;
    float *to = (float *)launch->packed_out + k * (g->taps + 1);
    for (int64_t first = 0, end; first < g->kernel[1]; first = end) {
        end = first + depthwise_nchw_turn(g->kernel[1] - first);
        for (int64_t s = 0; s < g->kernel[2]; s++) {
            for (int64_t r = first; r < end; r++) {
                *to++ = depthwise_weight(launch, g, k, 0, 0, r, s);
            }
        }
    }
    *to = depthwise_bias(launch, k);
}

static rynd_status prepare(const ry_problem *problem, ry_prepared *prepared, ry_error *error)
{
    const size_t size = depthwise_nchw_plan_size(problem, RY_W);
    depthwise_nchw_plan *plan = ry_allocate(&ry_system_allocator, size);
    if (!plan) {
        return ry_fail_memory(error);
    }
    depthwise_nchw_plan_make(problem, RY_W, plan);
    *prepared = (ry_prepared){.phases = 1,
                              .tasks = {(size_t)plan->tasks},
                              .state = ry_aligned(size),
                              .packed = ry_aligned((size_t)(plan->outputs * (plan->geometry.taps + 1)) * sizeof(float)),
                              .pack_tasks = (size_t)plan->outputs,
                              .work = plan->cycles * 2 * RY_W,
                              .knob_count = 2,
                              .knobs = {{"rows", plan->rows}, {"channels", plan->channels}}};
    ry_release(&ry_system_allocator, plan);
    return RYND_OK;
}

static void initialise(const ry_problem *problem, const ry_prepared *prepared, void *state)
{
    (void)prepared;
    depthwise_nchw_plan_make(problem, RY_W, state);
}

/* Whole vectors of pixels, or of two planes' pixels. */
static ry_counts counts(const ry_problem *problem, const ry_prepared *prepared)
{
    (void)prepared;
    ry_conv_geometry g;
    ry_conv_geometry_of(problem, &g, NULL, NULL);
    const int64_t row = 2 * g.out[2] <= RY_W && g.in[2] <= RY_W ? RY_W / 2 : (g.out[2] + RY_W - 1) / RY_W * RY_W;
    return (ry_counts){2.0 * (double)(g.batch * g.groups * g.channels_out * g.out[1]) * (double)(row * g.taps), ry_problem_bytes(problem)};
}

RY_CONV_KERNELS(depthwise_nchw, 109, .applicable = depthwise_nchw_suits, .prepare = prepare, .initialise = initialise, .pack = pack,
                .run = run, .counts = counts, .constant_inputs = 1u << 1 | 1u << 2);
