/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel: depthwise and few-channel grouped convolution on staged rows (direct_plan.h). */
#include "kernels/cpu/conv/conv_kernel.h"
#include "kernels/cpu/conv/direct.h"
#include "kernels/cpu/conv/finish.h"
#include "kernels/cpu/conv/lanes.h"

/* Vectors of a block of sums: with one output channel the loads of x feed the multiply-adds; with more, a load serves them all. */
#if RY_W == 16
#define WIDE_1 8
#define WIDE_N 4
#else
#define WIDE_1 8
#define WIDE_N 2
#endif

typedef struct runs {
    int64_t channels, channel_step; /* of x */
    int64_t taps;
    const int64_t *offset;
    const float *weight; /* [channel][tap][out] */
    const float *bias;   /* [out] */
    const float *x;
    float *sum;
    int64_t sum_step;
} runs;

/* Sums of `out` output channels at `vectors` vectors of positions. */
RY_INLINE void sum_block(const runs *r, int64_t at, const int out, const int vectors)
{
    ry_vf sum[DIRECT_BLOCK_MOST][8];
#pragma GCC unroll 4
    for (int k = 0; k < out; k++) {
#pragma GCC unroll 8
        for (int v = 0; v < vectors; v++) {
            sum[k][v] = ry_vf_set(r->bias[k]);
        }
    }
    const float *w = r->weight, *x = r->x + at;
    for (int64_t c = 0; c < r->channels; c++, x += r->channel_step) {
        for (int64_t t = 0; t < r->taps; t++, w += out) {
            const float *from = x + r->offset[t];
            ry_vf xv[8];
#pragma GCC unroll 8
            for (int v = 0; v < vectors; v++) {
                xv[v] = ry_vf_load(from + v * RY_W);
            }
#pragma GCC unroll 4
            for (int k = 0; k < out; k++) {
                const ry_vf wv = ry_vf_set(w[k]);
#pragma GCC unroll 8
                for (int v = 0; v < vectors; v++) {
                    sum[k][v] = ry_vf_fma(wv, xv[v], sum[k][v]);
                }
            }
        }
    }
#pragma GCC unroll 4
    for (int k = 0; k < out; k++) {
#pragma GCC unroll 8
        for (int v = 0; v < vectors; v++) {
            ry_vf_store(r->sum + k * r->sum_step + at + v * RY_W, sum[k][v]);
        }
    }
}

RY_INLINE void sum_run(const runs *r, int64_t vectors, const int out, const int wide)
{
    int64_t v = 0;
    for (; v + wide <= vectors; v += wide) {
        sum_block(r, v * RY_W, out, wide);
    }
    if (wide > 4 && v + 4 <= vectors) {
        sum_block(r, v * RY_W, out, 4);
        v += 4;
    }
    if (wide > 2 && v + 2 <= vectors) {
        sum_block(r, v * RY_W, out, 2);
        v += 2;
    }
    for (; v < vectors; v++) {
        sum_block(r, v * RY_W, out, 1);
    }
}

static void sum_run_1(const runs *r, int64_t vectors)
{
    sum_run(r, vectors, 1, WIDE_1);
}

static void sum_run_2(const runs *r, int64_t vectors)
{
    sum_run(r, vectors, 2, 4);
}

static void sum_run_3(const runs *r, int64_t vectors)
{
    sum_run(r, vectors, 3, WIDE_N);
}

static void sum_run_4(const runs *r, int64_t vectors)
{
    sum_run(r, vectors, 4, WIDE_N);
}

static void (*const sum_runs[DIRECT_BLOCK_MOST])(const runs *r, int64_t vectors) = {sum_run_1, sum_run_2, sum_run_3, sum_run_4};

static void read_bias(const ry_cpu_launch *launch, int64_t first, int64_t count, float *bias)
{
    const bool has = ry_problem_has_input(launch->problem, 2);
    for (int64_t k = 0; k < count; k++) {
        const ry_tensor *t = &launch->problem->in[2];
        bias[k] = !has                      ? 0.0f
                  : ry_type_of(t) == RY_f32 ? ((const float *)launch->in[2])[(first + k) * t->stride[0]]
                                            : (float)ry_get_f64(ry_type_of(t), launch->in[2], (first + k) * t->stride[0]);
    }
}

static void finish_group(const direct_plan *plan, const ry_cpu_launch *launch, int64_t image, int64_t group, int64_t first_row,
                         int64_t rows, float *sums, igemm_run *run)
{
    const ry_problem *problem = launch->problem;
    const ry_conv_geometry *g = &plan->geometry;
    const ry_conv_phase *p = &plan->phase;
    const bool has_residual = ry_problem_has_input(problem, 3);
    const int64_t channel = group * g->channels_out;
    for (int64_t r = 0; r < rows; r++) {
        run[r] = (igemm_run){r * plan->pitch, p->grid[2], r * p->y_step[1], p->y_step[2], r * p->r_step[1], p->r_step[2]};
    }
    const int64_t y = image * g->y_batch + channel * g->y_channel + first_row * p->y_step[1];
    const int64_t residual = image * g->r_batch + channel * g->r_channel + first_row * p->r_step[1];
    const igemm_finish f = {
        .rows = g->channels_out,
        .columns = (rows - 1) * plan->pitch + p->grid[2],
        .block = sums,
        .block_step = plan->sum_step,
        .run = run,
        .runs = rows,
        .y = (char *)launch->out[0] + y * (int64_t)ry_dtype_size(ry_type_of(&problem->out[0])),
        .y_row = g->y_channel,
        .dtype = ry_type_of(&problem->out[0]),
        .residual = has_residual ? (const char *)launch->in[3] + residual * (int64_t)ry_dtype_size(ry_type_of(&problem->in[3])) : NULL,
        .r_row = g->r_channel,
        .r_dtype = has_residual ? ry_type_of(&problem->in[3]) : RY_NONE,
        .activation = ry_conv_activation(problem)};
    RY_ISA_SYMBOL(igemm_finish_rows)(&f);
}

/* in_place: `rows` rows of a group, from x to y. */
static void run_planes(const direct_plan *plan, const ry_cpu_launch *launch, int64_t image, int64_t group, int64_t first_row, int64_t rows)
{
    const ry_conv_geometry *g = &plan->geometry;
    const ry_activation_of activation = ry_conv_activation(launch->problem);
    float bias[DIRECT_OUT_MOST] = {0};
    read_bias(launch, group * g->channels_out, g->channels_out, bias);
    const int64_t channel = group * g->channels_out;
    direct_group d = {.x = (const float *)launch->in[0] + image * g->x_batch + group * g->channels_in * g->x_channel,
                      .weight = (const float *)launch->packed + channel * g->channels_in * g->taps,
                      .bias = bias,
                      .y = (float *)launch->out[0] + image * g->y_batch + channel * g->y_channel};
    if (ry_problem_has_input(launch->problem, 3)) {
        d.residual = (const float *)launch->in[3] + image * g->r_batch + channel * g->r_channel;
    }
    const bool bounds = ry_activation_bounds(activation, &d.low, &d.high);
    RY_ISA_SYMBOL(direct_planes)(plan, &d, first_row, rows);
    for (int64_t k = 0; !bounds && k < g->channels_out; k++) {
        const int64_t step = plan->phase.y_step[1];
        RY_ISA_SYMBOL(ry_activate_rows)(activation, d.y + k * g->y_channel + first_row * step, step, rows, plan->phase.grid[2]);
    }
}

static void run(const ry_cpu_launch *launch, size_t task)
{
    const direct_plan *plan = launch->state;
    const ry_conv_geometry *g = &plan->geometry;
    char *scratch = launch->scratch;
    float *staged = (float *)(void *)(scratch + plan->staged), *sums = (float *)(void *)(scratch + plan->sums);
    igemm_run *columns = (igemm_run *)(void *)(scratch + plan->runs);
    const int64_t index = (int64_t)task, row_block = index % plan->row_blocks, groups = index / plan->row_blocks % plan->group_blocks;
    const int64_t image = index / plan->row_blocks / plan->group_blocks, first_row = row_block * plan->rows;
    const int64_t left = plan->phase.grid[1] - first_row, rows = left < plan->rows ? left : plan->rows;
    const int64_t vectors = ((rows - 1) * plan->pitch + plan->phase.grid[2] + RY_W - 1) / RY_W;
    const ry_activation_of activation = ry_conv_activation(launch->problem);
    float low, high;
    const bool bounds = ry_activation_bounds(activation, &low, &high);
    if (!plan->direct) {
        low = -__builtin_inff();
        high = __builtin_inff();
    }
    const int64_t first = groups * plan->groups_a_task, some = first + plan->groups_a_task, end = some < g->groups ? some : g->groups;
    for (int64_t group = first; group < end; group++) {
        if (plan->in_place) {
            run_planes(plan, launch, image, group, first_row, rows);
            continue;
        }
        float bias[DIRECT_OUT_MOST] = {0};
        read_bias(launch, group * g->channels_out, g->channels_out, bias);
        RY_ISA_SYMBOL(direct_stage)(plan, launch, image, group, first_row, rows, staged);
        const float *weight = (const float *)launch->packed + group * g->channels_out * g->channels_in * g->taps;
        if (plan->by_rows) {
            float *to = sums;
            int64_t to_row = plan->pitch;
            if (plan->direct) {
                to = (float *)launch->out[0] + image * g->y_batch + group * g->y_channel + first_row * plan->phase.y_step[1];
                to_row = plan->phase.y_step[1];
            }
            RY_ISA_SYMBOL(direct_rows)(plan, staged, weight, bias[0], rows, low, high, to, to_row);
            if (!plan->direct) {
                finish_group(plan, launch, image, group, first_row, rows, sums, columns);
            } else if (!bounds) {
                RY_ISA_SYMBOL(ry_activate_rows)(activation, to, to_row, rows, plan->phase.grid[2]);
            }
            continue;
        }
        for (int64_t k = 0; k < g->channels_out; k += DIRECT_BLOCK_MOST) {
            const int64_t out = g->channels_out - k < DIRECT_BLOCK_MOST ? g->channels_out - k : DIRECT_BLOCK_MOST;
            const runs r = {.channels = g->channels_in,
                            .channel_step = plan->channel,
                            .taps = g->taps,
                            .offset = plan->offset,
                            .weight = weight + k * g->channels_in * g->taps,
                            .bias = bias + k,
                            .x = staged,
                            .sum = sums + k * plan->sum_step,
                            .sum_step = plan->sum_step};
            sum_runs[out - 1](&r, vectors);
        }
        finish_group(plan, launch, image, group, first_row, rows, sums, columns);
    }
}

static void pack(const ry_cpu_launch *launch, size_t task)
{
    const direct_plan *plan = launch->state;
    const ry_conv_geometry *g = &plan->geometry;
    const ry_conv_tap *tap = (const ry_conv_tap *)(const void *)((const char *)plan + plan->taps);
    const ry_dtype dtype = ry_type_of(&launch->problem->in[1]);
    const int64_t size = (int64_t)ry_dtype_size(dtype);
    const int64_t group = (int64_t)task;
    float *to = (float *)launch->packed_out + group * g->channels_out * g->channels_in * g->taps;
    for (int64_t first = 0; first < g->channels_out; first += DIRECT_BLOCK_MOST) {
        const int64_t end = first + DIRECT_BLOCK_MOST < g->channels_out ? first + DIRECT_BLOCK_MOST : g->channels_out;
        for (int64_t c = 0; c < g->channels_in; c++) {
            for (int64_t t = 0; t < g->taps; t++) {
                for (int64_t k = first; k < end; k++) {
                    *to++ = ry_load_one(dtype, (const char *)launch->in[1] +
                                                   (group * g->w_group + k * g->w_out + c * g->w_in + tap[t].weight) * size);
                }
            }
        }
    }
}

RY_CONV_KERNELS(direct, .applicable = direct_plan_suits, .knobs = direct_knobs, .knob_count = DIRECT_KNOBS, .values = direct_values,
                .prepare = direct_prepare, .initialise = direct_initialise, .pack = pack, .run = run, .packed_inputs = 1u << 1);
