/* SPDX-License-Identifier: Apache-2.0 */
/* A step's constants are read once in a run, and come from wherever the machine keeps as many bytes
 * as the run touches; its tensors were written just before. Later micro-batches find the constants
 * in the caches. */
#include "plan/plan_time.h"

#include "predict/network.h"

unsigned ry_plan_step_constants(const ry_step *step)
{
    unsigned constants = 0;
    for (int i = 0; i < step->problem.inputs && i < 32; i++) {
        constants |= step->constants[i].data ? 1u << i : 0;
    }
    return constants;
}

double ry_plan_footprint(const ry_plan *plan)
{
    double bytes = (double)plan->weights.packed_size + (double)plan->weights.constant_size +
                   (double)plan->values_size;
    for (size_t i = 0; i < plan->input_count; i++) {
        bytes += (double)ry_tensor_bytes(&plan->inputs[i]);
    }
    for (size_t i = 0; i < plan->model_outputs; i++) {
        bytes += plan->outputs[i].later ? 0 : (double)ry_tensor_bytes(&plan->outputs[i].tensor);
    }
    return bytes;
}

static void add(ry_time *sum, const ry_time *time, double times)
{
    sum->all += times * time->all;
    sum->arithmetic += times * time->arithmetic;
    sum->memory += times * time->memory;
    sum->overhead += times * time->overhead;
    for (int i = 0; i < RYND_ENERGY_KINDS; i++) {
        sum->does[i] += times * time->does[i];
    }
}

/* Bytes of a step's tensor `i` (inputs, then outputs) that no constant holds. */
static double value_bytes(const ry_step *step, int i)
{
    const ry_problem *p = &step->problem;
    if (i >= p->inputs) {
        const int output = i - p->inputs;
        return ry_problem_has_output(p, output) ? (double)ry_tensor_bytes(&p->out[output]) : 0;
    }
    return ry_problem_has_input(p, i) && !step->constants[i].data
               ? (double)ry_tensor_bytes(&p->in[i])
               : 0;
}

ry_parts ry_plan_step_parts(const ry_plan *plan, size_t index, const ry_prepared *prepared,
                            unsigned threads, double footprint)
{
    const ry_step *step = &plan->steps[index];
    ry_parts parts = ry_predict_count(prepared, ry_plan_step_device(plan, step)->machine, threads,
                                      ry_plan_step_constants(step));
    for (int i = 0; step->since && i < step->problem.inputs + step->problem.outputs; i++) {
        ry_parts_reuse(&parts, value_bytes(step, i),
                       step->since[i] < footprint ? step->since[i] : footprint);
    }
    return parts;
}

ry_time ry_plan_step_time(const ry_plan *plan, size_t index, unsigned threads, double footprint)
{
    return ry_plan_other_time(plan, index, &plan->steps[index].prepared, threads, footprint);
}

ry_time ry_plan_other_time(const ry_plan *plan, size_t index, const ry_prepared *other,
                           unsigned threads, double footprint)
{
    const ry_step *step = &plan->steps[index];
    const ry_machine *machine = ry_plan_step_device(plan, step)->machine;
    const int64_t micro_batches = ry_plan_batch_split_of(plan, index)->micro_batches;
    const unsigned constants = ry_plan_step_constants(step);
    const ry_parts parts = ry_plan_step_parts(plan, index, other, threads, footprint);
    const double factor = ry_forecast_residual(machine, other->kernel).factor;
    ry_time time = {0};
    const ry_time first = ry_predict_in_network(&parts, machine, threads, factor, footprint);
    add(&time, &first, 1);
    if (micro_batches > 1) {
        const ry_time later = ry_predict_in_network(&parts, machine, threads, factor, 0);
        add(&time, &later, (double)(micro_batches - 1));
    }
    if (ry_plan_falls_back(plan, step)) {
        const ry_time copies = {
            .all = ry_predict_copies(&step->problem, constants, plan->device->machine)};
        add(&time, &copies, (double)micro_batches);
    }
    return time;
}
