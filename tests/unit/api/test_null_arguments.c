/* SPDX-License-Identifier: Apache-2.0 */
/* Calls each function of the core with each of its pointers NULL and good other arguments. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "null_arguments.h"
#include "tiny_model.h"

#include <string.h>

static void contexts(void **state)
{
    (void)state;
    rynd_context *made = NULL;
    rynd_device_info info = RYND_SIZED(rynd_device_info);
    REFUSES(rynd_context_create, context, NULL, NULL);
    TAKES(rynd_context_create, options, rynd_context_create(NULL, &made) == RYND_OK && made);
    rynd_context_destroy(made);
    IGNORES(rynd_context_destroy, context, NULL);
    REFUSES(rynd_device_get_name, name, 0, NULL, 16);
    REFUSES(rynd_context_get_info, context, NULL, &info);
    REFUSES(rynd_context_get_info, info, context, NULL);
}

static void tensors(void **state)
{
    (void)state;
    float x[6] = {0};
    TAKES(rynd_tensor_of, data,
          rynd_tensor_of(NULL, RYND_DTYPE_F32, 1, (int64_t[]){6}).dtype == RYND_DTYPE_F32);
    TAKES(rynd_tensor_of, dim, rynd_tensor_of(x, RYND_DTYPE_F32, 0, NULL).dtype == RYND_DTYPE_F32);
    assert_int_equal(rynd_tensor_of(x, RYND_DTYPE_F32, 1, NULL).dtype, RYND_DTYPE_NONE);
    TAKES(rynd_tensor_elements, tensor, rynd_tensor_elements(NULL) == -1);
}

static void metadata(void **state)
{
    (void)state;
    rynd_metadata entry = RYND_SIZED(rynd_metadata);
    void *data;
    size_t length;
    REFUSES(rynd_model_save_new_head, model, NULL, 3, 0, "x.onnx");
    REFUSES(rynd_model_save_new_head, path, model, 3, 0, NULL);
    REFUSES(rynd_model_save_new_head_memory, model, NULL, 3, 0, &data, &length);
    REFUSES(rynd_model_save_new_head_memory, data, model, 3, 0, NULL, &length);
    REFUSES(rynd_model_save_new_head_memory, size, model, 3, 0, &data, NULL);
    TAKES(rynd_model_metadata_count, model, rynd_model_metadata_count(NULL) == 0);
    REFUSES(rynd_model_get_metadata, model, NULL, 0, &entry);
    REFUSES(rynd_model_get_metadata, metadata, model, 0, NULL);
    TAKES(rynd_model_find_metadata, model, rynd_model_find_metadata(NULL, "k") == NULL);
    TAKES(rynd_model_find_metadata, key, rynd_model_find_metadata(model, NULL) == NULL);
    REFUSES(rynd_model_set_metadata, model, NULL, "k", "v");
    REFUSES(rynd_model_set_metadata, key, model, NULL, "v");
    TAKES(rynd_model_set_metadata, value, rynd_model_set_metadata(model, "k", NULL) == RYND_OK);
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
    assert_int_equal(rynd_model_save_memory(model, NULL, 0, &data, &length), RYND_OK);
    IGNORES(rynd_memory_free, context, NULL, data);
    IGNORES(rynd_memory_free, memory, context, NULL);
    rynd_memory_free(context, data);
}

static void parts(void **state)
{
    (void)state;
    const rynd_part_options part_options = RYND_SIZED(rynd_part_options, .batch = 1);
    rynd_model *part;
    REFUSES(rynd_model_create_part, model, NULL, context, &part_options, &part);
    REFUSES(rynd_model_create_part, context, model, NULL, &part_options, &part);
    REFUSES(rynd_model_create_part, part, model, context, &part_options, NULL);
    TAKES(rynd_model_create_part, options,
          rynd_model_create_part(model, context, NULL, &part) == RYND_ERROR_SHAPE);
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
    REFUSES(rynd_session_profile, session, NULL, 1);
    TAKES(rynd_session_step_time, session, rynd_session_step_time(NULL, 0) == 0);
}

static void operators(void **state)
{
    (void)state;
    rynd_op *made = NULL;
    rynd_step_info step = RYND_SIZED(rynd_step_info);
    rynd_memory memory = RYND_SIZED(rynd_memory);
    rynd_tensor tensor;
    float x[18] = {0}, w[4] = {0}, y[18];
    TAKES(rynd_op_is_problem, text, rynd_op_is_problem(NULL) == 0);
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
    TAKES(rynd_op_plan, op, rynd_op_plan(NULL) == NULL);
    REFUSES(rynd_op_get_knob, op, NULL, 0, &knob);
    REFUSES(rynd_op_get_knob, knob, op, 0, NULL);
    char value[RYND_KNOB_TEXT];
    REFUSES(rynd_op_get_knob_value, op, NULL, 0, 0, value, sizeof value);
    REFUSES(rynd_op_get_knob_value, value, op, 0, 0, NULL, sizeof value);
    REFUSES(rynd_op_get_memory, op, NULL, &memory);
    REFUSES(rynd_op_get_memory, memory, op, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contexts),
        cmocka_unit_test(tensors),
        cmocka_unit_test(models),
        cmocka_unit_test(metadata),
        cmocka_unit_test(parts),
        cmocka_unit_test(plans),
        cmocka_unit_test(sessions),
        cmocka_unit_test(operators),
        cmocka_unit_test(null_core_is_tried),
    };
    return cmocka_run_group_tests(tests, null_arguments_begin, null_arguments_end);
}
