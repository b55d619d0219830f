/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel: the weight gradient of depthwise convolutions and of groups of few channels
 * (wgrad_direct_plan.h). */
#include "base/integer.h"
#include "base/room.h"
#include "kernels/cpu/parts/cpu_kernel.h"
#include "kernels/cpu/simd/simd.h"
#include "kernels/cpu/wgrad/wgrad_correlate.h"
#include "kernels/cpu/wgrad/wgrad_direct_plan.h"
#include "kernels/cpu/wgrad/wgrad_frame.h"

#include <math.h>

typedef struct direct_task {
    const wgrad_direct_plan *plan;
    const float *x, *dy;
    const int64_t *shift; /* shift of each tap */
    float *x_frames, *dy_frames, *sums, *bias;
    int64_t unit, units; /* whose sums are computed at once */
    int64_t inputs, outputs;
    float *dw, *db; /* dense: [output channel][input channel][tap] */
} direct_task;

/* Channels of a unit that there are. */
static int64_t lanes_of(const wgrad_direct_plan *plan, int64_t unit)
{
    return ry_min(plan->lanes, plan->shape.groups * plan->shape.k - unit * plan->lanes);
}

static void fill(const direct_task *t, const wgrad_frame *frame)
{
    const wgrad_direct_plan *plan = t->plan;
    const wgrad_shape *s = &plan->shape;
    for (int64_t i = 0; i < t->units * t->inputs; i++) {
        const int64_t unit = t->unit + i / t->inputs, channel = i % t->inputs;
        RY_ISA_SYMBOL(wgrad_fill_x)
        (plan, frame, lanes_of(plan, unit), channel,
         t->x + (plan->lanes > 1 ? unit * plan->lanes : unit * s->c + channel) * s->x.channel,
         t->x_frames + i * plan->frames * plan->frame);
    }
    for (int64_t i = 0; i < t->units * t->outputs; i++) {
        const int64_t unit = t->unit + i / t->outputs;
        RY_ISA_SYMBOL(wgrad_fill_dy)
        (plan, frame, lanes_of(plan, unit),
         t->dy +
             (plan->lanes > 1 ? unit * plan->lanes : unit * s->k + i % t->outputs) * s->dy.channel,
         t->dy_frames + i * plan->frame);
    }
}

/* Multiplies each output channel by each input channel of its unit. */
static void multiply(const direct_task *t, const wgrad_frame *frame)
{
    const wgrad_direct_plan *plan = t->plan;
    const int64_t taps = plan->shape.taps,
                  vectors = ry_ceil_div(wgrad_frame_floats(plan, frame), RY_W);
    for (int64_t i = 0; i < t->units * t->outputs; i++) {
        const float *dy = t->dy_frames + i * plan->frame;
        for (int64_t input = 0; input < t->inputs; input++) {
            RY_ISA_SYMBOL(wgrad_correlate)
            (dy, t->x_frames + (i / t->outputs * t->inputs + input) * plan->frames * plan->frame,
             t->shift, taps, vectors, t->sums + (i * t->inputs + input) * taps * RY_W);
        }
        ry_vf sum = ry_vf_load(t->bias + i * RY_W);
        for (int64_t j = 0; plan->shape.bias && j < vectors; j++) {
            sum = ry_vf_add(sum, ry_vf_load(dy + j * RY_W));
        }
        ry_vf_store(t->bias + i * RY_W, sum);
    }
}

/* Lanes that are positions are added up; lanes that are channels go to theirs. */
static void put_sums(const direct_task *t)
{
    const wgrad_direct_plan *plan = t->plan;
    const int64_t taps = plan->shape.taps;
    for (int64_t i = 0; i < t->units * t->outputs; i++) {
        const int64_t unit = t->unit + i / t->outputs, lanes = lanes_of(plan, unit),
                      channel =
                          plan->lanes > 1 ? unit * plan->lanes : unit * t->outputs + i % t->outputs;
        const int64_t rows = t->inputs * taps;
        const float *sums = t->sums + i * rows * RY_W, *bias = t->bias + i * RY_W;
        for (int64_t row = 0; plan->lanes == 1 && row < rows; row++) {
            t->dw[channel * rows + row] = ry_vf_sum(ry_vf_load(sums + row * RY_W));
        }
        if (plan->lanes == 1) {
            t->db[channel] = ry_vf_sum(ry_vf_load(bias));
            continue;
        }
        for (int64_t lane = 0; lane < lanes; lane++) {
            for (int64_t row = 0; row < rows; row++) {
                t->dw[(channel + lane) * rows + row] = sums[row * RY_W + lane];
            }
            t->db[channel + lane] = bias[lane];
        }
    }
}

/* From positions alone, in the order of memory. */
static float sum_of_positions(const wgrad_shape *s, const ry_cpu_launch *launch, int64_t k,
                              int64_t c, int64_t tap)
{
    const float *x = (const float *)launch->in[0] + (k / s->k * s->c + c) * s->x.channel,
                *dy = (const float *)launch->in[1] + k * s->dy.channel;
    int64_t at[WGRAD_SPACE];
    ry_window_range range[WGRAD_SPACE];
    wgrad_tap_at(s, tap, at);
    for (int i = 0; i < WGRAD_SPACE; i++) {
        range[i] = wgrad_valid_range(&s->axis[i], at[i]);
        x += ry_window_at(&s->axis[i], 0, at[i]) * s->x.step[i];
    }
    float sum = 0;
    for (int64_t n = 0; n < s->images; n++) {
        for (int64_t d = range[0].begin; d < range[0].end; d++) {
            for (int64_t h = range[1].begin; h < range[1].end; h++) {
                for (int64_t w = range[2].begin; w < range[2].end; w++) {
                    sum += x[n * s->x.image + d * s->axis[0].stride * s->x.step[0] +
                             h * s->axis[1].stride * s->x.step[1] +
                             w * s->axis[2].stride * s->x.step[2]] *
                           dy[n * s->dy.image + d * s->dy.step[0] + h * s->dy.step[1] +
                              w * s->dy.step[2]];
                }
            }
        }
    }
    return sum;
}

/* Output channels [begin, end) of dense sums, to where the problem has them. */
static void store(const wgrad_direct_plan *plan, const ry_cpu_launch *launch, int64_t begin,
                  int64_t end, const float *dw, const float *db)
{
    const wgrad_shape *s = &plan->shape;
    for (int64_t k = begin; k < end; k++) {
        for (int64_t i = 0; i < s->c * s->taps; i++) {
            const float sum = dw[k * s->c * s->taps + i];
            const int64_t c = i / s->taps, tap = i % s->taps;
            ((float *)launch->out[0])[k * s->dw_k + c * s->dw_c + ry_wgrad_tap_offset(s, tap)] =
                isfinite(sum) ? sum : sum_of_positions(s, launch, k, c, tap);
        }
        if (s->bias) {
            ((float *)launch->out[1])[k * s->db_step] = db[k];
        }
    }
}

/* Units [unit, unit + units) over the blocks of a part. */
static void run_units(direct_task *t, int64_t unit, int64_t units, int64_t begin, int64_t end)
{
    const wgrad_direct_plan *plan = t->plan;
    t->unit = unit;
    t->units = units;
    memset(t->sums, 0,
           (size_t)(units * t->outputs * t->inputs * plan->shape.taps * RY_W) * sizeof *t->sums);
    memset(t->bias, 0, (size_t)(units * t->outputs * RY_W) * sizeof *t->bias);
    for (int64_t block = begin; block < end; block++) {
        const wgrad_frame frame = ry_wgrad_frame_of(plan, block);
        fill(t, &frame);
        multiply(t, &frame);
    }
    put_sums(t);
}

/* Output channels of some units. */
static ry_window_range channels_of(const wgrad_direct_plan *plan, ry_cut_range units)
{
    const int64_t each = plan->lanes > 1 ? plan->lanes : plan->shape.k;
    return (ry_window_range){units.first * each, ry_min((units.first + units.count) * each,
                                                        plan->shape.groups * plan->shape.k)};
}

static void multiply_part(const ry_cpu_launch *launch, size_t index)
{
    const wgrad_direct_plan *plan = launch->state;
    char *scratch = launch->scratch;
    ry_cut_range range[RY_CUT_AXES];
    ry_cut_task(&plan->tasks[0], index, range);
    const int64_t part = range[0].first, blocks = ry_cut_tasks(&plan->blocks);
    float *sums = (float *)launch->workspace + part * plan->part_floats;
    direct_task t = {.plan = plan,
                     .x = launch->in[0],
                     .dy = launch->in[1],
                     .shift = wgrad_direct_shifts(plan),
                     .x_frames = RY_AT(float, scratch, plan->x),
                     .dy_frames = RY_AT(float, scratch, plan->dy),
                     .sums = RY_AT(float, scratch, plan->sums),
                     .bias = RY_AT(float, scratch, plan->bias),
                     .inputs = plan->shape.c,
                     .outputs = wgrad_unit_outputs(plan),
                     .dw = sums,
                     .db = sums + plan->outputs};
    const int64_t begin = part * blocks / plan->parts, end = (part + 1) * blocks / plan->parts;
    const int64_t last = range[1].first + range[1].count,
                  step = plan->lanes > 1 ? range[1].count : 1;
    for (int64_t unit = range[1].first; unit < last; unit += step) {
        run_units(&t, unit, ry_min(step, last - unit), begin, end);
    }
    if (plan->parts == 1) {
        const ry_window_range k = channels_of(plan, range[1]);
        store(plan, launch, k.begin, k.end, t.dw, t.db);
    }
}

/* Pairs, then pairs of pairs, ...: an order of sums that depends on the number of parts alone. The
 * first part's place has them all. */
static void add_parts(const wgrad_direct_plan *plan, float *sums, int64_t count)
{
    for (int64_t apart = 1; apart < plan->parts; apart *= 2) {
        for (int64_t part = 0; part + apart < plan->parts; part += 2 * apart) {
            float *to = sums + part * plan->part_floats, *from = to + apart * plan->part_floats;
            for (int64_t i = 0; i < count; i++) {
                to[i] += from[i];
            }
        }
    }
}

static void run(const ry_cpu_launch *launch, size_t task)
{
    const wgrad_direct_plan *plan = launch->state;
    if (launch->phase == 0) {
        multiply_part(launch, task);
        return;
    }
    ry_cut_range units[RY_CUT_AXES];
    ry_cut_task(&plan->tasks[1], task, units);
    const ry_window_range k = channels_of(plan, units[0]);
    const int64_t row = plan->shape.c * plan->shape.taps;
    float *dw = launch->workspace, *db = dw + plan->outputs;
    add_parts(plan, dw + k.begin * row, (k.end - k.begin) * row);
    add_parts(plan, db + k.begin, k.end - k.begin);
    store(plan, launch, k.begin, k.end, dw, db);
}

RY_CPU_KERNEL(conv_bwd_weights_f32_direct, conv, strict, .simd = RY_SIMD,
              .applicable = ry_wgrad_direct_takes, .knobs = ry_wgrad_direct_knobs,
              .knob_count = WGRAD_DIRECT_KNOBS, .values = ry_wgrad_direct_values,
              .prepare = ry_wgrad_direct_prepare, .initialise = ry_wgrad_direct_initialise,
              .run = run);
