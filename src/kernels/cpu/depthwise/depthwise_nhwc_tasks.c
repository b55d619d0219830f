/* SPDX-License-Identifier: Apache-2.0 */
/* The tasks that a depthwise_nhwc kernel usually is cut into. */
#include "kernels/cpu/depthwise/depthwise_nhwc_plan.h"

#include "base/integer.h"
#include "kernels/costs.h"
#include "kernels/cpu/depthwise/depthwise_problem.h"
#include "kernels/form.h"
#include "machine/machine.h"

static const struct ry_blocks_costs *shares_of(const depthwise_nhwc_plan *plan)
{
    return ry_blocks_of(plan->costs);
}

/* As many tasks as there is work for, and as keep all cores busy. */
static int64_t tasks_enough(const ry_machine *machine, const depthwise_nhwc_plan *plan)
{
    const struct ry_depthwise_nhwc_costs *cost = &ry_costs_of(plan->costs)->depthwise_nhwc;
    const ry_conv_geometry *g = &plan->geometry;
    const double pixels = (double)(g->batch * plan->lines * g->out[2]);
    const double taps = ry_depthwise_axis_mean(&plan->axis[0]) *
                        ry_depthwise_axis_mean(&plan->axis[1]) *
                        ry_depthwise_axis_mean(&plan->axis[2]);
    const double read =
        (double)(g->batch * g->in[0] * g->in[1] * g->in[2]) / (double)plan->multiplier;
    const double moved = (plan->planes_in ? cost->read_planes * read : 0) +
                         (plan->planes_out ? cost->write_planes * pixels : 0);
    const double work =
        (pixels * (double)plan->depth * (taps + 1.0) + moved) * (double)plan->packed_step;
    const double each = (double)ry_machine_task_products(machine, cost->task);
    const int64_t enough = depthwise_tasks_enough(machine, shares_of(plan));
    return ry_max(1, work < each * (double)enough ? (int64_t)(work / each) : enough);
}

/* Lines of a task. Whose sums are in scratch until they are transposed takes channels apart before
 * lines: parts of the lines stage again what they share. */
static int64_t choose_rows(const ry_machine *machine, const depthwise_nhwc_plan *plan,
                           int64_t enough, int64_t parts)
{
    const ry_conv_geometry *g = &plan->geometry;
    if (plan->staged) {
        const int64_t rows = ry_ceil_div(plan->lines, ry_max(1, enough / (g->batch * parts)));
        return ry_min(plan->lines, ry_max(2 * g->kernel[1], ry_round_up(rows, plan->height)));
    }
    const int64_t high = (int64_t)shares_of(plan)->nhwc_task_rows,
                  rows = g->kernel[1] > 3 ? high : high / 2, all = g->batch * plan->lines;
    const int64_t cuts = ry_ceil_div(plan->lines, ry_max(rows, ry_ceil_div(all, enough)));
    const int64_t even = cuts > 1 ? depthwise_even_tasks(cuts, machine) : 1;
    return ry_min(plan->lines, ry_round_up(ry_ceil_div(plan->lines, even),
                                           plan->height * plan->line_interleave));
}

/* Parts of the channels, where a task takes so many lines. */
static int64_t choose_parts(int width, const ry_machine *machine, const depthwise_nhwc_plan *plan,
                            int64_t enough, int64_t rows)
{
    const ry_conv_geometry *g = &plan->geometry;
    if (plan->staged) {
        /* vectors that are half a line of the cache share it, and a table */
        const bool half = width * (int)sizeof(float) < (int)machine->line_bytes;
        const int64_t max = ry_ceil_div(plan->outputs, half ? 2 * plan->lanes : plan->lanes);
        return ry_min(ry_ceil_div(depthwise_even_tasks(enough, machine), g->batch), max);
    }
    /* whole pixels are next to each other, where parts of them would be read and written in pieces
     */
    const int64_t min = ry_max(1, ry_ceil_div(enough, g->batch * ry_ceil_div(plan->lines, rows)));
    return rows == plan->lines
               ? depthwise_even_tasks(min, machine)
               : ry_min(min, ry_max(1, plan->outputs / (int64_t)shares_of(plan)->nhwc_part));
}

int64_t ry_depthwise_nhwc_part(const ry_query *query, const depthwise_nhwc_plan *plan)
{
    const ry_machine *machine = query->target->machine;
    const int64_t parts = choose_parts(query->kernel->simd.width, machine, plan,
                                       tasks_enough(machine, plan), plan->rows);
    return ry_round_up(ry_ceil_div(plan->outputs, parts), plan->lanes);
}

int64_t ry_depthwise_nhwc_task_rows(const ry_query *query, const depthwise_nhwc_plan *plan)
{
    const ry_machine *machine = query->target->machine;
    const int64_t part = plan->staged
                             ? ry_form_or(query, NHWC_PART, ry_depthwise_nhwc_part(query, plan))
                             : plan->outputs;
    return choose_rows(machine, plan, tasks_enough(machine, plan),
                       ry_ceil_div(plan->outputs, part));
}
