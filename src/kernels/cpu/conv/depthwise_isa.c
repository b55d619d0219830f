/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel: depthwise convolution with channels side by side in memory ("nhwc"): vectors lie along channels.
 *
 * One text computes PIXELS neighbouring output pixels of a row for one vector of channels: a loaded input pixel serves every tap of the row
 * that reads it, rows outside the image are left out, and so are pixels outside it: there are no edges apart. */
#include "kernels/cpu/common/isa.h"
#include "kernels/cpu/conv/activation.h"
#include "kernels/cpu/conv/lanes.h"

enum {
    PIXELS = 7,         /* of a block: the widths 7, 14, 28, 56, 112 are whole blocks; with 7 taps and a pixel it fills 16 registers */
    TASK_WORK = 100000, /* multiply-adds of a task at least, where there is so much */
    TASKS_ENOUGH = 48,
};

typedef struct depthwise_plan {
    ry_conv_geometry geometry;
    ry_conv_phase phase;
    int64_t before[2], dilation[2];
    int64_t rows, row_blocks;         /* output rows of a task */
    int64_t channels, channel_blocks; /* channels of a task, whole vectors */
    int64_t packed_step;              /* output channels, rounded up to vectors */
    int64_t outputs;                  /* channels of y; `multiplier` of them read one of x */
    int64_t multiplier;
} depthwise_plan;

static int64_t up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void make_plan(const ry_problem *problem, depthwise_plan *plan)
{
    memset(plan, 0, sizeof *plan);
    ry_conv_geometry *g = &plan->geometry;
    ry_conv_geometry_of(problem, g, NULL, NULL);
    const ry_conv_attrs *attrs = &problem->attrs.conv;
    const int space = problem->in[0].rank - 2;
    for (int i = 0; i < 2; i++) {
        const int listed = i - (2 - space);
        plan->before[i] = listed < 0 ? 0 : ry_ints_get(&attrs->pads, listed, 0);
        plan->dilation[i] = listed < 0 ? 1 : ry_ints_get(&attrs->dilation, listed, 1);
        plan->phase.grid[i + 1] = g->out[i + 1];
        plan->phase.y_step[i + 1] = listed < 0 ? 0 : problem->out[0].stride[listed + 2];
        plan->phase.r_step[i + 1] = listed < 0 || !ry_problem_has_input(problem, 3) ? 0 : problem->in[3].stride[listed + 2];
    }
    plan->multiplier = g->channels_out;
    plan->outputs = g->groups * g->channels_out;
    plan->packed_step = up(plan->outputs, RY_W) * RY_W;
    /* whole rows of all channels where there are enough tasks that way, for they are read in one go */
    const int64_t row_work = g->out[2] * plan->outputs * g->taps;
    plan->rows = least(g->out[1], most(1, up(TASK_WORK, row_work)));
    plan->rows = least(plan->rows, most(1, g->batch * g->out[1] / TASKS_ENOUGH));
    plan->row_blocks = up(g->out[1], plan->rows);
    const int64_t parts = least(up(TASKS_ENOUGH, g->batch * plan->row_blocks), most(1, row_work * plan->rows / TASK_WORK));
    plan->channels = up(up(plan->outputs, parts), RY_W) * RY_W;
    plan->channel_blocks = up(plan->outputs, plan->channels);
}

typedef struct block {
    ry_dtype x_type, y_type, r_type;
    const char *x;       /* the image's row 0, pixel 0, at the block's first channel */
    const float *weight; /* [tap][packed_step] at the block's first channel */
    int64_t packed_step;
    int64_t row_step, pixel_step; /* of x, elements */
    int64_t first_row;            /* read by tap 0, may be outside */
    int64_t row_dilation, rows, height;
    int64_t first_pixel; /* read by tap 0 of the first output pixel */
    int64_t pixels;      /* of a row of x */
    int64_t dilation, width, stride;
    int64_t channels;      /* in this vector; less than a whole one at the end */
    uint8_t lane_at[RY_W]; /* with a multiplier: the channel of x that a lane reads, from the block's first */
    ry_vf bias;
    ry_vf sum[PIXELS];
} block;

/* How a vector of x is read: all its lanes, some of them, or several lanes from one channel. */
typedef struct x_lanes {
    ry_dtype dtype;
    bool repeated;
    bool whole;
    ry_vm mask;
} x_lanes;

RY_INLINE ry_vf load_x(const x_lanes l, const block *b, const char *p)
{
    if (l.repeated) {
        const int64_t size = l.dtype == RY_f32 ? 4 : 2;
        float x[RY_W] = {0};
        for (int64_t i = 0; i < RY_W && i < b->channels; i++) {
            x[i] = ry_load_one(l.dtype, p + b->lane_at[i] * size);
        }
        return ry_vf_load(x);
    }
    return l.whole ? ry_load_whole(l.dtype, p) : ry_load_some(l.dtype, p, l.mask);
}

/* Taps of a row without dilation, `taps` of them, outputs `stride` pixels apart: all constants. */
RY_INLINE void add_row(const x_lanes l, const block *b, const char *row, const float *weight, const int taps, const int stride,
                       ry_vf sum[PIXELS])
{
    const int64_t size = l.dtype == RY_f32 ? 4 : 2;
    ry_vf w[7];
#pragma GCC unroll 8
    for (int s = 0; s < taps; s++) {
        w[s] = ry_vf_load(weight + s * b->packed_step);
    }
    const char *from = row + b->first_pixel * b->pixel_step * size;
#pragma GCC unroll 32
    for (int j = 0; j < (PIXELS - 1) * stride + taps; j++) {
        if ((uint64_t)(b->first_pixel + j) < (uint64_t)b->pixels) {
            const ry_vf x = load_x(l, b, from + j * b->pixel_step * size);
#pragma GCC unroll 8
            for (int i = 0; i < PIXELS; i++) {
                if (j - i * stride >= 0 && j - i * stride < taps) {
                    sum[i] = ry_vf_fma(w[j - i * stride], x, sum[i]);
                }
            }
        }
    }
}

/* Any taps. */
RY_INLINE void add_row_any(const x_lanes l, const block *b, const char *row, const float *weight, ry_vf sum[PIXELS])
{
    const int64_t size = l.dtype == RY_f32 ? 4 : 2;
    for (int64_t s = 0; s < b->width; s++) {
        const ry_vf w = ry_vf_load(weight + s * b->packed_step);
        const int64_t first = b->first_pixel + s * b->dilation;
#pragma GCC unroll 8
        for (int i = 0; i < PIXELS; i++) {
            const int64_t at = first + i * b->stride;
            if ((uint64_t)at < (uint64_t)b->pixels) {
                sum[i] = ry_vf_fma(w, load_x(l, b, row + at * b->pixel_step * size), sum[i]);
            }
        }
    }
}

RY_INLINE void sum_block(const ry_dtype dtype, const bool repeated, block *b)
{
    const int64_t size = dtype == RY_f32 ? 4 : 2;
    const x_lanes l = {dtype, repeated, b->channels >= RY_W, ry_vm_first(b->channels)};
    ry_vf sum[PIXELS];
#pragma GCC unroll 8
    for (int i = 0; i < PIXELS; i++) {
        sum[i] = b->bias;
    }
    const int64_t form = b->dilation == 1 && b->stride <= 2 ? b->width * 2 + b->stride - 1 : 0;
    for (int64_t r = 0; r < b->height; r++) {
        const int64_t y = b->first_row + r * b->row_dilation;
        if (y < 0 || y >= b->rows) {
            continue;
        }
        const char *row = b->x + y * b->row_step * size;
        const float *weight = b->weight + r * b->width * b->packed_step;
        switch (form) {
        case 6: add_row(l, b, row, weight, 3, 1, sum); break;
        case 7: add_row(l, b, row, weight, 3, 2, sum); break;
        case 10: add_row(l, b, row, weight, 5, 1, sum); break;
        case 11: add_row(l, b, row, weight, 5, 2, sum); break;
        case 14: add_row(l, b, row, weight, 7, 1, sum); break;
        case 15: add_row(l, b, row, weight, 7, 2, sum); break;
        default: add_row_any(l, b, row, weight, sum); break;
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < PIXELS; i++) {
        b->sum[i] = sum[i];
    }
}

#define SUM(dtype)                             \
    static void sum_##dtype(block *b)          \
    {                                          \
        sum_block(RY_##dtype, false, b);       \
    }                                          \
    static void sum_repeated_##dtype(block *b) \
    {                                          \
        sum_block(RY_##dtype, true, b);        \
    }
SUM(f32)
SUM(f16)
SUM(bf16)

static void (*const sums[2][3])(block *b) = {{sum_f32, sum_f16, sum_bf16}, {sum_repeated_f32, sum_repeated_f16, sum_repeated_bf16}};

typedef struct ending {
    ry_activation_of activation;
    bool bounds;
    ry_vf low, high;
} ending;

/* One pixel's channels: residual, activation, store. */
static void end_pixel(const block *b, const ending *e, ry_vf sum, char *y, const char *residual)
{
    const ry_vm m = ry_vm_first(b->channels);
    if (residual) {
        sum = ry_vf_add(sum, ry_load_some(b->r_type, residual, m));
    }
    if (e->bounds) {
        sum = ry_vf_min(e->high, ry_vf_max(e->low, sum));
    } else {
        float lanes[RY_W];
        ry_vf_store(lanes, sum);
        RY_ISA_SYMBOL(ry_activate)(e->activation, lanes, RY_W);
        sum = ry_vf_load(lanes);
    }
    if (b->y_type == RY_f16) {
        ry_vf_store_f16_m((uint16_t *)(void *)y, m, sum);
    } else if (b->y_type == RY_bf16) {
        ry_vf_store_bf16_m((uint16_t *)(void *)y, m, sum);
    } else if (b->channels >= RY_W) {
        ry_vf_store((float *)(void *)y, sum);
    } else {
        ry_vf_store_m((float *)(void *)y, m, sum);
    }
}

/* An output row of one vector of channels. y and residual: its first pixel, at the first channel. */
static void run_row(const depthwise_plan *plan, block *b, const ending *e, char *y, const char *residual)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t y_step = plan->phase.y_step[2] * (int64_t)ry_dtype_size(b->y_type);
    const int64_t r_step = residual ? plan->phase.r_step[2] * (int64_t)ry_dtype_size(b->r_type) : 0;
    for (int64_t column = 0; column < g->out[2]; column += PIXELS) {
        b->first_pixel = column * g->stride[2] - plan->before[1];
        sums[plan->multiplier > 1][b->x_type == RY_f32 ? 0 : b->x_type == RY_f16 ? 1 : 2](b);
        for (int64_t i = 0; i < PIXELS && column + i < g->out[2]; i++) {
            end_pixel(b, e, b->sum[i], y + (column + i) * y_step, residual ? residual + (column + i) * r_step : NULL);
        }
    }
}

static void run(const ry_cpu_launch *launch, int phase, size_t task, unsigned worker)
{
    (void)phase;
    (void)worker;
    const depthwise_plan *plan = launch->state;
    const ry_problem *problem = launch->problem;
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t index = (int64_t)task, part = index % plan->channel_blocks, rows = index / plan->channel_blocks % plan->row_blocks;
    const int64_t image = index / plan->channel_blocks / plan->row_blocks;
    const bool has_residual = ry_problem_has_input(problem, 3);
    block b = {.x_type = ry_type_of(&problem->in[0]),
               .y_type = ry_type_of(&problem->out[0]),
               .r_type = has_residual ? ry_type_of(&problem->in[3]) : RY_NONE,
               .packed_step = plan->packed_step,
               .row_step = g->x_step[1],
               .pixel_step = g->x_step[2],
               .row_dilation = plan->dilation[0],
               .rows = g->in[1],
               .height = g->kernel[1],
               .pixels = g->in[2],
               .dilation = plan->dilation[1],
               .width = g->kernel[2],
               .stride = g->stride[2]};
    ending e = {.activation = ry_conv_activation(problem)};
    float low, high;
    e.bounds = ry_activation_bounds(e.activation, &low, &high);
    e.low = ry_vf_set(low);
    e.high = ry_vf_set(high);
    const float *packed = launch->packed, *bias = packed + g->taps * plan->packed_step;
    const int64_t x_size = (int64_t)ry_dtype_size(b.x_type), y_size = (int64_t)ry_dtype_size(b.y_type);
    const int64_t r_size = has_residual ? (int64_t)ry_dtype_size(b.r_type) : 0;
    const int64_t end = least(g->out[1], (rows + 1) * plan->rows), last = least(plan->outputs, (part + 1) * plan->channels);
    for (int64_t row = rows * plan->rows; row < end; row++) {
        b.first_row = row * g->stride[1] - plan->before[0];
        for (int64_t c = part * plan->channels; c < last; c += RY_W) {
            b.channels = plan->outputs - c;
            b.x = (const char *)launch->in[0] + (image * g->x_batch + c / plan->multiplier) * x_size;
            for (int64_t i = 0; i < RY_W; i++) {
                b.lane_at[i] = (uint8_t)((c % plan->multiplier + i) / plan->multiplier);
            }
            b.weight = packed + c;
            b.bias = ry_vf_load(bias + c);
            char *y = (char *)launch->out[0] + (image * g->y_batch + row * plan->phase.y_step[1] + c) * y_size;
            const char *residual =
                has_residual ? (const char *)launch->in[3] + (image * g->r_batch + row * plan->phase.r_step[1] + c) * r_size : NULL;
            run_row(plan, &b, &e, y, residual);
        }
    }
}

/* [tap][channel], then the bias. */
static void pack(const ry_cpu_launch *launch, size_t task)
{
    (void)task;
    const depthwise_plan *plan = launch->state;
    const ry_conv_geometry *g = &plan->geometry;
    const ry_tensor *w = &launch->problem->in[1], *bias = &launch->problem->in[2];
    const int space = w->rank - 2;
    float *to = launch->packed_out;
    memset(to, 0, (size_t)((g->taps + 1) * plan->packed_step) * sizeof *to);
    for (int64_t r = 0; r < g->kernel[1]; r++) {
        for (int64_t s = 0; s < g->kernel[2]; s++, to += plan->packed_step) {
            const int64_t at = (space > 1 ? r * w->stride[2] : 0) + s * w->stride[w->rank - 1];
            for (int64_t c = 0; c < plan->outputs; c++) {
                to[c] = (float)ry_get_f64(ry_type_of(w), launch->in[1], at + c * w->stride[0]);
            }
        }
    }
    for (int64_t c = 0; ry_problem_has_input(launch->problem, 2) && c < plan->outputs; c++) {
        to[c] = (float)ry_get_f64(ry_type_of(bias), launch->in[2], c * bias->stride[0]);
    }
}

static bool is_float(const ry_tensor *tensor)
{
    return tensor->dtype == RYND_DTYPE_F32 || tensor->dtype == RYND_DTYPE_F16 || tensor->dtype == RYND_DTYPE_BF16;
}

static bool applicable(const ry_problem *problem)
{
    if (!ry_conv_is_spatial(problem) || problem->op != RY_OP_conv || problem->in[0].rank > 4) {
        return false;
    }
    ry_conv_geometry g;
    ry_conv_geometry_of(problem, &g, NULL, NULL);
    const bool has_residual = ry_problem_has_input(problem, 3);
    return g.groups > 1 && g.channels_in == 1 && g.x_channel == 1 && g.y_channel == 1 && is_float(&problem->in[0]) &&
           is_float(&problem->in[1]) && is_float(&problem->out[0]) &&
           (!ry_problem_has_input(problem, 2) || ry_dtype_is_float(ry_type_of(&problem->in[2]))) &&
           (!has_residual || (is_float(&problem->in[3]) && g.r_channel == 1));
}

static rynd_status prepare(const ry_problem *problem, ry_prepared *prepared, ry_error *error)
{
    (void)error;
    depthwise_plan plan;
    make_plan(problem, &plan);
    const ry_conv_geometry *g = &plan.geometry;
    const size_t packed = (size_t)((g->taps + 1) * plan.packed_step) * sizeof(float);
    *prepared = (ry_prepared){.phases = 1,
                              .tasks = {(size_t)(g->batch * plan.row_blocks * plan.channel_blocks)},
                              .state = (sizeof plan + RY_ALIGNMENT - 1) / RY_ALIGNMENT * RY_ALIGNMENT,
                              .packed = (packed + RY_ALIGNMENT - 1) / RY_ALIGNMENT * RY_ALIGNMENT,
                              .pack_tasks = 1,
                              .knob_count = 2,
                              .knobs = {{"rows", plan.rows}, {"channels", plan.channels}}};
    return RYND_OK;
}

static void initialise(const ry_problem *problem, const ry_prepared *prepared, void *state)
{
    (void)prepared;
    make_plan(problem, state);
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
                                                              .constant_inputs = 1u << 1 | 1u << 2};
