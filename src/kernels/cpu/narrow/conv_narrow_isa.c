/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels: convolution and transposed convolution to few output channels. */
#include "base/whole.h"
#include "kernels/cpu/conv/conv_kernel.h"
#include "kernels/cpu/narrow/narrow_rows.h"
#include "kernels/cpu/narrow/narrow_stage.h"
#include "kernels/cpu/narrow/narrow_tile.h"

typedef struct task {
    const narrow_plan *plan;
    narrow_rows rows;
    const float *packed; /* of the group */
    float *staged;
    bool started[NARROW_PHASES_MOST]; /* the phase's sums are there */
} task;

/* The sums of one phase over one chunk of channels of a slice; over none: their start. */
static void multiply(task *t, const narrow_phase *p, const narrow_slice *slice, int64_t channel, int64_t channels)
{
    const narrow_plan *plan = t->plan;
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t vectors = ry_parts(t->rows.columns, RY_W);
    float *sums = t->rows.sums + (p - plan->phase) * g->channels_out * plan->positions;
    const float *weights = t->packed + p->packed + slice->first * g->channels_in * g->channels_out;
    narrow_tile tile = {.channels = channels,
                        .taps = slice->count,
                        .channel_step = plan->planes * plan->plane,
                        .offset = plan->offset + p->at.first_tap + slice->first,
                        .step = plan->positions};
    for (int64_t unit = 0; unit < plan->units; unit++) {
        const int64_t first = narrow_unit_first(plan, unit), rows = narrow_unit_first(plan, unit + 1) - first;
        const int64_t most = NARROW_VECTORS_OF(rows), parts = (vectors + most - 1) / most;
        tile.weights = weights + (first * g->channels_in + channel * rows) * slice->count;
        tile.bias = t->started[p - plan->phase] ? NULL : t->rows.bias + (p - plan->phase) * g->channels_out + first;
        for (int64_t i = 0, at = 0; i < parts; i++) {
            const int64_t here = vectors / parts + (i < vectors % parts);
            tile.staged = t->staged + at;
            tile.sums = sums + first * plan->positions + at;
            RY_ISA_SYMBOL(narrow_tiles)[here - 1][rows - 1](&tile);
            at += here * RY_W;
        }
    }
    t->started[p - plan->phase] = true;
}

/* The sums of all phases. */
static void multiply_all(task *t, narrow_stage *stage)
{
    const narrow_plan *plan = t->plan;
    const ry_conv_geometry *g = &plan->geometry;
    for (int64_t d = 0; d < plan->depths; d++) {
        stage->slice = narrow_slice_of_x(plan, t->rows.slice, d);
        for (int64_t channel = 0; stage->slice >= 0 && channel < g->channels_in; channel += plan->chunk) {
            stage->channel = channel;
            stage->channels = ry_least(plan->chunk, g->channels_in - channel);
            RY_ISA_SYMBOL(narrow_stage_chunk)(stage);
            for (int64_t p = 0; p < g->phases; p++) {
                if (plan->phase[p].slice[d].count > 0) {
                    multiply(t, &plan->phase[p], &plan->phase[p].slice[d], channel, stage->channels);
                }
            }
        }
    }
    for (int64_t p = 0; p < g->phases; p++) {
        if (!t->started[p]) {
            multiply(t, &plan->phase[p], &(narrow_slice){0, 0}, 0, 0);
        }
    }
}

static void run(const ry_cpu_launch *launch, size_t index)
{
    const narrow_plan *plan = launch->state;
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t part = (int64_t)index % plan->column_blocks, blocks = (int64_t)index / plan->column_blocks;
    const int64_t block = blocks % plan->row_blocks, slices = blocks / plan->row_blocks, rest = slices / plan->slices;
    char *scratch = launch->scratch;
    task t = {.plan = plan,
              .rows = {.launch = launch,
                       .geometry = g,
                       .group = rest % g->groups,
                       .image = rest / g->groups * plan->images,
                       .slice = slices % plan->slices,
                       .row = block * plan->rows,
                       .column = part * plan->columns,
                       .length = plan->columns,
                       .image_rows = plan->image_rows,
                       .pitch = plan->pitch,
                       .positions = plan->positions,
                       .woven = plan->woven,
                       .beside = plan->beside,
                       .sums = (float *)(void *)(scratch + plan->sums),
                       .woven_row = (float *)(void *)(scratch + plan->woven_row),
                       .bias = (float *)(void *)(scratch + plan->bias),
                       .run = (igemm_run *)(void *)(scratch + plan->runs)},
              .staged = (float *)(void *)(scratch + plan->staged)};
    narrow_rows *rows = &t.rows;
    rows->images = ry_least(plan->images, g->batch - rows->image);
    rows->rows = ry_least(plan->rows, plan->grid[0] - rows->row);
    rows->columns = ((rows->images - 1) * plan->image_rows + rows->rows - 1) * plan->pitch + plan->columns;
    t.packed = (const float *)launch->packed + rows->group * plan->packed_group;
    const ry_dtype dtype = ry_type_of(&launch->problem->in[0]);
    narrow_stage stage = {.plan = plan,
                          .dtype = dtype,
                          .x = (const char *)launch->in[0] + rows->group * g->channels_in * g->x_channel * (int64_t)ry_dtype_size(dtype),
                          .staged = t.staged,
                          .lines = (float *)(void *)(scratch + plan->lines),
                          .image = rows->image,
                          .images = rows->images,
                          .row = rows->row,
                          .before = plan->before[1] - rows->column * g->stride[2]};
    for (int64_t p = 0; p < g->phases; p++) {
        RY_ISA_SYMBOL(narrow_read_bias)(rows, &plan->phase[p].at, p);
    }
    multiply_all(&t, &stage);
    for (int64_t p = 0; p < g->phases; p += plan->woven) {
        RY_ISA_SYMBOL(narrow_finish)(rows, &plan->phase[p].at, p);
    }
}

static void pack(const ry_cpu_launch *launch, size_t group)
{
    const narrow_plan *plan = launch->state;
    const ry_conv_geometry *g = &plan->geometry;
    const ry_conv_tap *tap = (const ry_conv_tap *)(const void *)((const char *)plan + plan->taps);
    const ry_dtype dtype = ry_type_of(&launch->problem->in[1]);
    float *packed = (float *)launch->packed_out + (int64_t)group * plan->packed_group;
    for (int64_t i = 0; i < g->phases * plan->depths; i++) {
        const narrow_phase *phase = &plan->phase[i / plan->depths];
        const narrow_slice *slice = &phase->slice[i % plan->depths];
        for (int64_t unit = 0; unit < plan->units; unit++) {
            const int64_t first = narrow_unit_first(plan, unit), rows = narrow_unit_first(plan, unit + 1) - first;
            float *to = packed + phase->packed + (slice->first * g->channels_out + first * slice->count) * g->channels_in;
            for (int64_t j = 0; j < g->channels_in * slice->count; j++) {
                const ry_conv_tap *at = &tap[phase->at.first_tap + slice->first + j % slice->count];
                const int64_t from = (int64_t)group * g->w_group + j / slice->count * g->w_in + at->weight + first * g->w_out;
                for (int64_t k = 0; k < rows; k++) {
                    *to++ = (float)ry_get_f64(dtype, launch->in[1], from + k * g->w_out);
                }
            }
        }
    }
}

RY_CONV_KERNELS(narrow, .applicable = narrow_is_possible, .knobs = narrow_knobs, .knob_count = NARROW_KNOBS, .values = narrow_values,
                .prepare = narrow_prepare, .initialise = narrow_initialise, .pack = pack, .run = run, .packed_inputs = 1u << 1);
