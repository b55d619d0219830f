/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of positions: their sizes, tables and cost. */
#include "kernels/cpu/sample/points_plan.h"

#include "base/integer.h"
#include "base/room.h"
#include "kernels/common/work.h"
#include "problem/limits.h"

/* Tasks a core that an operator is cut into if it has so many positions. */
enum { TASKS_EACH = 8, MIN_BLOCK = 32 };

static int64_t spatial(const ry_tensor *t)
{
    int64_t count = 1;
    for (int i = 2; i < t->rank; i++) {
        count = ry_product(count, t->dim[i]);
    }
    return count;
}

static bool both_row_major(const ry_tensor *x, const ry_tensor *y)
{
    return ry_tensor_is_row_major(x) && ry_tensor_is_row_major(y);
}

bool ry_points_takes(const ry_tensor *x, const ry_tensor *y)
{
    return x->dtype == y->dtype && x->rank == y->rank && ry_tensor_count(x) > 0 &&
           ry_tensor_count(y) > 0 &&
           (both_row_major(x, y) ||
            (ry_tensor_is_channels_last(x) && ry_tensor_is_channels_last(y)));
}

void ry_points_describe(const ry_tensor *x, const ry_tensor *y, ry_points_plan *plan)
{
    *plan = (ry_points_plan){.dtype = x->dtype,
                             .rank = x->rank - 2,
                             .pixels = spatial(x),
                             .channels = x->dim[1],
                             .images = y->dim[0],
                             .positions = spatial(y),
                             .last = !both_row_major(x, y)};
    plan->far = plan->pixels > RY_LIMIT_SAMPLE_PIXELS;
    for (int a = 0; a < plan->rank; a++) {
        plan->size[a] = x->dim[a + 2];
    }
    plan->wide =
        x->dtype != RYND_DTYPE_F32 && x->dtype != RYND_DTYPE_F16 && x->dtype != RYND_DTYPE_BF16;
}

void ry_points_lay_out(const ry_machine *machine, int64_t taps, ry_points_plan *plan)
{
    const size_t sum = plan->wide ? sizeof(double) : sizeof(float);
    plan->taps = taps;
    plan->pass = ry_min(taps, RY_POINTS_PASS);
    const int64_t even = ry_ceil_div(ry_product(plan->images, plan->positions),
                                     TASKS_EACH * (int64_t)ry_max(machine->cores, 1)),
                  room = ry_min(RY_POINTS_BLOCK, RY_POINTS_ENTRIES / plan->pass);
    plan->block = ry_min(ry_clamp(ry_ceil_div(even, 16) * 16, MIN_BLOCK, room), plan->positions);
    plan->cut = (ry_task_cut){{{plan->images, 1}, {plan->positions, plan->block}}};
    plan->axis_length = plan->axis_length > 0 ? plan->axis_length : plan->block;
    const int64_t entries = plan->rank * plan->axis_taps * plan->axis_length;
    size_t end = 0;
    plan->index = ry_room(&end, entries, ry_points_number_size(plan));
    plan->axis_weight = ry_room(&end, entries, sizeof(double));
    plan->pixel = ry_room(&end, plan->block * plan->pass, ry_points_number_size(plan));
    plan->weight = ry_room(&end, plan->block * plan->pass, sum);
    plan->carry = ry_room(&end, taps > plan->pass ? plan->block * RY_POINTS_CHANNELS : 0, sum);
    plan->scratch = end;
}

/* Reading all channels of a position. */
static double reading(const ry_query *query, const ry_points_plan *s)
{
    const struct ry_sample_costs *cost = &ry_costs_asked(query)->sample;
    const double taps = (double)s->taps,
                 vectors = (double)ry_ceil_div(s->channels, query->kernel->simd.width);
    return s->last ? cost->position + vectors * (cost->vector + taps * cost->product)
                   : (double)s->channels * (cost->result + taps * cost->gathered);
}

void ry_points_prepare(const ry_query *query, const ry_points_plan *plan, double times,
                       double located, ry_prepared *prepared)
{
    const struct ry_sample_costs *cost = &ry_costs_asked(query)->sample;
    const double results = (double)plan->images * (double)plan->positions,
                 bytes = ry_problem_bytes(query->problem),
                 locating = plan->rank * cost->located + (double)plan->taps * cost->joined;
    *prepared = (ry_prepared){.phases = 1,
                              .tasks = {(size_t)ry_cut_tasks(&plan->cut)},
                              .state_size = sizeof *plan,
                              .scratch = plan->scratch};
    ry_count_work(ry_stream_work(query->target->machine, bytes) +
                      results * (times * reading(query, plan) + located * locating),
                  bytes, prepared);
}
