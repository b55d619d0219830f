/* SPDX-License-Identifier: Apache-2.0 */
/* Which batch normalisations in training the vector kernels take, their parts and their cost. */
#include "kernels/cpu/norm/batch_sums_plan.h"

#include "kernels/common/work.h"
#include "kernels/costs.h"
#include "kernels/cpu/parts/dense_lanes.h"

/* Elements of a part: it is read twice, the second time from L1, and its sums in f32 stay short. */
enum { PART = 4096, ROW = 8192 };
/* NHWC: of all channels together, the second time from L2, and positions. */
enum { PART_LAST = 1 << 15, POSITIONS = 1024 };

void ry_batch_sums_initialise(const ry_query *query, void *state)
{
    batch_sums_plan *s = state;
    const ry_machine *machine = query->target->machine;
    const ry_tensor *x = &query->problem->in[0];
    int64_t spatial = 1;
    for (int i = 2; i < x->rank; i++) {
        spatial *= x->dim[i];
    }
    const bool last = spatial == 1 || !ry_tensor_is_row_major(x);
    *s = (batch_sums_plan){.last = last,
                           .channels = x->dim[1],
                           .rows = last ? x->dim[0] * spatial : x->dim[0],
                           .length = last ? 1 : spatial};
    if (last) {
        s->step = ry_min(ry_max(PART_LAST / s->channels, 1), POSITIONS);
    } else {
        s->step = ry_max(PART / s->length, 1);
    }
    s->step = ry_min(s->step, s->rows);
    s->pieces = s->length > ROW ? ry_ceil_div(s->length, PART) : 1;
    s->piece = ry_ceil_div(s->length, s->pieces);
    s->parts = ry_ceil_div(s->rows, s->step) * s->pieces;
    s->cut = !last && s->parts > 1 && s->channels < 2 * (int64_t)machine->cores;
    const int64_t units = last ? s->parts : s->cut ? s->channels * s->parts : s->channels;
    const int64_t elements = last     ? s->step * s->channels
                             : s->cut ? s->step * s->piece
                                      : s->rows * s->length;
    s->units = ry_lanes_cut(machine, units, 4 * elements);
    s->joined = (ry_cut_axis){s->channels, BATCH_JOINED};
}

/* f32; x and y of the gradient may both be bf16. */
static bool fit(const ry_problem *problem, const ry_tensor *tensors, int count)
{
    const bool grad = problem->op == RY_OP_batch_norm_grad && tensors == problem->in;
    const rynd_dtype large =
        grad && problem->in[1].dtype == RYND_DTYPE_BF16 ? RYND_DTYPE_BF16 : RYND_DTYPE_F32;
    for (int i = 0; i < count; i++) {
        const rynd_dtype dtype = grad && (i == 1 || i == 5) ? large : RYND_DTYPE_F32;
        if (ry_tensor_present(&tensors[i]) && tensors[i].dtype != dtype) {
            return false;
        }
    }
    return true;
}

/* Those of x's rank are dense and in one layout, the others one dense row. */
static bool alike(const ry_problem *problem, const ry_tensor *tensors, int count)
{
    const ry_tensor *x = &problem->in[0];
    for (int i = 0; i < count; i++) {
        const ry_tensor *t = &tensors[i];
        if (ry_tensor_present(t) &&
            !(t->rank == x->rank ? ry_lanes_alike(x, t)
                                 : t->rank == 1 && ry_tensor_is_row_major(t))) {
            return false;
        }
    }
    return fit(problem, tensors, count);
}

static bool applicable(const ry_problem *problem)
{
    const ry_tensor *x = &problem->in[0];
    for (int i = 0; i < 5; i++) {
        if (!ry_problem_has_input(problem, i)) {
            return false;
        }
    }
    return ry_problem_has_output(problem, 0) && x->rank >= 2 && ry_tensor_count(x) > 0 &&
           (ry_tensor_is_row_major(x) || ry_tensor_is_channels_last(x)) &&
           alike(problem, problem->in, problem->inputs) &&
           alike(problem, problem->out, problem->outputs);
}

bool ry_batch_norm_train_applicable(const ry_problem *problem)
{
    return applicable(problem);
}

bool ry_batch_norm_grad_applicable(const ry_problem *problem)
{
    return applicable(problem) &&
           (problem->attrs.batch_norm_grad.activation == RY_activation_none ||
            ry_problem_has_input(problem, 5));
}

/* Bytes that each of the two passes moves: both read all large inputs. */
static double bytes_of(const ry_query *query, const batch_sums_plan *s)
{
    const ry_problem *p = query->problem;
    const bool grad = p->op == RY_OP_batch_norm_grad;
    const double all = ry_problem_bytes(p);
    double again = (double)ry_tensor_bytes(&p->in[0]);
    again += grad ? (double)ry_tensor_bytes(&p->in[1]) : 0;
    again += grad && ry_problem_has_input(p, 5) ? (double)ry_tensor_bytes(&p->in[5]) : 0;
    const double channel = again / (double)s->channels;
    const bool kept =
        !s->last && !s->cut &&
        channel < (double)ry_machine_core_bytes(query->target->machine, RYND_LEVEL_L2);
    return all + (kept ? 0 : again);
}

static double work_of(const ry_query *query, const batch_sums_plan *s)
{
    const struct ry_norm_costs *cost = &ry_costs_asked(query)->norm;
    const bool grad = query->problem->op == RY_OP_batch_norm_grad;
    const double count = (double)ry_tensor_count(&query->problem->in[0]);
    const double channels = (double)s->channels * (double)s->parts * cost->train_channel;
    if (s->last) {
        return channels + count * (grad ? cost->grad_last : cost->train_last);
    }
    return channels + count * (grad ? cost->grad_first : cost->train_first) +
           (double)(s->rows * s->channels) * cost->train_row;
}

rynd_status ry_batch_sums_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    batch_sums_plan s;
    ry_batch_sums_initialise(query, &s);
    const bool phases = s.last || s.cut;
    size_t numbers;
    if (!ry_mul_size((size_t)(s.parts * BATCH_SUMS + BATCH_FACTORS),
                     phases ? (size_t)s.channels : 1, &numbers) ||
        numbers > SIZE_MAX / 8) {
        return ry_fail_memory(error);
    }
    prepared->phases = phases ? 3 : 1;
    prepared->tasks[0] = (size_t)ry_cut_parts(&s.units);
    prepared->tasks[1] = phases ? (size_t)ry_cut_parts(&s.joined) : 0;
    prepared->tasks[2] = phases ? prepared->tasks[0] : 0;
    prepared->state_size = sizeof s;
    *(phases ? &prepared->workspace : &prepared->scratch) = (numbers + 15) / 16 * 64;
    ry_count_work(work_of(query, &s), bytes_of(query, &s), prepared);
    return RYND_OK;
}
