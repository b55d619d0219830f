/* SPDX-License-Identifier: Apache-2.0 */
/* Counts what a convolution by tiles of split bfloat16 takes. */
#include "kernels/cpu/amx/split_cost.h"

#include "base/integer.h"
#include "kernels/costs.h"
#include "machine/machine.h"

enum { TILE_ROWS = SPLIT_TILE / SPLIT_STEP, MULTIPLY_ADD = 2 * SPLIT_LANES };

/* Work of a product of two tiles: its operations at bfloat16's peak. */
static double tile_work(const ry_machine *machine)
{
    const double sums = 2.0 * TILE_ROWS * TILE_ROWS * SPLIT_STEP;
    return machine->bf16.one > 0 ? sums * machine->f32.one / machine->bf16.one : sums;
}

void ry_split_count(const split_plan *plan, const ry_machine *machine, ry_work work[2])
{
    const struct ry_split_costs *cost = &ry_costs_on(machine, SPLIT_LANES)->split;
    const ry_conv_geometry *g = &plan->geometry;
    const double images = (double)(g->batch * g->groups), further = (double)(plan->parts - 1);
    /* A result comes after 52 cycles: two products take nearly as long as a full block's four. */
    const double rows = 2.0 * (double)ry_ceil_div(plan->segment, 2 * TILE_ROWS),
                 columns = 2.0 * (double)plan->oc_blocks;
    const double pairs = images * (double)plan->segments * rows * columns;
    const double products = (double)(plan->parts * (plan->parts + 1) / 2 * plan->steps * g->taps);
    const double in_vectors = images * (double)plan->copy / (double)(plan->parts * SPLIT_LANES);
    const double split = in_vectors * (cost->input + cost->part * further +
                                       (g->x_channel == 1 ? 0 : cost->transpose));
    const double ends =
        pairs * TILE_ROWS * (cost->output + (plan->along_channels ? 0 : cost->transpose));
    const double task = cost->task * MULTIPLY_ADD + machine->task_seconds * machine->f32.one;
    work[0] = (ry_work){split * MULTIPLY_ADD + (double)ry_cut_tasks(&plan->row_tasks) * task, 0};
    work[1] = (ry_work){pairs * products * tile_work(machine) / cost->efficiency +
                            ends * MULTIPLY_ADD + (double)ry_cut_tasks(&plan->tasks) * task,
                        0};
}

double ry_split_pack_work(const split_plan *plan, const ry_machine *machine)
{
    const struct ry_split_costs *cost = &ry_costs_on(machine, SPLIT_LANES)->split;
    const ry_conv_geometry *g = &plan->geometry;
    const double weights = (double)(g->groups * g->channels_out * g->channels_in * g->taps);
    return weights * (cost->weight + cost->weight_part * (double)plan->parts) * MULTIPLY_ADD;
}
