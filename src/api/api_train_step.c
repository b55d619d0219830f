/* SPDX-License-Identifier: Apache-2.0 */
/* Steps and evaluations of a trainer. */
#include "api/api_check.h"
#include "api/api_plan.h"
#include "api/api_status.h"
#include "api/trainer.h"

#include <math.h>
#include <string.h>

static bool is_same(const ry_tensor *a, const ry_tensor *b)
{
    const ry_shape shape = ry_tensor_shape(a), other = ry_tensor_shape(b);
    return a->data && a->data == b->data && a->dtype == b->dtype &&
           ry_shape_equal(&shape, &other) && ry_tensor_same_map(a, b);
}

/* Binds a tensor, unless the same memory is bound already. */
static rynd_status bind_tensor(ry_trainer_run *run, size_t input, const char *what,
                               const rynd_tensor *given, ry_error *error)
{
    ry_tensor tensor;
    const rynd_status status = ry_api_take_tensor(given, &tensor, error);
    if (status != RYND_OK) {
        ry_error_prefix(error, "%s '%s': ", what, run->plan->plan->input_names[input]);
        return status;
    }
    ry_tensor *bound = &run->bound[input];
    if (is_same(bound, &tensor)) {
        return RYND_OK;
    }
    bound->data = NULL;
    RY_TRY(ry_session_bind_input(ry_trainer_session(run), input, &tensor, error));
    *bound = tensor;
    return RYND_OK;
}

/* Class numbers outside the classes: one_hot would make nothing of them, and negative ones count
 * from the end. */
static rynd_status check_labels(const rynd_trainer *t, const rynd_tensor *target, ry_error *error)
{
    const ry_plan *plan = t->step.plan->plan;
    const ry_tensor *output = &plan->outputs[1].tensor;
    if (ry_dtype_is_float((ry_dtype)target->dtype) || ry_tensor_count(target) == 0) {
        return RYND_OK;
    }
    int64_t index[RY_MAX_RANK] = {0};
    const ry_shape shape = ry_tensor_shape(target);
    do {
        const int64_t number =
            ry_get_i64((ry_dtype)target->dtype, target->data, ry_index_offset(target, index));
        if ((number < 0 || number >= output->dim[1]) &&
            !(t->training->loss.options.ignores && number == t->training->loss.options.ignored)) {
            char at[16 * RY_MAX_RANK];
            const ry_shape where = ry_shape_of(target->rank, index);
            return ry_fail(error, RYND_ERROR_SHAPE,
                           "target '%s' has the class number %lld at %s, expected 0 to %lld",
                           t->training->loss.target, (long long)number,
                           ry_shape_text(NULL, &where, at, sizeof at),
                           (long long)(output->dim[1] - 1));
        }
    } while (ry_index_next(shape.rank, shape.dim, index));
    return RYND_OK;
}

static rynd_status check_box(const rynd_trainer *t, const rynd_tensor *target, int64_t picture,
                             int64_t row, ry_error *error)
{
    double number[5];
    for (int64_t i = 0; i < 5; i++) {
        const int64_t index[] = {picture, row, i};
        number[i] =
            ry_get_f64((ry_dtype)target->dtype, target->data, ry_index_offset(target, index));
    }
    const int64_t classes = t->training->loss.classes;
    const bool box = number[1] < number[3] && number[2] < number[4] && isfinite(number[3]) &&
                     isfinite(number[4]) && isfinite(number[1]) && isfinite(number[2]);
    if (number[0] < 0 || (box && number[0] == floor(number[0]) && number[0] < (double)classes)) {
        return RYND_OK;
    }
    return ry_fail(error, RYND_ERROR_SHAPE,
                   "target '%s', picture %lld, row %lld: class %g, box %g, %g, %g, %g (left, top, "
                   "right, bottom): expected a class of 0 to %lld, or below 0 for no box, and a "
                   "box with an area",
                   t->training->loss.target, (long long)picture, (long long)row, number[0],
                   number[1], number[2], number[3], number[4], (long long)classes - 1);
}

static rynd_status check_boxes(const rynd_trainer *t, const rynd_tensor *target, ry_error *error)
{
    for (int64_t n = 0; n < target->dim[0]; n++) {
        for (int64_t row = 0; row < target->dim[1]; row++) {
            RY_TRY(check_box(t, target, n, row, error));
        }
    }
    return RYND_OK;
}

static rynd_status bind_all(rynd_trainer *t, ry_trainer_run *run, const rynd_tensor *inputs,
                            const rynd_tensor *target, ry_error *error)
{
    for (size_t i = 0; i < t->inputs; i++) {
        RY_TRY(bind_tensor(run, i, "input", &inputs[i], error));
    }
    RY_TRY(bind_tensor(run, t->inputs, "target", target, error));
    return t->training->loss.options.loss == RY_LOSS_detection
               ? check_boxes(t, &run->bound[t->inputs], error)
               : check_labels(t, &run->bound[t->inputs], error);
}

/* With the other ranks, where it has something of theirs. */
static rynd_status run_once(const ry_trainer_run *run, ry_error *error)
{
    RY_TRY(run->sharing ? ry_sharing_begin(run->sharing, error) : RYND_OK);
    RY_TRY(ry_session_launch(ry_trainer_session(run), error));
    RY_TRY(ry_session_finish(ry_trainer_session(run), error));
    return run->sharing ? ry_sharing_finish(run->sharing, error) : RYND_OK;
}

/* The loss of a step that is shared is in a bucket, and the session has no memory for it. */
static rynd_status read_loss(const ry_trainer_run *run, double *loss, ry_error *error)
{
    ry_tensor tensor;
    if (run->sharing) {
        *loss = ry_sharing_loss(run->sharing);
        return RYND_OK;
    }
    RY_TRY(ry_session_output(ry_trainer_session(run), 0, &tensor, error));
    *loss = ry_get_f64((ry_dtype)tensor.dtype, tensor.data, 0);
    return RYND_OK;
}

static rynd_status go(rynd_trainer *t, const ry_trainer_run *run, double *loss, ry_error *error)
{
    RY_TRY(run_once(run, error));
    t->last = run;
    return loss ? read_loss(run, loss, error) : RYND_OK;
}

static rynd_status step(rynd_trainer *t, const rynd_tensor *inputs, const rynd_tensor *target,
                        double learning_rate, double *loss, ry_error *error)
{
    if (!isfinite(learning_rate)) {
        return ry_fail(error, RYND_ERROR_ARGUMENT,
                       "rynd_trainer_step: the learning rate is %g: give a number", learning_rate);
    }
    RY_TRY(bind_all(t, &t->step, inputs, target, error));
    t->learning_rate = learning_rate;
    t->more = t->summed > 0;
    RY_TRY(go(t, &t->step, loss, error));
    t->summed++;
    if (t->summed < t->accumulate) {
        t->updated = false; /* what the sums hold now is not the mean */
        return RYND_OK;
    }
    t->summed = 0;
    t->updated = true;
    return t->update.session ? run_once(&t->update, error) : RYND_OK;
}

rynd_status rynd_trainer_step(rynd_trainer *trainer, const rynd_tensor *inputs,
                              const rynd_tensor *target, double learning_rate, double *loss)
{
    RY_API_REQUIRE(trainer, inputs, target);
    ry_error error = {""};
    return ry_trainer_end(trainer, step(trainer, inputs, target, learning_rate, loss, &error),
                          &error);
}

/* Binds parameters to the states of the steps. */
static rynd_status bind_parameters(rynd_trainer *t, ry_error *error)
{
    for (size_t i = 0; i < t->training->count; i++) {
        const ry_training_parameter *p = &t->training->parameters[i];
        const ry_pointer pointer =
            ry_session_state_pointer(ry_trainer_session(ry_trainer_run_of(t, p)), p->state);
        RY_TRY(ry_session_bind_input_pointer(ry_trainer_session(&t->evaluation), t->inputs + 1 + i,
                                             pointer, error));
    }
    return RYND_OK;
}

static rynd_status make_evaluation(rynd_trainer *t, ry_error *error)
{
    ry_graph *graph;
    RY_TRY(ry_graph_clone(t->graph, &graph, error));
    rynd_status status = ry_training_make_loss(graph, t->training, error);
    if (status != RYND_OK) {
        ry_graph_destroy(graph);
        return status;
    }
    status = ry_trainer_run_create(t, graph, NULL, (ry_api_memory){0}, &t->evaluation, error);
    if (status == RYND_OK) {
        status = bind_parameters(t, error);
    }
    if (status != RYND_OK) {
        ry_trainer_run_destroy(&t->evaluation);
    }
    return status;
}

rynd_status rynd_trainer_prepare_evaluation(rynd_trainer *trainer)
{
    RY_API_REQUIRE(trainer);
    ry_error error = {""};
    const rynd_status status =
        trainer->evaluation.session ? RYND_OK : make_evaluation(trainer, &error);
    return ry_trainer_end(trainer, status, &error);
}

static rynd_status evaluate(rynd_trainer *t, const rynd_tensor *inputs, const rynd_tensor *target,
                            double *loss, ry_error *error)
{
    if (!t->evaluation.session) {
        RY_TRY(make_evaluation(t, error));
    }
    RY_TRY(bind_all(t, &t->evaluation, inputs, target, error));
    return go(t, &t->evaluation, loss, error);
}

rynd_status rynd_trainer_evaluate(rynd_trainer *trainer, const rynd_tensor *inputs,
                                  const rynd_tensor *target, double *loss)
{
    RY_API_REQUIRE(trainer, inputs, target);
    ry_error error = {""};
    return ry_trainer_end(trainer, evaluate(trainer, inputs, target, loss, &error), &error);
}

size_t rynd_trainer_output_count(const rynd_trainer *trainer)
{
    return trainer ? trainer->training->loss.output_count : 0;
}

static rynd_status get_output(const rynd_trainer *t, const char *function, size_t index,
                              const char **name, rynd_tensor *output, ry_error *error)
{
    if (!t->last) {
        return ry_fail(error, RYND_ERROR_ARGUMENT, "%s: there was no step and no evaluation yet",
                       function);
    }
    if (index >= t->training->loss.output_count) {
        return ry_fail(error, RYND_ERROR_ARGUMENT, "%s: output %zu is beyond %zu", function, index,
                       t->training->loss.output_count);
    }
    if (name) {
        *name = t->graph->values[t->training->loss.outputs[index]].name;
    }
    return ry_session_output(ry_trainer_session(t->last), 1 + index, output, error);
}

rynd_status rynd_trainer_get_output(const rynd_trainer *trainer, rynd_tensor *output)
{
    RY_API_REQUIRE(trainer, output);
    ry_error error = {""};
    return ry_api_end(get_output(trainer, "rynd_trainer_get_output", 0, NULL, output, &error),
                      &error);
}

rynd_status rynd_trainer_get_output_at(const rynd_trainer *trainer, size_t index, const char **name,
                                       rynd_tensor *output)
{
    RY_API_REQUIRE(trainer, output);
    ry_error error = {""};
    return ry_api_end(
        get_output(trainer, "rynd_trainer_get_output_at", index, name, output, &error), &error);
}

rynd_status rynd_trainer_get_target(const rynd_trainer *trainer, rynd_tensor *target)
{
    RY_API_REQUIRE(trainer, target);
    *target = trainer->target;
    target->data = NULL;
    return RYND_OK;
}
