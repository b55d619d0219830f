/* SPDX-License-Identifier: Apache-2.0 */
/* Every public function with each of its pointers NULL, the others being good: an error that names
 * the parameter, or what the header says of a NULL that is allowed. The functions and their
 * parameters are read from the headers, so one that is not tried here fails the last test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "devices_file.h"
#include "tiny_model.h"
#include <rynd/rynd.h>

#include <ctype.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Good arguments. */
static rynd_context *context;
static rynd_model *model;
static rynd_plan *plan;
static rynd_session *session;
static rynd_op *op;
static uint8_t bytes[TINY_MODEL_CAPACITY];
static size_t size;

/* "rynd_model_load path", one line for each pointer that was NULL once. */
static char tried[1 << 14];

static void note(const char *function, const char *parameter)
{
    const size_t used = strlen(tried);
    assert_true(used + 128 < sizeof tried);
    snprintf(tried + used, sizeof tried - used, "%s %s\n", function, parameter);
}

static void refused(const char *function, const char *parameter, rynd_status status)
{
    char message[128];
    note(function, parameter);
    snprintf(message, sizeof message, "%s: %s is NULL", function, parameter);
    assert_int_equal(status, RYND_ERROR_ARGUMENT);
    assert_string_equal(rynd_last_error(), message);
}

static void taken(const char *function, const char *parameter, bool right)
{
    note(function, parameter);
    if (!right) {
        fail_msg("%s with %s NULL does not do what its header says (%s)", function, parameter,
                 rynd_last_error());
    }
}

#define REFUSES(function, parameter, ...) refused(#function, #parameter, function(__VA_ARGS__))
/* `right` is true when the call did what the header says. */
#define TAKES(function, parameter, right) taken(#function, #parameter, (right))
#define IGNORES(function, parameter, ...) (function(__VA_ARGS__), note(#function, #parameter))

static int begin(void **state)
{
    (void)state;
    const rynd_context_options options = RYND_SIZED(rynd_context_options, .threads = 2);
    const rynd_plan_options plan_options = RYND_SIZED(rynd_plan_options, .batch = 1);
    size = tiny_model(bytes);
    return rynd_context_create(&options, &context) ||
           rynd_model_load_memory(context, bytes, size, &model) ||
           rynd_plan_create(model, &plan_options, &plan) || rynd_session_create(plan, &session) ||
           rynd_op_create(context, "conv c=2 h=3 w=3 k=2", NULL, &op);
}

static int end(void **state)
{
    (void)state;
    rynd_op_destroy(op);
    rynd_session_destroy(session);
    rynd_plan_destroy(plan);
    rynd_model_destroy(model);
    rynd_context_destroy(context);
    return 0;
}

static void trainers(void **state)
{
    (void)state;
    rynd_trainer *trainer = NULL, *made = NULL;
    const char *identity;
    void *saved;
    size_t saved_size;
    const rynd_trainer_options options = RYND_SIZED(rynd_trainer_options, .batch = 1);
    rynd_state_info info = RYND_SIZED(rynd_state_info);
    rynd_bucket_info bucket = RYND_SIZED(rynd_bucket_info);
    rynd_tensor tensor = {.data = NULL};
    assert_int_equal(rynd_trainer_create(model, &options, &trainer), RYND_OK);
    REFUSES(rynd_trainer_create, model, NULL, &options, &made);
    REFUSES(rynd_trainer_create, trainer, model, &options, NULL);
    /* without a batch its size is open */
    TAKES(rynd_trainer_create, options,
          rynd_trainer_create(model, NULL, &made) == RYND_ERROR_SHAPE);
    IGNORES(rynd_trainer_destroy, trainer, NULL);
    REFUSES(rynd_trainer_get_target, trainer, NULL, &tensor);
    REFUSES(rynd_trainer_get_target, target, trainer, NULL);
    REFUSES(rynd_trainer_step, trainer, NULL, &tensor, &tensor, 0, NULL);
    REFUSES(rynd_trainer_step, inputs, trainer, NULL, &tensor, 0, NULL);
    REFUSES(rynd_trainer_step, target, trainer, &tensor, NULL, 0, NULL);
    TAKES(rynd_trainer_step, loss,
          rynd_trainer_step(trainer, &tensor, &tensor, 0, NULL) == RYND_ERROR_SHAPE);
    REFUSES(rynd_trainer_evaluate, trainer, NULL, &tensor, &tensor, NULL);
    REFUSES(rynd_trainer_evaluate, inputs, trainer, NULL, &tensor, NULL);
    REFUSES(rynd_trainer_evaluate, target, trainer, &tensor, NULL, NULL);
    TAKES(rynd_trainer_evaluate, loss,
          rynd_trainer_evaluate(trainer, &tensor, &tensor, NULL) == RYND_ERROR_SHAPE);
    REFUSES(rynd_trainer_get_output, trainer, NULL, &tensor);
    REFUSES(rynd_trainer_get_output, output, trainer, NULL);
    TAKES(rynd_trainer_state_count, trainer, rynd_trainer_state_count(NULL) == 0);
    REFUSES(rynd_trainer_get_state, trainer, NULL, 0, &info);
    REFUSES(rynd_trainer_get_state, info, trainer, 0, NULL);
    REFUSES(rynd_trainer_get_state_named, trainer, NULL, "w1", &info);
    REFUSES(rynd_trainer_get_state_named, name, trainer, NULL, &info);
    REFUSES(rynd_trainer_get_state_named, info, trainer, "w1", NULL);
    REFUSES(rynd_trainer_read, trainer, NULL, "w1", &tensor);
    REFUSES(rynd_trainer_read, name, trainer, NULL, &tensor);
    REFUSES(rynd_trainer_read, tensor, trainer, "w1", NULL);
    REFUSES(rynd_trainer_write, trainer, NULL, "w1", &tensor);
    REFUSES(rynd_trainer_write, name, trainer, NULL, &tensor);
    REFUSES(rynd_trainer_write, tensor, trainer, "w1", NULL);
    REFUSES(rynd_trainer_prepare_evaluation, trainer, NULL);
    REFUSES(rynd_trainer_get_identity, trainer, NULL, &identity);
    REFUSES(rynd_trainer_get_identity, text, trainer, NULL);
    REFUSES(rynd_trainer_save, trainer, NULL, "/nowhere/x.onnx");
    REFUSES(rynd_trainer_save, path, trainer, NULL);
    REFUSES(rynd_trainer_save_memory, trainer, NULL, &saved, &saved_size);
    REFUSES(rynd_trainer_save_memory, data, trainer, NULL, &saved_size);
    REFUSES(rynd_trainer_save_memory, size, trainer, &saved, NULL);
    REFUSES(rynd_trainer_get_gradient, trainer, NULL, "w1", &tensor);
    REFUSES(rynd_trainer_get_gradient, name, trainer, NULL, &tensor);
    REFUSES(rynd_trainer_get_gradient, tensor, trainer, "w1", NULL);
    TAKES(rynd_trainer_bucket_count, trainer, rynd_trainer_bucket_count(NULL) == 0);
    REFUSES(rynd_trainer_get_bucket, trainer, NULL, 0, &bucket);
    REFUSES(rynd_trainer_get_bucket, info, trainer, 0, NULL);
    TAKES(rynd_trainer_plan, trainer, rynd_trainer_plan(NULL) == NULL);
    TAKES(rynd_trainer_update_plan, trainer, rynd_trainer_update_plan(NULL) == NULL);
    REFUSES(rynd_trainer_profile, trainer, NULL, 1);
    TAKES(rynd_trainer_step_time, trainer, rynd_trainer_step_time(NULL, 0) == 0);
    TAKES(rynd_trainer_memory, trainer, rynd_trainer_memory(NULL) == 0);
    rynd_trainer_destroy(trainer);
}

static void exchanges(void **state)
{
    (void)state;
    REFUSES(rynd_mpi_open, exchange, NULL);
    IGNORES(rynd_mpi_close, exchange, NULL);
    IGNORES(rynd_mpi_abort, exchange, NULL, 1);
}

static void contexts(void **state)
{
    rynd_checked_kernel checked = RYND_SIZED(rynd_checked_kernel);
    (void)state;
    rynd_context *made = NULL;
    rynd_device_info info = RYND_SIZED(rynd_device_info);
    rynd_machine machine = RYND_SIZED(rynd_machine);
    const rynd_measure_options quick = RYND_SIZED(rynd_measure_options, .seconds = 0.1);
    REFUSES(rynd_context_create, context, NULL, NULL);
    TAKES(rynd_context_create, options, rynd_context_create(NULL, &made) == RYND_OK && made);
    rynd_context_destroy(made);
    IGNORES(rynd_context_destroy, context, NULL);
    REFUSES(rynd_device_get_name, name, 0, NULL, 16);
    REFUSES(rynd_context_get_info, context, NULL, &info);
    REFUSES(rynd_context_get_info, info, context, NULL);
    REFUSES(rynd_context_get_machine, context, NULL, &machine);
    REFUSES(rynd_context_get_machine, machine, context, NULL);
    REFUSES(rynd_context_measure, context, NULL, &quick, &machine);
    REFUSES(rynd_context_measure, machine, context, &quick, NULL);
    /* By the defaults it takes half a minute: here it only fails for another reason. */
    TAKES(rynd_context_measure, options,
          rynd_context_measure(context, NULL, &(rynd_machine){0}) == RYND_ERROR_ARGUMENT &&
              strstr(rynd_last_error(), "rynd_machine: size is 0"));
    REFUSES(rynd_context_keep_machine, context, NULL, &machine, NULL);
    REFUSES(rynd_context_keep_machine, machine, context, NULL, NULL);
    /* A machine of zeros is refused, whether the name is wanted or not. */
    TAKES(rynd_context_keep_machine, path,
          rynd_context_keep_machine(context, &machine, NULL) == RYND_ERROR_ARGUMENT);
    REFUSES(rynd_context_check, context, NULL, NULL, NULL);
    TAKES(rynd_context_check, options, rynd_context_check(context, NULL, NULL) == RYND_OK);
    TAKES(rynd_context_check, path, rynd_context_checked_count(context) > 0);
    TAKES(rynd_context_checked_count, context, rynd_context_checked_count(NULL) == 0);
    REFUSES(rynd_context_get_checked, context, NULL, 0, &checked);
    REFUSES(rynd_context_get_checked, kernel, context, 0, NULL);
    REFUSES(rynd_machine_save, machine, NULL, "/nowhere/machine.txt");
    REFUSES(rynd_machine_save, path, &machine, NULL);
    REFUSES(rynd_machine_load, path, NULL, &machine);
    REFUSES(rynd_machine_load, machine, "/nowhere/machine.txt", NULL);
}

static void texts(void **state)
{
    (void)state;
    char room[8] = "";
    TAKES(rynd_text_escape, text, rynd_text_escape(NULL, RYND_ESCAPE_LINE, room, sizeof room) == 0);
    TAKES(rynd_text_escape, to, rynd_text_escape("abc", RYND_ESCAPE_LINE, NULL, 0) == 3);
    TAKES(rynd_op_is_problem, text, rynd_op_is_problem(NULL) == 0);
}

static void randoms(void **state)
{
    (void)state;
    const rynd_random random = {.seed = 1};
    float values[4];
    uint64_t order[4];
    REFUSES(rynd_random_uniform, random, NULL, 0, 4, values);
    REFUSES(rynd_random_uniform, values, &random, 0, 4, NULL);
    REFUSES(rynd_random_normal, random, NULL, 0, 4, values);
    REFUSES(rynd_random_normal, values, &random, 0, 4, NULL);
    REFUSES(rynd_random_permutation, random, NULL, 4, order);
    REFUSES(rynd_random_permutation, order, &random, 4, NULL);
}

static void tensors(void **state)
{
    (void)state;
    float x[6] = {0};
    void *written = NULL;
    size_t length = 0;
    rynd_tensor tensor = rynd_tensor_of(x, RYND_DTYPE_F32, 2, (int64_t[]){2, 3}), read;
    TAKES(rynd_tensor_of, data,
          rynd_tensor_of(NULL, RYND_DTYPE_F32, 1, (int64_t[]){6}).dtype == RYND_DTYPE_F32);
    TAKES(rynd_tensor_of, dim, rynd_tensor_of(x, RYND_DTYPE_F32, 0, NULL).dtype == RYND_DTYPE_F32);
    assert_int_equal(rynd_tensor_of(x, RYND_DTYPE_F32, 1, NULL).dtype, RYND_DTYPE_NONE);
    TAKES(rynd_tensor_elements, tensor, rynd_tensor_elements(NULL) == -1);
    REFUSES(rynd_tensor_write_pb, context, NULL, "x", &tensor, &written, &length);
    REFUSES(rynd_tensor_write_pb, tensor, context, "x", NULL, &written, &length);
    REFUSES(rynd_tensor_write_pb, data, context, "x", &tensor, NULL, &length);
    REFUSES(rynd_tensor_write_pb, size, context, "x", &tensor, &written, NULL);
    TAKES(rynd_tensor_write_pb, name,
          rynd_tensor_write_pb(context, NULL, &tensor, &written, &length) == RYND_OK);
    REFUSES(rynd_tensor_read_pb, context, NULL, written, length, &read, NULL);
    REFUSES(rynd_tensor_read_pb, data, context, NULL, length, &read, NULL);
    REFUSES(rynd_tensor_read_pb, tensor, context, written, length, NULL, NULL);
    TAKES(rynd_tensor_read_pb, name,
          rynd_tensor_read_pb(context, written, length, &read, NULL) == RYND_OK);
    IGNORES(rynd_tensor_free, context, NULL, &read);
    IGNORES(rynd_tensor_free, tensor, context, NULL);
    rynd_tensor_free(context, &read);
    IGNORES(rynd_memory_free, context, NULL, written);
    IGNORES(rynd_memory_free, memory, context, NULL);
    rynd_memory_free(context, written);
}

static void models(void **state)
{
    (void)state;
    rynd_model *made = NULL;
    rynd_model_info info = RYND_SIZED(rynd_model_info);
    rynd_value_info value = RYND_SIZED(rynd_value_info);
    rynd_node_info node = RYND_SIZED(rynd_node_info);
    rynd_weights weights = RYND_SIZED(rynd_weights);
    const char *name;
    size_t count;
    REFUSES(rynd_model_load, context, NULL, "x.onnx", &made);
    REFUSES(rynd_model_load, path, context, NULL, &made);
    REFUSES(rynd_model_load, model, context, "x.onnx", NULL);
    REFUSES(rynd_model_load_memory, context, NULL, bytes, size, &made);
    REFUSES(rynd_model_load_memory, data, context, NULL, size, &made);
    REFUSES(rynd_model_load_memory, model, context, bytes, size, NULL);
    IGNORES(rynd_model_destroy, model, NULL);
    TAKES(rynd_model_input_count, model, rynd_model_input_count(NULL) == 0);
    TAKES(rynd_model_output_count, model, rynd_model_output_count(NULL) == 0);
    REFUSES(rynd_model_get_input, model, NULL, 0, &value);
    REFUSES(rynd_model_get_input, info, model, 0, NULL);
    REFUSES(rynd_model_get_output, model, NULL, 0, &value);
    REFUSES(rynd_model_get_output, info, model, 0, NULL);
    REFUSES(rynd_model_get_info, model, NULL, &info);
    REFUSES(rynd_model_get_info, info, model, NULL);
    REFUSES(rynd_model_get_weights, model, NULL, &weights);
    REFUSES(rynd_model_get_weights, weights, model, NULL);
    REFUSES(rynd_model_keep, model, NULL, 0);
    REFUSES(rynd_model_get_operator, model, NULL, 0, &name, &count);
    REFUSES(rynd_model_get_operator, name, model, 0, NULL, &count);
    REFUSES(rynd_model_get_operator, count, model, 0, &name, NULL);
    TAKES(rynd_model_node_count, model, rynd_model_node_count(NULL) == 0);
    REFUSES(rynd_model_get_node, model, NULL, 0, &node);
    REFUSES(rynd_model_get_node, info, model, 0, NULL);
    TAKES(rynd_model_node_input, model, rynd_model_node_input(NULL, 0, 0) == NULL);
    TAKES(rynd_model_node_output, model, rynd_model_node_output(NULL, 0, 0) == NULL);
    REFUSES(rynd_model_get_value, model, NULL, "x", &value);
    REFUSES(rynd_model_get_value, name, model, NULL, &value);
    REFUSES(rynd_model_get_value, info, model, "x", NULL);
    void *data = NULL;
    size_t length = 0;
    REFUSES(rynd_model_save, model, NULL, "/nowhere/x.onnx", NULL, 0);
    REFUSES(rynd_model_save, path, model, NULL, NULL, 0);
    REFUSES(rynd_model_save, tensors, model, "/nowhere/x.onnx", NULL, 1);
    REFUSES(rynd_model_save_memory, model, NULL, NULL, 0, &data, &length);
    REFUSES(rynd_model_save_memory, tensors, model, NULL, 1, &data, &length);
    REFUSES(rynd_model_save_memory, data, model, NULL, 0, NULL, &length);
    REFUSES(rynd_model_save_memory, size, model, NULL, 0, &data, NULL);
}

static void plans(void **state)
{
    (void)state;
    rynd_plan *made = NULL;
    rynd_memory memory = RYND_SIZED(rynd_memory);
    rynd_step_info step = RYND_SIZED(rynd_step_info);
    rynd_tensor tensor;
    REFUSES(rynd_plan_create, model, NULL, NULL, &made);
    REFUSES(rynd_plan_create, plan, model, NULL, NULL);
    /* The model's batch is open, so a plan with no options fails for that reason. */
    TAKES(rynd_plan_create, options,
          rynd_plan_create(model, NULL, &made) == RYND_ERROR_SHAPE && !made);
    IGNORES(rynd_plan_destroy, plan, NULL);
    REFUSES(rynd_plan_get_memory, plan, NULL, &memory);
    REFUSES(rynd_plan_get_memory, memory, plan, NULL);
    TAKES(rynd_plan_planning_seconds, plan, rynd_plan_planning_seconds(NULL) == 0);
    TAKES(rynd_plan_step_count, plan, rynd_plan_step_count(NULL) == 0);
    REFUSES(rynd_plan_get_step, plan, NULL, 0, &step);
    REFUSES(rynd_plan_get_step, info, plan, 0, NULL);
    rynd_knob knob = RYND_SIZED(rynd_knob);
    TAKES(rynd_plan_knob_count, plan, rynd_plan_knob_count(NULL, 0) == 0);
    rynd_plan_form form = RYND_SIZED(rynd_plan_form);
    REFUSES(rynd_plan_get_form, plan, NULL, &form);
    REFUSES(rynd_plan_get_form, form, plan, NULL);
    REFUSES(rynd_plan_get_knob, plan, NULL, 0, 0, &knob);
    REFUSES(rynd_plan_get_knob, knob, plan, 0, 0, NULL);
    char value[RYND_KNOB_TEXT];
    REFUSES(rynd_plan_get_knob_value, plan, NULL, 0, 0, 0, value, sizeof value);
    REFUSES(rynd_plan_get_knob_value, value, plan, 0, 0, 0, NULL, sizeof value);
    TAKES(rynd_plan_complete, plan, rynd_plan_complete(NULL) == 0);
    REFUSES(rynd_plan_get_input, plan, NULL, 0, &tensor);
    REFUSES(rynd_plan_get_input, tensor, plan, 0, NULL);
    REFUSES(rynd_plan_get_output, plan, NULL, 0, &tensor);
    REFUSES(rynd_plan_get_output, tensor, plan, 0, NULL);
    REFUSES(rynd_plan_get_input_named, plan, NULL, "x", &tensor);
    REFUSES(rynd_plan_get_input_named, name, plan, NULL, &tensor);
    REFUSES(rynd_plan_get_input_named, tensor, plan, "x", NULL);
    REFUSES(rynd_plan_get_output_named, plan, NULL, "y", &tensor);
    REFUSES(rynd_plan_get_output_named, name, plan, NULL, &tensor);
    REFUSES(rynd_plan_get_output_named, tensor, plan, "y", NULL);
}

static void sessions(void **state)
{
    (void)state;
    rynd_session *made = NULL;
    float x[TINY_CHANNELS * TINY_SIDE * TINY_SIDE] = {0};
    rynd_tensor tensor =
        rynd_tensor_of(x, RYND_DTYPE_F32, 4, (int64_t[]){1, TINY_CHANNELS, TINY_SIDE, TINY_SIDE});
    REFUSES(rynd_session_create, plan, NULL, &made);
    REFUSES(rynd_session_create, session, plan, NULL);
    IGNORES(rynd_session_destroy, session, NULL);
    REFUSES(rynd_session_bind, session, NULL, "x", &tensor);
    REFUSES(rynd_session_bind, name, session, NULL, &tensor);
    REFUSES(rynd_session_bind, tensor, session, "x", NULL);
    REFUSES(rynd_session_bind_input, session, NULL, 0, &tensor);
    REFUSES(rynd_session_bind_input, tensor, session, 0, NULL);
    REFUSES(rynd_session_bind_output, session, NULL, 0, &tensor);
    REFUSES(rynd_session_bind_output, tensor, session, 0, NULL);
    REFUSES(rynd_session_run, session, NULL);
    REFUSES(rynd_session_get_output, session, NULL, 0, &tensor);
    REFUSES(rynd_session_get_output, tensor, session, 0, NULL);
    REFUSES(rynd_session_get_output_named, session, NULL, "y", &tensor);
    REFUSES(rynd_session_get_output_named, name, session, NULL, &tensor);
    REFUSES(rynd_session_get_output_named, tensor, session, "y", NULL);
    TAKES(rynd_session_memory, session, rynd_session_memory(NULL) == 0);
    TAKES(rynd_session_copied, session, rynd_session_copied(NULL) == 0);
    rynd_buffer *buffer = NULL;
    assert_int_equal(rynd_buffer_create(context, 64, &buffer), RYND_OK);
    REFUSES(rynd_session_bind_buffer, session, NULL, "x", buffer, 0);
    REFUSES(rynd_session_bind_buffer, name, session, NULL, buffer, 0);
    REFUSES(rynd_session_bind_buffer, buffer, session, "x", NULL, 0);
    REFUSES(rynd_session_bind_input_buffer, session, NULL, 0, buffer, 0);
    REFUSES(rynd_session_bind_input_buffer, buffer, session, 0, NULL, 0);
    REFUSES(rynd_session_bind_output_buffer, session, NULL, 0, buffer, 0);
    REFUSES(rynd_session_bind_output_buffer, buffer, session, 0, NULL, 0);
    rynd_buffer_destroy(buffer);
    REFUSES(rynd_session_run_async, session, NULL, NULL);
    /* With no options it fails for the reason that nothing is bound. */
    TAKES(rynd_session_run_async, options,
          rynd_session_run_async(session, NULL) == RYND_ERROR_ARGUMENT &&
              strstr(rynd_last_error(), "'x' is not bound"));
    REFUSES(rynd_session_wait, session, NULL);
    REFUSES(rynd_session_profile, session, NULL, 1);
    TAKES(rynd_session_step_time, session, rynd_session_step_time(NULL, 0) == 0);
}

static void buffers(void **state)
{
    (void)state;
    char host[64] = {0};
    void *memory = NULL;
    rynd_buffer *buffer = NULL, *made = NULL;
    rynd_device_memory figures = RYND_SIZED(rynd_device_memory);
    assert_int_equal(rynd_buffer_create(context, sizeof host, &buffer), RYND_OK);
    REFUSES(rynd_buffer_create, context, NULL, 8, &made);
    REFUSES(rynd_buffer_create, buffer, context, 8, NULL);
    REFUSES(rynd_buffer_import, context, NULL, host, 8, &made);
    REFUSES(rynd_buffer_import, native, context, NULL, 8, &made);
    REFUSES(rynd_buffer_import, buffer, context, host, 8, NULL);
    IGNORES(rynd_buffer_destroy, buffer, NULL);
    TAKES(rynd_buffer_size, buffer, rynd_buffer_size(NULL) == 0);
    TAKES(rynd_buffer_native, buffer, rynd_buffer_native(NULL) == NULL);
    TAKES(rynd_context_native, context, rynd_context_native(NULL) == NULL);
    REFUSES(rynd_buffer_write, buffer, NULL, 0, host, 8);
    REFUSES(rynd_buffer_write, host, buffer, 0, NULL, 8);
    REFUSES(rynd_buffer_read, buffer, NULL, 0, host, 8);
    REFUSES(rynd_buffer_read, host, buffer, 0, NULL, 8);
    REFUSES(rynd_host_allocate, context, NULL, 8, &memory);
    REFUSES(rynd_host_allocate, memory, context, 8, NULL);
    IGNORES(rynd_host_free, context, NULL, NULL);
    IGNORES(rynd_host_free, memory, context, NULL);
    REFUSES(rynd_context_get_memory, context, NULL, &figures);
    REFUSES(rynd_context_get_memory, memory, context, NULL);
    IGNORES(rynd_context_trim, context, NULL, 0);
    rynd_buffer_destroy(buffer);
}

static void events(void **state)
{
    (void)state;
    rynd_event *event = NULL;
    double seconds;
    int done;
    assert_int_equal(rynd_event_create(context, &event), RYND_OK);
    REFUSES(rynd_event_create, context, NULL, &event);
    REFUSES(rynd_event_create, event, context, NULL);
    IGNORES(rynd_event_destroy, event, NULL);
    REFUSES(rynd_event_wait, event, NULL);
    REFUSES(rynd_event_get_done, event, NULL, &done);
    REFUSES(rynd_event_get_done, done, event, NULL);
    REFUSES(rynd_event_get_elapsed, from, NULL, event, &seconds);
    REFUSES(rynd_event_get_elapsed, to, event, NULL, &seconds);
    REFUSES(rynd_event_get_elapsed, seconds, event, event, NULL);
    rynd_event_destroy(event);
}

static void operators(void **state)
{
    (void)state;
    rynd_op *made = NULL;
    rynd_step_info step = RYND_SIZED(rynd_step_info);
    rynd_memory memory = RYND_SIZED(rynd_memory);
    rynd_tensor tensor;
    float x[18] = {0}, w[4] = {0}, y[18];
    REFUSES(rynd_op_create, context, NULL, "conv c=2 h=3 w=3 k=2", NULL, &made);
    REFUSES(rynd_op_create, problem, context, NULL, NULL, &made);
    REFUSES(rynd_op_create, op, context, "conv c=2 h=3 w=3 k=2", NULL, NULL);
    TAKES(rynd_op_create, options,
          rynd_op_create(context, "conv c=2 h=3 w=3 k=2", NULL, &made) == RYND_OK && made);
    rynd_op_destroy(made);
    IGNORES(rynd_op_destroy, op, NULL);
    TAKES(rynd_op_input_count, op, rynd_op_input_count(NULL) == 0);
    TAKES(rynd_op_output_count, op, rynd_op_output_count(NULL) == 0);
    REFUSES(rynd_op_get_input, op, NULL, 0, &tensor);
    REFUSES(rynd_op_get_input, tensor, op, 0, NULL);
    REFUSES(rynd_op_get_output, op, NULL, 0, &tensor);
    REFUSES(rynd_op_get_output, tensor, op, 0, NULL);
    REFUSES(rynd_op_execute, op, NULL, (const void *const[]){x, w}, (void *const[]){y});
    REFUSES(rynd_op_execute, inputs, op, NULL, (void *const[]){y});
    REFUSES(rynd_op_execute, outputs, op, (const void *const[]){x, w}, NULL);
    REFUSES(rynd_op_get_info, op, NULL, &step);
    REFUSES(rynd_op_get_info, info, op, NULL);
    rynd_knob knob = RYND_SIZED(rynd_knob);
    TAKES(rynd_op_knob_count, op, rynd_op_knob_count(NULL) == 0);
    REFUSES(rynd_op_get_knob, op, NULL, 0, &knob);
    REFUSES(rynd_op_get_knob, knob, op, 0, NULL);
    char value[RYND_KNOB_TEXT];
    REFUSES(rynd_op_get_knob_value, op, NULL, 0, 0, value, sizeof value);
    REFUSES(rynd_op_get_knob_value, value, op, 0, 0, NULL, sizeof value);
    REFUSES(rynd_op_get_memory, op, NULL, &memory);
    REFUSES(rynd_op_get_memory, memory, op, NULL);
}

static void expressions(void **state)
{
    (void)state;
    static const char problem[] = "expr x0=2:f32 y0=2:f32 program='x0 * 3'";
    rynd_expr *expr = NULL, *gradient = NULL;
    rynd_tensor x, y;
    float data[2] = {1, 2};
    REFUSES(rynd_expr_create, context, NULL, problem, NULL, &expr);
    REFUSES(rynd_expr_create, text, context, NULL, NULL, &expr);
    REFUSES(rynd_expr_create, expr, context, problem, NULL, NULL);
    TAKES(rynd_expr_create, options,
          rynd_expr_create(context, problem, NULL, &expr) == RYND_OK && expr);
    REFUSES(rynd_expr_create_gradient, expr, NULL, NULL, &gradient);
    REFUSES(rynd_expr_create_gradient, gradient, expr, NULL, NULL);
    TAKES(rynd_expr_create_gradient, wanted,
          rynd_expr_create_gradient(expr, NULL, &gradient) == RYND_OK && gradient);
    rynd_expr_destroy(gradient);
    TAKES(rynd_expr_input_count, expr, rynd_expr_input_count(NULL) == 0);
    TAKES(rynd_expr_output_count, expr, rynd_expr_output_count(NULL) == 0);
    REFUSES(rynd_expr_get_input, expr, NULL, 0, &x);
    REFUSES(rynd_expr_get_input, tensor, expr, 0, NULL);
    REFUSES(rynd_expr_get_output, expr, NULL, 0, &y);
    REFUSES(rynd_expr_get_output, tensor, expr, 0, NULL);
    assert_int_equal(rynd_expr_get_input(expr, 0, &x), RYND_OK);
    x.data = data;
    REFUSES(rynd_expr_execute, expr, NULL, &x, &x);
    REFUSES(rynd_expr_execute, inputs, expr, NULL, &x);
    REFUSES(rynd_expr_execute, outputs, expr, &x, NULL);
    TAKES(rynd_expr_model, expr, rynd_expr_model(NULL) == NULL);
    TAKES(rynd_expr_plan, expr, rynd_expr_plan(NULL) == NULL);
    rynd_expr_destroy(expr);
    IGNORES(rynd_expr_destroy, expr, NULL);
}

static int listen(void *user, const rynd_candidate *candidate)
{
    (void)user;
    return candidate->kernel == NULL;
}

static void predictions(void **state)
{
    (void)state;
    REFUSES(rynd_op_explain, op, NULL, listen, NULL);
    REFUSES(rynd_op_explain, tell, op, NULL, NULL);
    TAKES(rynd_op_explain, user, rynd_op_explain(op, listen, NULL) == RYND_OK);
    REFUSES(rynd_plan_explain, plan, NULL, 0, listen, NULL);
    REFUSES(rynd_plan_explain, tell, plan, 0, NULL, NULL);
    TAKES(rynd_plan_explain, user, rynd_plan_explain(plan, 0, listen, NULL) == RYND_OK);
    rynd_prediction prediction = RYND_SIZED(rynd_prediction);
    REFUSES(rynd_op_predict, op, NULL, &prediction);
    REFUSES(rynd_op_predict, prediction, op, NULL);
    REFUSES(rynd_plan_predict, plan, NULL, &prediction);
    REFUSES(rynd_plan_predict, prediction, plan, NULL);
    REFUSES(rynd_plan_predict_step, plan, NULL, 0, &prediction);
    REFUSES(rynd_plan_predict_step, prediction, plan, 0, NULL);
}

static int end_it(void *user, const rynd_progress *progress)
{
    (void)user;
    (void)progress;
    return 1;
}

static void tunings(void **state)
{
    (void)state;
    rynd_tuning *tuning = NULL, *made = NULL;
    rynd_tuning_info info = RYND_SIZED(rynd_tuning_info);
    rynd_tuned_problem problem = RYND_SIZED(rynd_tuned_problem);
    rynd_tuned_form form = RYND_SIZED(rynd_tuned_form);
    const rynd_plan_options plan_options = RYND_SIZED(rynd_plan_options, .batch = 1);
    const rynd_tune_options quick =
        RYND_SIZED(rynd_tune_options, .budget = 1e-3, .progress = end_it);
    REFUSES(rynd_tune_problem, context, NULL, "conv c=2 h=3 w=3 k=2", &quick, &made);
    REFUSES(rynd_tune_problem, problem, context, NULL, &quick, &made);
    REFUSES(rynd_tune_problem, tuning, context, "conv c=2 h=3 w=3 k=2", &quick, NULL);
    TAKES(rynd_tune_problem, options,
          rynd_tune_problem(context, "conv c=2 h=3 w=3 k=2", NULL, &tuning) == RYND_OK && tuning);
    REFUSES(rynd_tune_model, model, NULL, &plan_options, &quick, &made);
    REFUSES(rynd_tune_model, tuning, model, &plan_options, &quick, NULL);
    /* The model's batch is open, so a plan with no options fails for that reason. */
    TAKES(rynd_tune_model, plan,
          rynd_tune_model(model, NULL, &quick, &made) == RYND_ERROR_SHAPE && !made);
    TAKES(rynd_tune_model, options,
          rynd_tune_model(model, &plan_options, NULL, &made) == RYND_OK && made);
    rynd_tuning_destroy(made);
    REFUSES(rynd_tuning_get_info, tuning, NULL, &info);
    REFUSES(rynd_tuning_get_info, info, tuning, NULL);
    rynd_tuned_plan whole = RYND_SIZED(rynd_tuned_plan);
    REFUSES(rynd_tuning_get_plan, tuning, NULL, 0, &whole);
    REFUSES(rynd_tuning_get_plan, plan, tuning, 0, NULL);
    REFUSES(rynd_tuning_get_problem, tuning, NULL, 0, &problem);
    REFUSES(rynd_tuning_get_problem, problem, tuning, 0, NULL);
    REFUSES(rynd_tuning_get_form, tuning, NULL, 0, 0, &form);
    REFUSES(rynd_tuning_get_form, info, tuning, 0, 0, NULL);
    rynd_tuning_destroy(tuning);
    IGNORES(rynd_tuning_destroy, tuning, NULL);
}

static int ignore_record(void *user, const rynd_wisdom_record *record)
{
    (void)user;
    (void)record;
    return 0;
}

static int ignore_drift(void *user, const rynd_wisdom_drift *drift)
{
    (void)user;
    (void)drift;
    return 0;
}

/* The context has no wisdom: there are no records. */
static void wisdom(void **state)
{
    (void)state;
    size_t length;
    const rynd_wisdom_filter filter = RYND_SIZED(rynd_wisdom_filter);
    const rynd_wisdom_check_options options = RYND_SIZED(rynd_wisdom_check_options);
    rynd_wisdom_count count = RYND_SIZED(rynd_wisdom_count);
    const rynd_wisdom_record record =
        RYND_SIZED(rynd_wisdom_record, .machine = "m", .problem = "p", .threads = 1, .kernel = "k",
                   .form = "", .rejected = "wrong");
    REFUSES(rynd_wisdom_show, context, NULL, &filter, ignore_record, NULL);
    TAKES(rynd_wisdom_show, filter,
          rynd_wisdom_show(context, NULL, ignore_record, NULL) == RYND_OK);
    TAKES(rynd_wisdom_show, user,
          rynd_wisdom_show(context, &filter, ignore_record, NULL) == RYND_OK);
    assert_int_equal(rynd_wisdom_show(context, NULL, NULL, NULL), RYND_ERROR_ARGUMENT);
    REFUSES(rynd_wisdom_format, record, NULL, NULL, 0, &length);
    REFUSES(rynd_wisdom_format, length, &record, NULL, 0, NULL);
    TAKES(rynd_wisdom_format, to,
          rynd_wisdom_format(&record, NULL, 0, &length) == RYND_OK && length);
    REFUSES(rynd_wisdom_export, context, NULL, &filter, "/dev/null", &length);
    REFUSES(rynd_wisdom_export, path, context, &filter, NULL, &length);
    TAKES(rynd_wisdom_export, filter,
          rynd_wisdom_export(context, NULL, "/dev/null", &length) == RYND_OK && length == 0);
    TAKES(rynd_wisdom_export, count,
          rynd_wisdom_export(context, NULL, "/dev/null", NULL) == RYND_OK);
    REFUSES(rynd_wisdom_import, context, NULL, "/dev/null", &count);
    REFUSES(rynd_wisdom_import, path, context, NULL, &count);
    TAKES(rynd_wisdom_import, count,
          rynd_wisdom_import(context, "/dev/null", NULL) == RYND_ERROR_ARGUMENT);
    REFUSES(rynd_wisdom_merge, context, NULL, "/dev/null", &count);
    REFUSES(rynd_wisdom_merge, path, context, NULL, &count);
    TAKES(rynd_wisdom_merge, count,
          rynd_wisdom_merge(context, "/dev/null", NULL) == RYND_ERROR_ARGUMENT);
    REFUSES(rynd_wisdom_clear, context, NULL, &filter, &length);
    TAKES(rynd_wisdom_clear, filter,
          rynd_wisdom_clear(context, NULL, &length) == RYND_ERROR_ARGUMENT);
    TAKES(rynd_wisdom_clear, cleared,
          rynd_wisdom_clear(context, &filter, NULL) == RYND_ERROR_ARGUMENT);
    REFUSES(rynd_wisdom_check, context, NULL, &filter, &options, ignore_drift, NULL);
    TAKES(rynd_wisdom_check, filter,
          rynd_wisdom_check(context, NULL, &options, ignore_drift, NULL) == RYND_OK);
    TAKES(rynd_wisdom_check, options,
          rynd_wisdom_check(context, &filter, NULL, ignore_drift, NULL) == RYND_OK);
    TAKES(rynd_wisdom_check, user,
          rynd_wisdom_check(context, &filter, &options, ignore_drift, NULL) == RYND_OK);
    assert_int_equal(rynd_wisdom_check(context, NULL, NULL, NULL, NULL), RYND_ERROR_ARGUMENT);
}

static void placements(void **state)
{
    (void)state;
    const devices_file file = devices_file_make("device a cpu threads=1\ndevice b cpu\n");
    const rynd_part_options part_options = RYND_SIZED(rynd_part_options, .batch = 1);
    const rynd_placement_options options = RYND_SIZED(rynd_placement_options, .batch = 1);
    rynd_model *part;
    rynd_fleet *fleet;
    rynd_placement *placement;
    rynd_fleet_device device = RYND_SIZED(rynd_fleet_device);
    rynd_placement_info info = RYND_SIZED(rynd_placement_info);
    rynd_placed_part placed = RYND_SIZED(rynd_placed_part);
    double a, b;
    REFUSES(rynd_model_create_part, model, NULL, context, &part_options, &part);
    REFUSES(rynd_model_create_part, context, model, NULL, &part_options, &part);
    REFUSES(rynd_model_create_part, part, model, context, &part_options, NULL);
    TAKES(rynd_model_create_part, options,
          rynd_model_create_part(model, context, NULL, &part) == RYND_ERROR_SHAPE);
    REFUSES(rynd_fleet_load, path, NULL, NULL, &fleet);
    REFUSES(rynd_fleet_load, fleet, file.path, NULL, NULL);
    TAKES(rynd_fleet_load, options, rynd_fleet_load(file.path, NULL, &fleet) == RYND_OK);
    unlink(file.path);
    IGNORES(rynd_fleet_destroy, fleet, NULL);
    TAKES(rynd_fleet_device_count, fleet, rynd_fleet_device_count(NULL) == 0);
    REFUSES(rynd_fleet_get_device, fleet, NULL, 0, &device);
    REFUSES(rynd_fleet_get_device, device, fleet, 0, NULL);
    REFUSES(rynd_fleet_get_link, fleet, NULL, 0, 1, &a, &b);
    REFUSES(rynd_fleet_get_link, bandwidth, fleet, 0, 1, NULL, &b);
    REFUSES(rynd_fleet_get_link, latency, fleet, 0, 1, &a, NULL);
    REFUSES(rynd_placement_create, fleet, NULL, &model, 1, &options, &placement);
    REFUSES(rynd_placement_create, models, fleet, NULL, 1, &options, &placement);
    REFUSES(rynd_placement_create, placement, fleet, &model, 1, &options, NULL);
    TAKES(rynd_placement_create, options,
          rynd_placement_create(fleet, &model, 1, NULL, &placement) == RYND_ERROR_SHAPE);
    assert_int_equal(rynd_placement_create(fleet, &model, 1, &options, &placement), RYND_OK);
    REFUSES(rynd_placement_get_info, placement, NULL, &info);
    REFUSES(rynd_placement_get_info, info, placement, NULL);
    REFUSES(rynd_placement_get_part, placement, NULL, 0, &placed);
    REFUSES(rynd_placement_get_part, part, placement, 0, NULL);
    REFUSES(rynd_placement_get_makespan, placement, NULL, 1, &a);
    REFUSES(rynd_placement_get_makespan, seconds, placement, 1, NULL);
    IGNORES(rynd_placement_destroy, placement, NULL);
    rynd_placement_destroy(placement);
    rynd_fleet_destroy(fleet);
}

/* A header without comments and directives; freed by the caller. */
static char *read_declarations(const char *path)
{
    FILE *file = fopen(path, "r");
    enum { LARGEST = 1 << 18 };
    char *text = calloc(LARGEST, 1);
    assert_non_null(file);
    assert_non_null(text);
    assert_true(fread(text, 1, LARGEST - 1, file) < LARGEST - 1);
    fclose(file);
    for (char *comment = text; (comment = strstr(comment, "/*"));) {
        char *close = strstr(comment, "*/");
        assert_non_null(close);
        memset(comment, ' ', (size_t)(close + 2 - comment));
    }
    for (char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (*line == '#') {
            memset(line, ' ', strcspn(line, "\n"));
        }
    }
    return text;
}

/* The last identifier before `stop`. */
static void name_before(const char *begin_at, const char *stop, char name[64])
{
    while (stop > begin_at && !(isalnum((unsigned char)stop[-1]) || stop[-1] == '_')) {
        stop--;
    }
    const char *from = stop;
    while (from > begin_at && (isalnum((unsigned char)from[-1]) || from[-1] == '_')) {
        from--;
    }
    snprintf(name, 64, "%.*s", (int)(stop - from), from);
}

/* How many of a declaration's pointers were not tried. */
static int count_untried(const char *declaration)
{
    const char *open = strchr(declaration, '('), *close = strchr(declaration, ';');
    char function[64], parameter[64], line[132];
    int missing = 0;
    assert_true(open && close && open < close);
    name_before(declaration, open, function);
    for (const char *from = open + 1; from < close;) {
        const size_t length = strcspn(from, ",;");
        if (memchr(from, '*', length)) {
            name_before(from, from + length, parameter);
            snprintf(line, sizeof line, "%s %s\n", function, parameter);
            if (!strstr(tried, line)) {
                print_error("not tried with NULL: %s", line);
                missing++;
            }
        }
        from += length + 1;
    }
    return missing;
}

static void none_is_left_out(void **state)
{
    (void)state;
    DIR *folder = opendir("include/rynd");
    int missing = 0, declarations = 0;
    assert_non_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder));) {
        char path[512];
        if (entry->d_name[0] == '.') {
            continue;
        }
        snprintf(path, sizeof path, "include/rynd/%s", entry->d_name);
        char *text = read_declarations(path);
        for (const char *at = text; (at = strstr(at, "RYND_API")); at++) {
            missing += count_untried(at);
            declarations++;
        }
        free(text);
    }
    closedir(folder);
    assert_true(declarations > 50);
    assert_int_equal(missing, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trainers),    cmocka_unit_test(exchanges),
        cmocka_unit_test(contexts),    cmocka_unit_test(texts),
        cmocka_unit_test(randoms),     cmocka_unit_test(tensors),
        cmocka_unit_test(models),      cmocka_unit_test(plans),
        cmocka_unit_test(sessions),    cmocka_unit_test(buffers),
        cmocka_unit_test(events),      cmocka_unit_test(operators),
        cmocka_unit_test(predictions), cmocka_unit_test(tunings),
        cmocka_unit_test(wisdom),      cmocka_unit_test(placements),
        cmocka_unit_test(expressions), cmocka_unit_test(none_is_left_out),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
