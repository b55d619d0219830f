/* SPDX-License-Identifier: Apache-2.0 */
/* max_unpool: a unit is a plane, or, channels last, some channels of an image. A unit clears its
 * planes of the output and puts its elements there. Indices that point to other planes are legal,
 * though no pooling gives them: where a task met one, a last task does everything again in
 * row-major order. */
#include "kernels/common/work.h"
#include "kernels/kernel.h"
#include "kernels/move/strided_copy.h"
#include "problem/window.h"

#include <string.h>

enum { CHANNELS = 32 }; /* channels per unit, channels last */

/* Strides in elements; x's and the indices' from one spatial position to the next. */
typedef struct unpool {
    int rank; /* spatial dims */
    int64_t channels, positions, pooled_size;
    int64_t pooled[RY_MAX_RANK], y_dim[RY_MAX_RANK], y_stride[RY_MAX_RANK];
    int64_t step; /* y's, if y has the pooled tensor's shape; else 0 */
    int64_t x_step, index_step;
    int64_t image[3], channel[3];                 /* strides of x, the indices and y */
    int64_t planes, width, units, units_per_task; /* width: channels of a unit */
    int64_t size;
} unpool;

static bool dense(const ry_tensor *t)
{
    return ry_tensor_is_row_major(t) || ry_tensor_is_channels_last(t);
}

static bool pooled_fits(const ry_problem *problem)
{
    const ry_shape pooled = ry_window_unpooled(problem);
    bool fits = true;
    for (int i = 2; i < pooled.rank; i++) {
        fits = fits && pooled.dim[i] > 0 && pooled.dim[i] <= problem->out[0].dim[i];
    }
    return fits;
}

static bool applicable(const ry_problem *problem)
{
    return ry_problem_has_input(problem, 0) && ry_problem_has_input(problem, 1) &&
           ry_problem_has_output(problem, 0) && problem->in[0].rank > 2 &&
           problem->in[0].dtype == problem->out[0].dtype &&
           problem->in[1].dtype == RYND_DTYPE_I64 && dense(&problem->in[0]) &&
           dense(&problem->in[1]) && dense(&problem->out[0]) &&
           ry_tensor_count(&problem->in[0]) > 0 && pooled_fits(problem);
}

static void initialise(const ry_query *query, void *state)
{
    unpool *s = state;
    const ry_problem *problem = query->problem;
    const ry_tensor *x = &problem->in[0], *index = &problem->in[1], *y = &problem->out[0];
    const ry_tensor *all[] = {x, index, y};
    const ry_shape pooled = ry_window_unpooled(problem);
    const int last = x->rank - 1;
    *s = (unpool){.rank = x->rank - 2,
                  .channels = x->dim[1],
                  .positions = 1,
                  .pooled_size = 1,
                  .step = y->stride[last],
                  .x_step = x->stride[last],
                  .index_step = index->stride[last],
                  .planes = x->dim[0] * x->dim[1],
                  .size = (int64_t)ry_dtype_size((ry_dtype)x->dtype)};
    for (int i = 0; i < s->rank; i++) {
        s->positions *= x->dim[i + 2];
        s->pooled[i] = pooled.dim[i + 2];
        s->pooled_size *= pooled.dim[i + 2];
        s->y_dim[i] = y->dim[i + 2];
        s->y_stride[i] = y->stride[i + 2];
        s->step = s->pooled[i] == s->y_dim[i] ? s->step : 0;
    }
    for (int i = 0; i < 3; i++) {
        s->image[i] = all[i]->stride[0];
        s->channel[i] = all[i]->stride[1];
    }
    s->width = ry_tensor_is_row_major(y) ? 1 : ry_min(CHANNELS, s->channels);
    s->units = x->dim[0] * ry_ceil_div(s->channels, s->width);
    const double bytes = ry_problem_bytes(problem);
    const int64_t task = ry_machine_task_bytes(query->target->machine, bytes);
    s->units_per_task = ry_clamp((int64_t)((double)s->units * (double)task / bytes), 1, s->units);
}

static rynd_status prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    unpool s;
    (void)error;
    initialise(query, &s);
    prepared->phases = 2;
    prepared->tasks[0] = (size_t)ry_ceil_div(s.units, s.units_per_task);
    prepared->tasks[1] = 1;
    prepared->state_size = sizeof s;
    prepared->workspace = prepared->tasks[0]; /* did the task meet an index of another plane? */
    const double bytes = ry_problem_bytes(query->problem);
    ry_count_work((double)s.planes * (double)s.positions * ry_costs_asked(query)->move.unpooled +
                      ry_stream_work(query->target->machine, bytes),
                  bytes, prepared);
    return RYND_OK;
}

/* Where in its plane of y the pooled tensor's element `at` is. */
static int64_t place_of(const unpool *s, int64_t at)
{
    if (s->step) {
        return at * s->step;
    }
    int64_t position = 0;
    for (int i = s->rank - 1; i >= 0; i--) {
        position += at % s->pooled[i] * s->y_stride[i];
        at /= s->pooled[i];
    }
    return position;
}

static void clear(const unpool *s, char *y, int64_t image, int64_t channel, int64_t width)
{
    static const uint64_t zero;
    ry_box box = {.size = (size_t)s->size};
    ry_box_add(&box, width, s->channel[2], 0);
    for (int i = 0; i < s->rank; i++) {
        ry_box_add(&box, s->y_dim[i], s->y_stride[i], 0);
    }
    ry_box_prepare(&box);
    ry_box_copy(&box, y + (image * s->image[2] + channel * s->channel[2]) * s->size, &zero);
}

static void note_index(const ry_cpu_launch *launch, int64_t plane, int64_t position, int64_t value)
{
    const unpool *s = launch->state;
    ry_fault_note(launch->fault,
                  &(ry_fault){.found = (uint64_t)(plane * s->positions + position + 1),
                              .value = value,
                              .most = s->planes * s->pooled_size - 1,
                              .input = 1,
                              .axis = -1});
}

/* Puts the elements of `width` planes to those planes of y; false: some belong to others. With
 * `any`, to every plane. Inlined with the size of an element as a constant. */
static inline __attribute__((always_inline)) bool scatter(const ry_cpu_launch *launch,
                                                          int64_t image, int64_t channel,
                                                          int64_t width, bool any,
                                                          const size_t size)
{
    const unpool *s = launch->state;
    const char *x = (const char *)launch->in[0] +
                    (image * s->image[0] + channel * s->channel[0]) * (int64_t)size;
    const int64_t *index =
        (const int64_t *)launch->in[1] + image * s->image[1] + channel * s->channel[1];
    const int64_t plane = image * s->channels + channel,
                  base = image * s->image[2] + channel * s->channel[2];
    bool own = true;
    for (int64_t p = 0; p < s->positions; p++) {
        for (int64_t c = 0; c < width; c++) {
            const int64_t flat = index[p * s->index_step + c * s->channel[1]];
            int64_t at = flat - (plane + c) * s->pooled_size, to = base + c * s->channel[2];
            if ((uint64_t)at >= (uint64_t)s->pooled_size) {
                if (flat < 0 || flat >= s->planes * s->pooled_size) {
                    note_index(launch, plane + c, p, flat);
                    continue;
                }
                own = false;
                if (!any) {
                    continue;
                }
                const int64_t other = flat / s->pooled_size;
                to = other / s->channels * s->image[2] + other % s->channels * s->channel[2];
                at = flat % s->pooled_size;
            }
            memcpy((char *)launch->out[0] + (to + place_of(s, at)) * (int64_t)size,
                   x + (p * s->x_step + c * s->channel[0]) * (int64_t)size, size);
        }
    }
    return own;
}

static bool scatter_planes(const ry_cpu_launch *launch, int64_t image, int64_t channel,
                           int64_t width, bool any)
{
    switch (((const unpool *)launch->state)->size) {
    case 1: return scatter(launch, image, channel, width, any, 1);
    case 2: return scatter(launch, image, channel, width, any, 2);
    case 4: return scatter(launch, image, channel, width, any, 4);
    default: return scatter(launch, image, channel, width, any, 8);
    }
}

static void everything_again(const ry_cpu_launch *launch)
{
    const unpool *s = launch->state;
    const uint8_t *strays = launch->workspace;
    if (!memchr(strays, 1, launch->prepared->tasks[0])) {
        return;
    }
    for (int64_t image = 0; image < s->planes / s->channels; image++) {
        clear(s, launch->out[0], image, 0, s->channels);
    }
    for (int64_t plane = 0; plane < s->planes; plane++) {
        scatter_planes(launch, plane / s->channels, plane % s->channels, 1, true);
    }
}

static void run(const ry_cpu_launch *launch, size_t task)
{
    const unpool *s = launch->state;
    if (launch->phase == 1) {
        everything_again(launch);
        return;
    }
    const int64_t blocks = ry_ceil_div(s->channels, s->width),
                  first = (int64_t)task * s->units_per_task,
                  end = ry_min(first + s->units_per_task, s->units);
    bool own = true;
    for (int64_t unit = first; unit < end; unit++) {
        const int64_t image = unit / blocks, channel = unit % blocks * s->width,
                      width = ry_min(s->width, s->channels - channel);
        clear(s, launch->out[0], image, channel, width);
        own = scatter_planes(launch, image, channel, width, false) && own;
    }
    ((uint8_t *)launch->workspace)[task] = !own;
}

RY_PLAIN_KERNEL(max_unpool_move, max_unpool, .applicable = applicable, .prepare = prepare,
                .initialise = initialise, .run = run);
