/* SPDX-License-Identifier: Apache-2.0 */
/* Which recurrent layers the kernel takes, its panels, tasks and cost. */
#include "kernels/cpu/recurrent/recurrent_plan.h"

#include "base/room.h"
#include "kernels/common/work.h"
#include "kernels/costs.h"
#include "kernels/packing.h"

/* Sequences of a task, if there are as many: fewer reuse the weights too rarely. */
enum { LEAST_ROWS = 4 };

static bool dense(const ry_problem *problem, ry_dtype dtype)
{
    for (int i = 0; i < problem->inputs + problem->outputs; i++) {
        const ry_tensor *t =
            i < problem->inputs ? &problem->in[i] : &problem->out[i - problem->inputs];
        if (ry_tensor_present(t) && (!ry_tensor_is_row_major(t) || ry_tensor_count(t) == 0 ||
                                     (i != RECURRENT_LENGTHS && t->dtype != (rynd_dtype)dtype))) {
            return false;
        }
    }
    return true;
}

bool ry_recurrent_applicable(const ry_problem *problem)
{
    if (!ry_problem_has_input(problem, RECURRENT_X) || ry_problem_has_input(problem, RECURRENT_W) ||
        !ry_problem_has_input(problem, RECURRENT_R)) {
        return false;
    }
    const ry_dtype dtype = (ry_dtype)problem->in[RECURRENT_X].dtype;
    return (dtype == RY_f32 || dtype == RY_f64) && problem->in[RECURRENT_X].rank == 3 &&
           problem->in[RECURRENT_R].rank == 3 && dense(problem, dtype);
}

static void lay_out(recurrent_plan *s)
{
    const int64_t rows = s->tasks.axis[1].part;
    const size_t size = s->wide ? sizeof(double) : sizeof(float);
    size_t at = 0;
    s->h = ry_room(&at, rows * s->hidden, size);
    s->c = ry_room(&at, rows * s->hidden, size);
    s->reset = ry_room(&at, rows * s->hidden, size);
    s->sums = ry_room(&at, rows * s->step, size);
    s->bias = ry_room(&at, (s->gates + 1) * s->hidden, size);
}

void ry_recurrent_initialise(const ry_query *query, void *state)
{
    recurrent_plan *s = state;
    const ry_problem *problem = query->problem;
    const ry_recurrent_attrs *a = &problem->attrs.recurrent;
    const ry_tensor *x = &problem->in[RECURRENT_X];
    const bool wide = x->dtype == RYND_DTYPE_F64;
    *s = (recurrent_plan){.attrs = *a,
                          .wide = wide,
                          .time = x->dim[a->batch_first != 0],
                          .batch = x->dim[a->batch_first == 0],
                          .hidden = problem->in[RECURRENT_R].dim[2],
                          .gates = ry_recurrent_gates(a),
                          .directions = ry_recurrent_directions(a),
                          .lanes = RECURRENT_VECTORS * query->kernel->simd.width / (wide ? 2 : 1)};
    s->attrs.activations = NULL;
    s->columns = (s->gates - recurrent_resets(s)) * s->hidden;
    s->panels[0] = ry_ceil_div(s->columns, s->lanes);
    s->panels[1] = recurrent_resets(s) ? ry_ceil_div(s->hidden, s->lanes) : 0;
    s->step = ry_max(s->panels[0] * s->lanes, s->columns + s->panels[1] * s->lanes);
    const int64_t cores = query->target->machine->cores > 0 ? query->target->machine->cores : 1,
                  each = ry_max(ry_ceil_div(s->batch * s->directions, cores), LEAST_ROWS);
    s->tasks = (ry_task_cut){{{s->directions, 1}, {s->batch, ry_min(each, s->batch)}}};
    for (int d = 0; d < s->directions; d++) {
        (void)ry_recurrent_functions(a, d, s->function[d]);
    }
    lay_out(s);
}

/* Multiply-adds of a vector that take as long as reading a direction's weights once more, if they
 * exceed a core's second-level cache. */
static double reading_cycles(const ry_query *query, double bytes)
{
    const ry_machine *machine = query->target->machine;
    const bool near = bytes <= (double)ry_machine_core_bytes(machine, RYND_LEVEL_L2),
               shared = bytes <= (double)ry_machine_level_bytes(machine, RYND_LEVEL_L3);
    const rynd_rate rate = machine->level[shared ? RYND_LEVEL_L3 : RYND_LEVEL_DRAM].bandwidth;
    return near || !(rate.one > 0)
               ? 0
               : ry_cost_weight(shared ? RY_COST_L3 : RY_COST_DRAM) * bytes / rate.one *
                     machine->f32.one / (2 * (double)query->kernel->simd.width);
}

/* How often the tiles of so many rows read a panel (recurrent_tile_isa.c). */
static double panel_reads(const ry_query *query, int64_t rows)
{
    const ry_simd *simd = &query->kernel->simd;
    const int64_t most = RECURRENT_TILE_ROWS(simd->rows, simd->vectors), rest = rows % most,
                  halves = most > RECURRENT_HALF_ROWS ? rest / RECURRENT_HALF_ROWS : 0,
                  left = rest - halves * RECURRENT_HALF_ROWS;
    return (double)(rows / most + halves + left / 2 + left % 2);
}

/* Multiply-adds of a vector, or what takes as long, of one turn of a task's sequences. */
static double turn_cycles(const ry_query *query, const recurrent_plan *s)
{
    const struct ry_recurrent_costs *cost = &ry_costs_asked(query)->recurrent;
    const double rows = (double)s->tasks.axis[1].part, width = (double)s->lanes / RECURRENT_VECTORS,
                 weights = (double)recurrent_panels(s) * RECURRENT_VECTORS * (double)s->hidden,
                 gates = (double)(s->gates * s->hidden) / width;
    const double bytes = weights * width * (double)(s->wide ? sizeof(double) : sizeof(float));
    return weights * (rows + panel_reads(query, s->tasks.axis[1].part) * cost->load) +
           rows * (gates * cost->gate + cost->row) + reading_cycles(query, bytes);
}

rynd_status ry_recurrent_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    recurrent_plan s;
    (void)error;
    ry_recurrent_initialise(query, &s);
    const int64_t panels = recurrent_panels(&s) * s.directions;
    const size_t size = s.wide ? sizeof(double) : sizeof(float),
                 tasks = (size_t)ry_cut_tasks(&s.tasks);
    const double turns = (double)s.time, rows = (double)s.tasks.axis[1].part,
                 parts = (double)(s.batch * s.directions) / rows;
    prepared->phases = 1;
    prepared->tasks[0] = tasks;
    prepared->state_size = sizeof s;
    prepared->scratch = ry_aligned(s.bias + (size_t)((s.gates + 1) * s.hidden) * size);
    prepared->packed = ry_aligned((size_t)(panels * s.hidden * s.lanes) * size);
    prepared->pack_tasks = (size_t)panels;
    const double turn = turn_cycles(query, &s);
    prepared->work[0] =
        ry_work_of_cycles((ry_work){turns * parts * turn, turns * turn}, query->kernel->simd.width);
    return RYND_OK;
}

void ry_recurrent_packing(const ry_prepared *prepared, ry_text *key)
{
    const recurrent_plan *s = prepared->state;
    RY_PACKING_NUMBERS(key, s->hidden, s->gates, s->directions, s->lanes, s->columns);
}
