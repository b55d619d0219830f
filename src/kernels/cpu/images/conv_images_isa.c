/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels: convolution and transposed convolution of a batch of tiny images (images_plan.h). */
#include "base/integer.h"
#include "base/room.h"
#include "kernels/cpu/images/images_tile.h"
#include "kernels/cpu/parts/activation.h"
#include "kernels/cpu/parts/conv_kernel.h"
#include "kernels/cpu/parts/out_rows.h"
#include "kernels/cpu/simd/lane_rows.h"

/* Images [image, image + lanes) of a tensor of the problem. */
static ry_lane_rows rows_of(const ry_tensor *tensor, const void *data, int64_t image, int64_t lanes)
{
    const int64_t step = tensor->stride[0] * (int64_t)ry_dtype_size(ry_type_of(tensor));
    return (ry_lane_rows){(char *)data + image * step, step, lanes, ry_type_of(tensor)};
}

typedef struct task {
    const images_plan *plan;
    const ry_cpu_launch *launch;
    ry_activation_of activation;
    bool late;       /* the activation reads the residual, and is no bound */
    float low, high; /* infinite where the activation is no bound */
    float *x, *sums, *bias;
} task;

/* Elements [e, e + count) of the images, with residual and activation. */
RY_INLINE void write_square(const ry_dtype dtype, const task *t, const ry_lane_rows *y,
                            const ry_lane_rows *r, int64_t e, int64_t count)
{
    const ry_vf low = ry_vf_set(t->low), high = ry_vf_set(t->high);
    ry_vf v[RY_W];
    ry_lane_rows_turn(t->sums + e * RY_W, RY_W, v);
    for (int i = 0; r->at && i < RY_W; i++) {
        v[i] = ry_vf_add(
            v[i], ry_load_masked(r->dtype, ry_lane_row(r, r->dtype, i, e), ry_vm_first(count)));
    }
    if (t->late) {
        float square[RY_W * RY_W];
        for (int i = 0; i < RY_W; i++) {
            ry_vf_store(square + i * RY_W, v[i]);
        }
        RY_ISA_SYMBOL(activate)(t->activation, square, RY_W * RY_W);
        for (int i = 0; i < RY_W; i++) {
            v[i] = ry_vf_load(square + i * RY_W);
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < RY_W; i++) {
        v[i] = ry_vf_min(high, ry_vf_max(low, v[i]));
    }
    ry_lane_rows_store(dtype, y, e, count, v);
}

RY_INLINE void write_rows(const ry_dtype dtype, const task *t, const ry_lane_rows *y,
                          const ry_lane_rows *r)
{
    const int64_t elements = t->plan->y_size, full = elements & -RY_W;
    for (int64_t e = 0; e < full; e += RY_W) {
        write_square(dtype, t, y, r, e, RY_W);
    }
    if (full < elements) {
        write_square(dtype, t, y, r, full, elements - full);
    }
}

static void write_y(const task *t, int64_t image, int64_t lanes)
{
    const ry_problem *problem = t->launch->problem;
    const ry_lane_rows y = rows_of(&problem->out[0], t->launch->out[0], image, lanes),
                       r = ry_problem_has_input(problem, 3)
                               ? rows_of(&problem->in[3], t->launch->in[3], image, lanes)
                               : (ry_lane_rows){.dtype = RY_f32};
    switch (y.dtype) {
    case RY_f16: write_rows(RY_f16, t, &y, &r); break;
    case RY_bf16: write_rows(RY_bf16, t, &y, &r); break;
    default: write_rows(RY_f32, t, &y, &r); break;
    }
}

static void read_bias(const task *t)
{
    const ry_conv_geometry *g = &t->plan->geometry;
    out_rows rows = {.launch = t->launch, .geometry = g, .bias = t->bias};
    for (; rows.group < g->groups; rows.group++, rows.bias += g->phases * g->channels_out) {
        for (int64_t p = 0; p < g->phases; p++) {
            RY_ISA_SYMBOL(out_rows_read_bias)(&rows, &images_phases(t->plan)[p], p);
        }
    }
}

/* The sums of a group. */
static void sum_group(const task *t, int64_t group)
{
    const images_plan *plan = t->plan;
    const ry_conv_geometry *g = &plan->geometry;
    const ry_conv_phase *phase = images_phases(plan);
    const int64_t inputs = group * g->channels_in, outputs = group * g->channels_out;
    images_tile tile = {
        .x = t->x + inputs * g->x_channel * RY_W,
        .position = (const images_position *)(const void *)((const char *)plan + plan->positions),
        .pattern = (const images_pattern *)(const void *)((const char *)plan + plan->patterns),
        .step = (const images_step *)(const void *)((const char *)plan + plan->steps),
        .channels = g->channels_in,
        .x_channel = g->x_channel * RY_W,
        .y_channel = g->y_channel * RY_W};
    const float *weights = (const float *)t->launch->packed + group * plan->packed_group,
                *bias = t->bias + outputs * g->phases;
    for (const ry_conv_phase *p = phase; p < phase + g->phases; p++) {
        tile.end = tile.position + p->pixels;
        for (int64_t i = 0; i < plan->tiles; i++) {
            const int64_t first = images_tile_first(plan, i),
                          channels = images_tile_first(plan, i + 1) - first;
            tile.sums = t->sums + (outputs + first) * tile.y_channel;
            tile.weights = weights + first * p->taps * g->channels_in;
            tile.bias = bias + first;
            RY_ISA_SYMBOL(images_tiles)[g->channels_in > 1][channels - 1](&tile);
        }
        weights += p->taps * g->channels_in * g->channels_out;
        bias += g->channels_out;
        tile.position = tile.end;
    }
}

static void run(const ry_cpu_launch *launch, size_t index)
{
    const images_plan *plan = launch->state;
    const ry_cut_range images = ry_cut_part(&plan->images, index);
    char *scratch = launch->scratch;
    task t = {.plan = plan,
              .launch = launch,
              .activation = ry_conv_activation(launch->problem),
              .low = -__builtin_inff(),
              .high = __builtin_inff(),
              .x = RY_AT(float, scratch, plan->x),
              .sums = RY_AT(float, scratch, plan->sums),
              .bias = RY_AT(float, scratch, plan->bias)};
    float low, high;
    const bool bounds = ry_activation_bounds(t.activation, &low, &high);
    if (bounds) {
        t.low = low;
        t.high = high;
    }
    t.late = !bounds && ry_problem_has_input(launch->problem, 3);
    read_bias(&t);
    for (int64_t image = images.first; image < images.end; image += RY_W) {
        const int64_t lanes = ry_min(images.end - image, RY_W);
        const ry_lane_rows x = rows_of(&launch->problem->in[0], launch->in[0], image, lanes);
        ry_lane_rows_read(&x, plan->x_size, t.x, RY_W);
        for (int64_t group = 0; group < plan->geometry.groups; group++) {
            sum_group(&t, group);
        }
        if (!bounds && !t.late) {
            RY_ISA_SYMBOL(activate)(t.activation, t.sums, plan->y_size * RY_W);
        }
        write_y(&t, image, lanes);
    }
}

static void pack(const ry_cpu_launch *launch, size_t group)
{
    const images_plan *plan = launch->state;
    const ry_conv_geometry *g = &plan->geometry;
    const ry_dtype dtype = ry_type_of(&launch->problem->in[1]);
    const int64_t size = (int64_t)ry_dtype_size(dtype);
    const ry_conv_phase *phase = images_phases(plan);
    const char *w = (const char *)launch->in[1] + (int64_t)group * g->w_group * size;
    float *to = (float *)launch->packed_out + (int64_t)group * plan->packed_group;
    for (const ry_conv_phase *p = phase; p < phase + g->phases; p++) {
        const ry_conv_tap *tap = images_taps(plan) + p->first_tap;
        for (int64_t i = 0; i < plan->tiles; i++) {
            const int64_t first = images_tile_first(plan, i), end = images_tile_first(plan, i + 1);
            for (int64_t j = 0; j < p->taps * g->channels_in; j++) {
                const int64_t at = tap[j / g->channels_in].weight + j % g->channels_in * g->w_in;
                for (int64_t k = first; k < end; k++) {
                    *to++ = ry_load_one(dtype, w + (at + k * g->w_out) * size);
                }
            }
        }
    }
}

RY_CONV_KERNELS(images, .applicable = ry_images_takes, .prepare = ry_images_prepare,
                .initialise = ry_images_initialise, .pack = pack, .run = run,
                .packed_inputs = 1u << 1, .packing = ry_images_packing);
