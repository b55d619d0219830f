/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts a separable convolution into strips. */
#include "kernels/cpu/separable/separable_plan.h"

#include "base/integer.h"
#include "kernels/costs.h"
#include "kernels/cpu/parts/tile_lines.h"
#include "kernels/form_least.h"
#include "machine/machine.h"

#include <string.h>

static bool is_f32(const ry_problem *problem, int i)
{
    return !ry_problem_has_input(problem, i) || ry_type_of(&problem->in[i]) == RY_f32;
}

/* Are the channels of a position side by side? One channel always is. */
static bool is_channels_last(const ry_tensor *t)
{
    return t->dim[1] == 1 || t->stride[1] == 1;
}

/* Is that so of y, or of the residual, and do its rows follow each other without a gap? */
static bool in_line(const ry_tensor *t)
{
    return is_channels_last(t) && (t->rank == 3 || t->dim[2] == 1 || t->dim[3] == 1 ||
                                   t->stride[2] == t->dim[3] * t->stride[3]);
}

void ry_separable_depthwise_of(const ry_problem *problem, int64_t pixel, separable_depthwise *d)
{
    const ry_separable_conv_attrs *a = &problem->attrs.separable_conv;
    const ry_tensor *y = &problem->out[0];
    *d = (separable_depthwise){.problem = {.op = RY_OP_conv,
                                           .accuracy = problem->accuracy,
                                           .attrs = ry_attrs_default(RY_OP_conv),
                                           .inputs = 3,
                                           .outputs = 1,
                                           .in = d->in,
                                           .out = d->out},
                               .out = {*y}};
    ry_conv_attrs *conv = &d->problem.attrs.conv;
    conv->stride = a->stride;
    conv->dilation = a->dilation;
    conv->pads = a->pads;
    conv->groups = problem->in[0].dim[1];
    conv->activation = a->mid_activation;
    conv->act_alpha = a->mid_alpha;
    conv->act_beta = a->mid_beta;
    for (int i = 0; i < 3; i++) {
        if (ry_problem_has_input(problem, i)) {
            d->in[i] = problem->in[i];
        }
    }
    /* all images use the same block */
    ry_tensor *m = &d->out[0];
    m->dim[1] = conv->groups;
    m->stride[0] = 0;
    m->stride[1] = 1;
    for (int i = m->rank - 1; i >= 2; pixel *= m->dim[i], i--) {
        m->stride[i] = pixel;
    }
}

static bool suits(const ry_problem *problem, int width)
{
    const ry_tensor *x = &problem->in[0], *y = &problem->out[0];
    for (int i = 0; i < 6; i++) {
        if (!is_f32(problem, i)) {
            return false;
        }
    }
    if (ry_type_of(y) != RY_f32 || x->rank < 3 || x->rank > 4 || !is_channels_last(x) ||
        !in_line(y) || (ry_problem_has_input(problem, 5) && !in_line(&problem->in[5]))) {
        return false;
    }
    for (int i = 0; i < x->rank; i++) {
        if (x->dim[i] < 1 || y->dim[i] < 1) {
            return false;
        }
    }
    separable_depthwise depthwise;
    ry_separable_depthwise_of(problem, x->dim[1], &depthwise);
    return ry_depthwise_nhwc_suits(&depthwise.problem, width);
}

#define TAKES(width)                                           \
    bool ry_separable_takes_##width(const ry_problem *problem) \
    {                                                          \
        return suits(problem, width);                          \
    }
TAKES(4)
TAKES(8)
TAKES(16)

static void read_problem(const ry_problem *problem, separable_plan *plan)
{
    const ry_tensor *x = &problem->in[0], *y = &problem->out[0];
    const int last = y->rank - 1;
    plan->batch = x->dim[0];
    plan->channels = x->dim[1];
    plan->outputs = y->dim[1];
    plan->columns_out = y->dim[last];
    plan->rows_out = last > 2 ? y->dim[2] : 1;
    plan->y_batch = y->stride[0];
    plan->y_pixel = plan->columns_out > 1 ? y->stride[last] : last > 2 ? y->stride[2] : 0;
    if (ry_problem_has_input(problem, 5)) {
        const ry_tensor *r = &problem->in[5];
        plan->r_batch = r->stride[0];
        plan->r_pixel = plan->columns_out > 1 ? r->stride[last] : last > 2 ? r->stride[2] : 0;
    }
}

static const struct ry_separable_costs *costs_of(const separable_plan *plan)
{
    return &ry_costs_of(plan->costs)->separable;
}

/* Time that a row costs in a task of so many rows, against one without a neighbour: all cores, or
 * half of them, wait for the last, and the rows of x that windows reach over are read by both. */
static double task_cost(const separable_plan *plan, const ry_machine *machine, int64_t task_rows)
{
    const int64_t tasks = plan->batch * ry_ceil_div(plan->rows_out, task_rows),
                  cores = machine->cores;
    const double idle =
        (double)(ry_round_up(tasks, cores) + ry_round_up(tasks, 2 * cores)) / (double)(2 * tasks);
    return idle + costs_of(plan)->read_twice * (double)(plan->depthwise.geometry.kernel[1] - 1) /
                      (double)task_rows;
}

/* Rows of a strip. */
static int64_t usual_rows(const separable_plan *plan, const ry_machine *machine)
{
    const int64_t row = plan->columns_out * plan->m_step * (int64_t)sizeof(float),
                  together = plan->depthwise.height;
    const struct ry_blocks_costs *limit = ry_blocks_of(plan->costs);
    const int64_t pixels = (int64_t)limit->separable_pixels,
                  wanted = ry_round_up(ry_ceil_div(pixels, plan->columns_out), together);
    const int64_t tasks = (int64_t)limit->separable_tasks * machine->cores,
                  shared = ry_ceil_div(plan->rows_out * plan->batch, tasks);
    const int64_t rows =
        ry_min(ry_min(wanted, shared),
               ry_machine_core_share(machine, RYND_LEVEL_L2, limit->separable_block) / row);
    return ry_min(ry_max(1, rows), plan->rows_out);
}

static void list_values(const ry_query *query, const void *user, int knob, ry_knob_values *values)
{
    const separable_plan *plan = user;
    const int64_t strips = (int64_t)ry_blocks_of(plan->costs)->separable_strips;
    if (knob == SEPARABLE_ROWS) {
        ry_knob_values_add(values, usual_rows(plan, query->target->machine));
        return;
    }
    for (int64_t rows = plan->rows; rows <= strips * plan->rows; rows += plan->rows) {
        ry_knob_values_add(values, rows);
    }
}

static bool set_axis(const ry_query *query, void *user, int knob, const ry_form *form)
{
    separable_plan *plan = user;
    (void)query;
    *(knob == SEPARABLE_ROWS ? &plan->rows : &plan->task_rows) = form->value[knob];
    return true;
}

static double cost_of(const ry_query *query, void *user, double least)
{
    const separable_plan *plan = user;
    (void)least;
    return task_cost(plan, query->target->machine, plan->task_rows);
}

static const ry_form_axis axes[] = {{.knob = SEPARABLE_ROWS},
                                    {.knob = SEPARABLE_TASK_ROWS, .after = 1}};
static const ry_form_search search = {
    axes, sizeof axes / sizeof *axes, list_values, set_axis, NULL, cost_of};

static double count_cycles(const separable_plan *plan)
{
    const double pixels = (double)(plan->batch * plan->rows_out * plan->columns_out);
    const double strips = (double)(plan->batch * ry_ceil_div(plan->rows_out, plan->rows));
    const double pointwise = pixels * (double)ry_ceil_div(plan->outputs, plan->width) *
                             ((double)plan->channels + costs_of(plan)->ends);
    const double weights =
        strips * (double)(plan->channels * plan->outputs) * costs_of(plan)->weight;
    return plan->depthwise.cycles + pointwise + weights + strips * costs_of(plan)->strip;
}

void ry_separable_initialise(const ry_query *query, void *state)
{
    separable_plan *plan = state;
    const ry_problem *problem = query->problem;
    const ry_simd *simd = &query->kernel->simd;
    memset(plan, 0, sizeof *plan);
    read_problem(problem, plan);
    plan->width = simd->width;
    plan->costs = ry_cost_column_of(query->target->machine, simd->width);
    plan->tile_rows = ry_min(simd->rows, (int64_t)ry_blocks_of(plan->costs)->strided_rows);
    plan->tile_columns = (int64_t)simd->width * simd->vectors;
    plan->oc_blocks = ry_ceil_div(plan->outputs, plan->tile_columns);
    plan->m_step = ry_round_up(plan->channels, simd->width) + RY_ROW_GAP;
    separable_depthwise depthwise;
    ry_separable_depthwise_of(problem, plan->m_step, &depthwise);
    const ry_query half = {query->kernel, &depthwise.problem, query->target, NULL};
    ry_depthwise_nhwc_plan_make(&half, &plan->depthwise);
    /* what is between the two is a block in scratch */
    const double last = (double)ry_machine_core_bytes(query->target->machine, RYND_LEVEL_L3);
    plan->depthwise.fetches =
        plan->depthwise.fetches && (double)ry_tensor_bytes(&problem->in[0]) > last;
    (void)ry_form_least(&search, query, plan);
    plan->tasks = (ry_task_cut){{{plan->batch, 1}, {plan->rows_out, plan->task_rows}}};
    plan->pointwise = plan->depthwise.packed;
    plan->bias = plan->pointwise + plan->channels * ry_round_up(plan->outputs, simd->width);
    plan->packed = plan->bias + plan->oc_blocks * plan->tile_columns;
    plan->block = plan->depthwise.scratch;
    plan->scratch =
        plan->block +
        ry_aligned((size_t)(plan->rows * plan->columns_out * plan->m_step) * sizeof(float));
    plan->cycles = count_cycles(plan);
}
