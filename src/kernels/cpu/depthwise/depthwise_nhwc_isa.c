/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel: depthwise convolution with channels side by side in memory (depthwise_nhwc_plan.h). */
#include "kernels/cpu/conv/activation.h"
#include "kernels/cpu/conv/lanes.h"
#include "kernels/cpu/depthwise/depthwise_nhwc.h"
#include "kernels/cpu/depthwise/depthwise_problem.h"

#include <assert.h>

/* A task on its way. */
typedef struct work {
    const depthwise_nhwc_plan *plan;
    const ry_cpu_launch *launch;
    int64_t image, channel, channels; /* first output channel and how many */
    ry_activation_of activation;
    float *zeros, *nobody, *sums, *ring;
    const float **table;
    int32_t lanes[RY_W * RY_W]; /* lanes_of for each turn, where a group has few output channels */
    int64_t staged_end;         /* rows of x before it are in the ring, or were */
} work;

RY_INLINE ry_vf load_left(ry_dtype dtype, const char *x, int64_t left)
{
    return ry_load_some(dtype, x, ry_vm_first(left));
}

/* Which of the channels from its first one's group on the lanes of a vector read, where it begins at output channel `turn` of the group. */
static ry_vi lanes_of(const work *w, int64_t turn)
{
    const int64_t each = w->plan->multiplier, depth = w->plan->depth;
    if (each <= RY_W) {
        return ry_vi_load(w->lanes + turn * RY_W);
    }
    int32_t lane[RY_W];
    for (int64_t l = 0; l < RY_W; l++) {
        lane[l] = (int32_t)(turn + l >= each ? depth : 0);
    }
    return ry_vi_load(lane);
}

/* One pixel's channels as f32, one an output channel, for each input channel of a group. */
static void stage_pixel(const work *w, const char *x, float *to)
{
    const depthwise_nhwc_plan *plan = w->plan;
    const ry_dtype dtype = ry_type_of(&w->launch->problem->in[0]);
    const int64_t each = plan->multiplier, depth = plan->depth, size = (int64_t)ry_dtype_size(dtype), all = plan->geometry.groups * depth;
    int64_t from = w->channel / each * depth, turn = w->channel % each;
    for (int64_t i = 0; i < w->channels; i += RY_W) {
        const ry_vf low = load_left(dtype, x + from * size, all - from);
        if (each == 1 && depth == 1) {
            ry_vf_store_first(to + i, w->channels - i, low);
            from += RY_W;
            continue;
        }
        const ry_vf high = all - from > RY_W ? load_left(dtype, x + (from + RY_W) * size, all - from - RY_W) : low;
        const ry_vi lanes = lanes_of(w, turn);
        for (int64_t d = 0; d < depth; d++) {
            const ry_vf v = ry_vf_pick(low, high, ry_vi_add(lanes, ry_vi_set((int32_t)d)), ry_vm_first(RY_W));
            ry_vf_store(to + d * plan->plane + i, v); /* the ring has whole vectors */
        }
        turn += RY_W;
        from += turn / each * depth;
        turn %= each;
    }
}

static void stage_rows(work *w, int64_t first, int64_t end)
{
    const ry_conv_geometry *g = &w->plan->geometry;
    const int64_t size = (int64_t)ry_dtype_size(ry_type_of(&w->launch->problem->in[0]));
    first = first > w->staged_end ? first : w->staged_end;
    end = end < g->in[1] ? end : g->in[1];
    for (int64_t y = first < 0 ? 0 : first; y < end; y++) {
        const char *x = (const char *)w->launch->in[0] + (w->image * g->x_batch + y * g->x_step[1]) * size;
        float *to = w->ring + y % w->plan->ring * g->in[2] * w->plan->channels;
        for (int64_t i = 0; i < g->in[2]; i++) {
            stage_pixel(w, x + i * g->x_step[2] * size, to + i * w->plan->channels);
        }
    }
    w->staged_end = end > w->staged_end ? end : w->staged_end;
}

/* Where a pixel of x is, at the task's first channel. */
static const float *address(const work *w, int64_t y, int64_t x)
{
    const ry_conv_geometry *g = &w->plan->geometry;
    if (y < 0 || y >= g->in[1] || x < 0 || x >= g->in[2]) {
        return w->zeros;
    }
    if (w->plan->staged) {
        return w->ring + (y % w->plan->ring * g->in[2] + x) * w->plan->channels;
    }
    return (const float *)w->launch->in[0] + w->image * g->x_batch + y * g->x_step[1] + x * g->x_step[2] + w->channel;
}

/* Returns the number of its entries. */
static int64_t make_table(const work *w, int64_t row, int64_t column, int64_t height)
{
    const depthwise_nhwc_plan *plan = w->plan;
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t y = row * g->stride[1] - plan->before[0], x = column * g->stride[2] - plan->before[1];
    const float **to = w->table;
    if (plan->window) {
        const int64_t reach = (plan->pixels - 1) * g->stride[2] + plan->window;
        const int64_t rows = (height - 1) * g->stride[1] + g->kernel[1];
        for (int64_t j = 0; j < rows; j++) {
            for (int64_t q = 0; q < reach; q++) {
                *to++ = address(w, y + j * plan->dilation[0], x + q);
            }
        }
        return to - w->table;
    }
    for (int64_t r = 0; r < g->kernel[1]; r++) {
        for (int64_t s = 0; s < g->kernel[2]; s++) {
            for (int64_t p = 0; p < plan->pixels; p++) {
                *to++ = address(w, y + r * plan->dilation[0], x + p * g->stride[2] + s * plan->dilation[1]);
            }
        }
    }
    return to - w->table;
}

/* Residual, activation, conversion of one pixel's sums. */
static void finish_pixel(const work *w, int64_t row, int64_t column, float *sum)
{
    const ry_problem *problem = w->launch->problem;
    const ry_conv_geometry *g = &w->plan->geometry;
    const ry_conv_phase *at = &w->plan->phase;
    if (ry_problem_has_input(problem, 3)) {
        const ry_dtype dtype = ry_type_of(&problem->in[3]);
        const int64_t size = (int64_t)ry_dtype_size(dtype);
        const char *r =
            (const char *)w->launch->in[3] + (w->image * g->r_batch + row * at->r_step[1] + column * at->r_step[2] + w->channel) * size;
        for (int64_t i = 0; i < w->channels; i += RY_W) {
            const ry_vf x = ry_load_some(dtype, r + i * size, ry_vm_first(w->channels - i));
            ry_vf_store(sum + i, ry_vf_add(ry_vf_load(sum + i), x));
        }
    }
    RY_ISA_SYMBOL(ry_activate)(w->activation, sum, w->channels);
    const ry_dtype dtype = ry_type_of(&problem->out[0]);
    const int64_t y = w->image * g->y_batch + row * at->y_step[1] + column * at->y_step[2] + w->channel;
    if (dtype == RY_f32) {
        memcpy((float *)w->launch->out[0] + y, sum, (size_t)w->channels * sizeof *sum);
        return;
    }
    uint16_t *to = (uint16_t *)w->launch->out[0] + y;
    for (int64_t i = 0; i < w->channels; i += RY_W) {
        const ry_vm m = ry_vm_first(w->channels - i);
        if (dtype == RY_f16) {
            ry_vf_store_f16_m(to + i, m, ry_vf_load(sum + i));
        } else {
            ry_vf_store_bf16_m(to + i, m, ry_vf_load(sum + i));
        }
    }
}

/* Where a block writes. */
static void set_outputs(const work *w, depthwise_block *b, int64_t row, int64_t column, int64_t height)
{
    const depthwise_nhwc_plan *plan = w->plan;
    const ry_conv_phase *at = &plan->phase;
    float *y = (float *)w->launch->out[0] + w->image * plan->geometry.y_batch + w->channel;
    const int64_t pixels = plan->pixels, left = plan->geometry.out[2] - column;
    for (int64_t i = 0; i < height; i++) {
        float *to = y + (row + i) * at->y_step[1] + column * at->y_step[2];
        for (int64_t p = 0; p < pixels; p++, to += at->y_step[2]) {
            b->to[i * pixels + p] = p >= left ? w->nobody : plan->through ? w->sums + (i * pixels + p) * plan->channels : to;
        }
    }
}

/* Does the block read nothing but x? */
static bool is_inside(const work *w, int64_t row, int64_t column, int64_t height)
{
    const depthwise_nhwc_plan *plan = w->plan;
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t y = row * g->stride[1] - plan->before[0], x = column * g->stride[2] - plan->before[1];
    const int64_t last_y = y + (height - 1) * g->stride[1] + (g->kernel[1] - 1) * plan->dilation[0];
    const int64_t last_x = x + (plan->pixels - 1) * g->stride[2] + (g->kernel[2] - 1) * plan->dilation[1];
    return y >= 0 && x >= 0 && last_y < g->in[1] && last_x < g->in[2];
}

static void move_table(const work *w, int64_t entries)
{
    const ry_conv_geometry *g = &w->plan->geometry;
    const int64_t pixel = w->plan->staged ? w->plan->channels : g->x_step[2], step = w->plan->pixels * g->stride[2] * pixel;
    for (int64_t i = 0; i < entries; i++) {
        w->table[i] += step;
    }
}

static void run_row(const work *w, depthwise_block *b, int64_t row, int64_t height)
{
    const depthwise_nhwc_plan *plan = w->plan;
    const ry_conv_geometry *g = &plan->geometry;
    bool inside = false;
    int64_t entries = 0;
    for (int64_t column = 0; column < g->out[2]; column += plan->pixels) {
        const bool still = inside;
        inside = is_inside(w, row, column, height);
        if (still && inside) {
            move_table(w, entries);
        } else {
            entries = make_table(w, row, column, height);
        }
        set_outputs(w, b, row, column, height);
        RY_ISA_SYMBOL(depthwise_nhwc_block)(b, plan->window, g->stride[2], height, plan->pixels);
        for (int64_t i = 0; plan->through && i < height * plan->pixels; i++) {
            if (b->to[i] != w->nobody) {
                assert(b->to[i]); /* set_outputs sets them all */
                finish_pixel(w, row + i / plan->pixels, column + i % plan->pixels, b->to[i]);
            }
        }
    }
}

static void run_channels(work *w, int64_t first_row, int64_t end_row)
{
    const depthwise_nhwc_plan *plan = w->plan;
    const ry_conv_geometry *g = &plan->geometry;
    const float *packed = w->launch->packed;
    depthwise_block b = {.x = w->table,
                         .weight = packed + w->channel,
                         .bias = packed + plan->depth * g->taps * plan->packed_step + w->channel,
                         .packed_step = plan->packed_step,
                         .taps = g->taps,
                         .channels = w->channels,
                         .depth = plan->depth,
                         .plane = plan->plane,
                         .low = -__builtin_inff(),
                         .high = __builtin_inff()};
    if (!plan->through) {
        ry_activation_bounds(w->activation, &b.low, &b.high);
    }
    w->staged_end = 0;
    for (int64_t row = first_row; row < end_row;) {
        const int64_t height = end_row - row < plan->height ? end_row - row : plan->height;
        if (plan->staged) {
            const int64_t first = row * g->stride[1] - plan->before[0];
            stage_rows(w, first, first + (height - 1) * g->stride[1] + (g->kernel[1] - 1) * plan->dilation[0] + 1);
        }
        run_row(w, &b, row, height);
        row += height;
    }
}

static void run(const ry_cpu_launch *launch, int phase, size_t task, unsigned worker)
{
    (void)phase;
    const depthwise_nhwc_plan *plan = launch->state;
    const ry_conv_geometry *g = &plan->geometry;
    char *scratch = launch->scratch + worker * launch->prepared->scratch;
    const int64_t index = (int64_t)task, part = index % plan->channel_parts, rows = index / plan->channel_parts % plan->row_blocks;
    work w = {.plan = plan,
              .launch = launch,
              .image = index / plan->channel_parts / plan->row_blocks,
              .activation = ry_conv_activation(launch->problem),
              .zeros = (float *)(void *)scratch,
              .nobody = (float *)(void *)scratch + plan->channels,
              .sums = (float *)(void *)(scratch + plan->sums),
              .ring = (float *)(void *)(scratch + plan->ring_at),
              .table = (const float **)(void *)(scratch + plan->table)};
    for (int64_t i = 0; plan->multiplier <= RY_W && i < plan->multiplier * RY_W; i++) {
        w.lanes[i] = (int32_t)((i / RY_W + i % RY_W) / plan->multiplier * plan->depth);
    }
    for (int64_t d = 0; plan->staged && d < plan->depth; d++) {
        memset(w.ring + (d + 1) * plan->plane - plan->channels, 0, (size_t)plan->channels * sizeof(float));
    }
    if (plan->staged) {
        w.zeros = w.ring + plan->plane - plan->channels;
    }
    memset(w.zeros, 0, (size_t)plan->channels * sizeof *w.zeros);
    const int64_t first = rows * plan->rows, end = first + plan->rows < g->out[1] ? first + plan->rows : g->out[1];
    const int64_t last = (part + 1) * plan->part < plan->outputs ? (part + 1) * plan->part : plan->outputs;
    for (w.channel = part * plan->part; w.channel < last; w.channel += plan->channels) {
        w.channels = last - w.channel < plan->channels ? last - w.channel : plan->channels;
        run_channels(&w, first, end);
    }
}

/* A task packs the weights of one input channel of every group, [tap][output channel]; a last one the bias. */
static void pack(const ry_cpu_launch *launch, size_t task)
{
    const depthwise_nhwc_plan *plan = launch->state;
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t i = (int64_t)task, taps = i < plan->depth ? g->taps : 1;
    float *to = (float *)launch->packed_out + i * g->taps * plan->packed_step;
    memset(to, 0, (size_t)(taps * plan->packed_step) * sizeof *to);
    for (int64_t t = 0; t < taps; t++, to += plan->packed_step) {
        for (int64_t k = 0; k < plan->outputs; k++) {
            to[k] = i < plan->depth ? depthwise_weight(launch, k, i, t / g->kernel[2], t % g->kernel[2]) : depthwise_bias(launch, k);
        }
    }
}

static size_t align(size_t size)
{
    return (size + RY_ALIGNMENT - 1) / RY_ALIGNMENT * RY_ALIGNMENT;
}

static bool applicable(const ry_problem *problem)
{
    return depthwise_nhwc_suits(problem, RY_W);
}

static rynd_status prepare(const ry_problem *problem, ry_prepared *prepared, ry_error *error)
{
    (void)error;
    depthwise_nhwc_plan plan;
    depthwise_nhwc_plan_make(problem, RY_W, &plan);
    *prepared =
        (ry_prepared){.phases = 1,
                      .tasks = {(size_t)plan.tasks},
                      .state = align(sizeof plan),
                      .packed = align((size_t)((plan.depth * plan.geometry.taps + 1) * plan.packed_step) * sizeof(float)),
                      .pack_tasks = (size_t)plan.depth + 1,
                      .scratch = plan.scratch,
                      .knob_count = 4,
                      .knobs = {{"rows", plan.rows}, {"channels", plan.channels}, {"height", plan.height}, {"pixels", plan.pixels}}};
    return RYND_OK;
}

static void initialise(const ry_problem *problem, const ry_prepared *prepared, void *state)
{
    (void)prepared;
    depthwise_nhwc_plan_make(problem, RY_W, state);
}

/* Whole vectors of channels and blocks of pixels. */
static ry_counts counts(const ry_problem *problem, const ry_prepared *prepared)
{
    (void)prepared;
    depthwise_nhwc_plan plan;
    depthwise_nhwc_plan_make(problem, RY_W, &plan);
    const ry_conv_geometry *g = &plan.geometry;
    const int64_t row = (g->out[2] + plan.pixels - 1) / plan.pixels * plan.pixels;
    return (ry_counts){2.0 * (double)(g->batch * g->out[1] * row) * (double)(plan.packed_step * plan.depth * g->taps),
                       ry_problem_bytes(problem)};
}

const ry_kernel RY_ISA_SYMBOL(conv_fwd_f32_depthwise_nhwc) = {.name = "conv_fwd_f32_depthwise_nhwc_" RY_ISA_TEXT,
                                                              .op = RY_OP_conv,
                                                              .device = "cpu",
                                                              .isa = RY_ISA_ID,
                                                              .accuracy = RY_ACCURACY_strict,
                                                              .rank = 108 + 10 * (int)RY_ISA_ID,
                                                              .applicable = applicable,
                                                              .prepare = prepare,
                                                              .initialise = initialise,
                                                              .pack = pack,
                                                              .run = run,
                                                              .counts = counts,
                                                              .constant_inputs = 1u << 1 | 1u << 2};
