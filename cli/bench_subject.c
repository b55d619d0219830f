/* SPDX-License-Identifier: Apache-2.0 */
/* Opens models and problems for timing. */
#include "bench_subject.h"

#include <stdlib.h>
#include <string.h>

/* Knuth's MMIX generator: the same numbers in every run. */
static double random_unit(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) / 9007199254740992.0; /* 2^53 */
}

void cli_fill_random(const rynd_tensor *tensor, uint64_t seed)
{
    uint64_t state = seed;
    for (cli_walk w = cli_walk_begin(tensor); w.left > 0; cli_walk_next(&w, tensor)) {
        double value = random_unit(&state);
        if (cli_dtype_is_float(tensor->dtype)) {
            value = 2 * value - 1;
        } else if (tensor->dtype == RYND_DTYPE_U8) {
            value *= 255;
        } else if (tensor->dtype == RYND_DTYPE_I8) {
            value = 255 * value - 128;
        }
        if (tensor->dtype == RYND_DTYPE_F32) {
            ((float *)tensor->data)[w.offset] = (float)value;
        } else {
            cli_element_set(tensor->dtype, tensor->data, w.offset, (cli_number)value);
        }
    }
}

/* Memory that a description's strides stay inside of. */
static bool make_described(cli_tensor *tensor, const rynd_tensor *description, uint64_t seed,
                           cli_failure *failure)
{
    int64_t span = 1;
    for (int i = 0; i < description->rank; i++) {
        span += description->dim[i] > 0 ? (description->dim[i] - 1) * description->stride[i] : 0;
    }
    if (!cli_tensor_make(tensor, description->dtype, 1, &span, failure)) {
        return false;
    }
    tensor->view = *description;
    tensor->view.data = tensor->memory;
    cli_fill_random(&tensor->view, seed);
    return true;
}

/* Binds random numbers to an input. */
static bool bind_random(cli_subject *subject, const cli_setup *setup, cli_failure *failure)
{
    rynd_tensor description;
    if (rynd_plan_get_input(setup->plan, subject->count, &description) != RYND_OK) {
        return cli_fail_library(failure);
    }
    cli_tensor *tensor = &subject->tensors[subject->count];
    if (!make_described(tensor, &description, subject->count + 1, failure)) {
        return false;
    }
    return rynd_session_bind_input(subject->session, subject->count, &tensor->view) == RYND_OK ||
           cli_fail_library(failure);
}

bool cli_subject_open_loaded(cli_subject *subject, cli_setup *setup, const cli_common *common,
                             const rynd_tensor *inputs, cli_failure *failure)
{
    if (!cli_setup_plan(setup, common, inputs, false, failure)) {
        return false;
    }
    if (rynd_session_create(setup->plan, &subject->session) != RYND_OK) {
        subject->session = NULL;
        return cli_fail_library(failure);
    }
    subject->inputs = rynd_model_input_count(setup->model);
    subject->tensors = calloc(subject->inputs + 1, sizeof *subject->tensors);
    if (!subject->tensors) {
        return cli_fail_memory(failure);
    }
    for (; subject->count < subject->inputs; subject->count++) {
        if (inputs ? rynd_session_bind_input(subject->session, subject->count,
                                             &inputs[subject->count]) != RYND_OK
                   : !bind_random(subject, setup, failure)) {
            return inputs ? cli_fail_library(failure) : false;
        }
    }
    for (size_t i = 0; i < rynd_plan_step_count(setup->plan); i++) {
        rynd_step_info step = RYND_SIZED(rynd_step_info);
        if (rynd_plan_get_step(setup->plan, i, &step) != RYND_OK) {
            return cli_fail_library(failure);
        }
        subject->flop += step.flop;
        subject->bytes += step.bytes;
    }
    return true;
}

static bool open_model(cli_subject *subject, cli_setup *setup, const cli_common *common,
                       bool gradient, cli_failure *failure)
{
    return (gradient ? cli_setup_gradient : cli_setup_model)(setup, subject->name, failure) &&
           cli_subject_open_loaded(subject, setup, common, NULL, failure);
}

static bool make_operands(cli_subject *subject, cli_failure *failure)
{
    size_t outputs = rynd_op_output_count(subject->op), total = subject->inputs + outputs;
    subject->tensors = calloc(total + 1, sizeof *subject->tensors);
    subject->in = calloc(subject->inputs + 1, sizeof *subject->in);
    subject->out = calloc(outputs + 1, sizeof *subject->out);
    if (!subject->tensors || !subject->in || !subject->out) {
        return cli_fail_memory(failure);
    }
    for (; subject->count < total; subject->count++) {
        size_t i = subject->count;
        bool input = i < subject->inputs;
        rynd_tensor description;
        rynd_status status =
            input ? rynd_op_get_input(subject->op, i, &description)
                  : rynd_op_get_output(subject->op, i - subject->inputs, &description);
        if (status != RYND_OK) {
            return cli_fail_library(failure);
        }
        if (description.dtype == RYND_DTYPE_NONE) {
            continue;
        }
        if (!make_described(&subject->tensors[i], &description, i + 1, failure)) {
            return false;
        }
        if (input) {
            subject->in[i] = subject->tensors[i].view.data;
        } else {
            subject->out[i - subject->inputs] = subject->tensors[i].view.data;
        }
    }
    return true;
}

/* Made twice: first to learn the shapes, then with the constants' values. */
static bool open_problem(cli_subject *subject, cli_setup *setup, const cli_common *common,
                         cli_failure *failure)
{
    if (!cli_setup_op(setup, common, subject->name, NULL, &subject->op, failure)) {
        return false;
    }
    subject->inputs = rynd_op_input_count(subject->op);
    if (!make_operands(subject, failure)) {
        return false;
    }
    rynd_tensor *given = calloc(subject->inputs + 1, sizeof *given);
    if (!given) {
        return cli_fail_memory(failure);
    }
    for (size_t i = 0; i < subject->inputs; i++) {
        given[i] = subject->tensors[i].view;
        given[i].data =
            i < 32 && (cli_constants_of(subject->name) >> i & 1u) ? given[i].data : NULL;
    }
    rynd_op_destroy(subject->op);
    bool done = cli_setup_op(setup, common, subject->name, given, &subject->op, failure);
    free(given);
    rynd_step_info info = RYND_SIZED(rynd_step_info);
    if (!done) {
        return false;
    }
    if (rynd_op_get_info(subject->op, &info) != RYND_OK) {
        return cli_fail_library(failure);
    }
    subject->kernel = info.kernel;
    subject->flop = info.flop;
    subject->bytes = info.bytes;
    return true;
}

bool cli_subject_open(cli_subject *subject, cli_setup *setup, const cli_common *common,
                      const char *name, bool gradient, cli_failure *failure)
{
    *subject = (cli_subject){.name = name};
    return cli_is_problem(name) && !gradient
               ? open_problem(subject, setup, common, failure)
               : open_model(subject, setup, common, gradient, failure);
}

bool cli_subject_run(cli_subject *subject, cli_failure *failure)
{
    rynd_status status = subject->op ? rynd_op_execute(subject->op, subject->in, subject->out)
                                     : rynd_session_run(subject->session);
    return status == RYND_OK ? true : cli_fail_library(failure);
}

void cli_subject_close(cli_subject *subject)
{
    rynd_session_destroy(subject->session);
    rynd_op_destroy(subject->op);
    for (size_t i = 0; i < subject->count; i++) {
        cli_tensor_free(&subject->tensors[i]);
    }
    free(subject->tensors);
    free(subject->in);
    free(subject->out);
    *subject = (cli_subject){0};
}
