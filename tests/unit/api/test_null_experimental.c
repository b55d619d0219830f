/* SPDX-License-Identifier: Apache-2.0 */
/* Calls each experimental function with each of its pointers NULL and good other arguments. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "devices_file.h"
#include "null_arguments.h"

#include <string.h>

static void trainer_states(rynd_trainer *trainer)
{
    rynd_state_info info = RYND_SIZED(rynd_state_info);
    rynd_tensor tensor = {.data = NULL};
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
}

static void trainers(void **state)
{
    (void)state;
    rynd_trainer *trainer = NULL, *made = NULL;
    const char *identity;
    void *saved;
    size_t saved_size;
    const rynd_trainer_options options = RYND_SIZED(rynd_trainer_options, .batch = 1);
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
    TAKES(rynd_trainer_output_count, trainer, rynd_trainer_output_count(NULL) == 0);
    REFUSES(rynd_trainer_get_output_at, trainer, NULL, 0, &identity, &tensor);
    REFUSES(rynd_trainer_get_output_at, output, trainer, 0, NULL, NULL);
    /* before the first step there is no output */
    TAKES(rynd_trainer_get_output_at, name,
          rynd_trainer_get_output_at(trainer, 0, NULL, &tensor) == RYND_ERROR_ARGUMENT);
    trainer_states(trainer);
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

static void gradients(void **state)
{
    (void)state;
    rynd_model *made;
    const rynd_gradient_options options = RYND_SIZED(
        rynd_gradient_options, .inputs = (const char *const[]){"w1"}, .input_count = 1, .batch = 1);
    REFUSES(rynd_model_create_gradient, model, NULL, &options, &made);
    REFUSES(rynd_model_create_gradient, gradient, model, &options, NULL);
    TAKES(rynd_model_create_gradient, options,
          rynd_model_create_gradient(model, NULL, &made) == RYND_ERROR_ARGUMENT);
    REFUSES(rynd_session_run_forward, session, NULL);
    REFUSES(rynd_session_run_backward, session, NULL);
    TAKES(rynd_plan_forward_inputs, plan, rynd_plan_forward_inputs(NULL) == 0);
    TAKES(rynd_plan_forward_outputs, plan, rynd_plan_forward_outputs(NULL) == 0);
    TAKES(rynd_plan_rereads_input, plan, rynd_plan_rereads_input(NULL, 0) == 0);
}

static void exchanges(void **state)
{
    (void)state;
    REFUSES(rynd_mpi_open, exchange, NULL);
    IGNORES(rynd_mpi_close, exchange, NULL);
    IGNORES(rynd_mpi_abort, exchange, NULL, 1);
}

static void machines(void **state)
{
    (void)state;
    rynd_machine machine = RYND_SIZED(rynd_machine);
    const rynd_measure_options quick = RYND_SIZED(rynd_measure_options, .seconds = 0.1);
    REFUSES(rynd_context_get_machine, context, NULL, &machine);
    REFUSES(rynd_context_get_machine, machine, context, NULL);
    REFUSES(rynd_context_measure, context, NULL, &quick, &machine);
    REFUSES(rynd_context_measure, machine, context, &quick, NULL);
    /* The default options measure for half a minute: this call fails for another reason. */
    TAKES(rynd_context_measure, options,
          rynd_context_measure(context, NULL, &(rynd_machine){0}) == RYND_ERROR_ARGUMENT &&
              strstr(rynd_last_error(), "rynd_machine: size is 0"));
    REFUSES(rynd_context_keep_machine, context, NULL, &machine, NULL);
    REFUSES(rynd_context_keep_machine, machine, context, NULL, NULL);
    /* A machine of zeros is refused, whether the name is wanted or not. */
    TAKES(rynd_context_keep_machine, path,
          rynd_context_keep_machine(context, &machine, NULL) == RYND_ERROR_ARGUMENT);
    REFUSES(rynd_machine_save, machine, NULL, "/nowhere/machine.txt");
    REFUSES(rynd_machine_save, path, &machine, NULL);
    REFUSES(rynd_machine_load, path, NULL, &machine);
    REFUSES(rynd_machine_load, machine, "/nowhere/machine.txt", NULL);
    const char *name, *device;
    REFUSES(rynd_card_get, name, 0, NULL, &device, &machine);
    REFUSES(rynd_card_get, device, 0, &name, NULL, &machine);
    REFUSES(rynd_card_get, machine, 0, &name, &device, NULL);
}

static void calibrations(void **state)
{
    (void)state;
    rynd_machine machine = RYND_SIZED(rynd_machine);
    rynd_calibrated_family family = RYND_SIZED(rynd_calibrated_family);
    rynd_calibrated_energy energy = RYND_SIZED(rynd_calibrated_energy);
    const rynd_calibrate_options quick = RYND_SIZED(rynd_calibrate_options, .seconds = 0.1);
    REFUSES(rynd_context_calibrate, context, NULL, &quick, &machine);
    REFUSES(rynd_context_calibrate, machine, context, &quick, NULL);
    /* The default options run for minutes: this call fails for another reason. */
    TAKES(rynd_context_calibrate, options,
          rynd_context_calibrate(context, NULL, &(rynd_machine){0}) == RYND_ERROR_ARGUMENT &&
              strstr(rynd_last_error(), "rynd_machine: size is 0"));
    TAKES(rynd_context_calibrated_count, context, rynd_context_calibrated_count(NULL) == 0);
    REFUSES(rynd_context_get_calibrated, context, NULL, 0, &family);
    REFUSES(rynd_context_get_calibrated, family, context, 0, NULL);
    REFUSES(rynd_context_get_calibrated_energy, context, NULL, &energy);
    REFUSES(rynd_context_get_calibrated_energy, energy, context, NULL);
}

static void competitions(void **state)
{
    (void)state;
    REFUSES(rynd_competition_begin, begin, NULL);
    TAKES(rynd_competition_since, begin, rynd_competition_since(NULL) == 0);
    TAKES(rynd_disturbance_since, begin, rynd_disturbance_since(NULL, 1, 4) == 0.75);
}

static void checks(void **state)
{
    (void)state;
    rynd_checked_kernel checked = RYND_SIZED(rynd_checked_kernel);
    REFUSES(rynd_context_check, context, NULL, NULL, NULL);
    TAKES(rynd_context_check, options, rynd_context_check(context, NULL, NULL) == RYND_OK);
    TAKES(rynd_context_check, path, rynd_context_checked_count(context) > 0);
    TAKES(rynd_context_checked_count, context, rynd_context_checked_count(NULL) == 0);
    REFUSES(rynd_context_get_checked, context, NULL, 0, &checked);
    REFUSES(rynd_context_get_checked, kernel, context, 0, NULL);
}

static void texts(void **state)
{
    (void)state;
    char room[8] = "";
    TAKES(rynd_text_escape, text, rynd_text_escape(NULL, RYND_ESCAPE_LINE, room, sizeof room) == 0);
    TAKES(rynd_text_escape, to, rynd_text_escape("abc", RYND_ESCAPE_LINE, NULL, 0) == 3);
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

static void tensor_files(void **state)
{
    (void)state;
    float x[6] = {0};
    void *written = NULL;
    size_t length = 0;
    rynd_tensor tensor = rynd_tensor_of(x, RYND_DTYPE_F32, 2, (int64_t[]){2, 3}), read;
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
    rynd_memory_free(context, written);
}

static void started_runs(void **state)
{
    (void)state;
    REFUSES(rynd_session_run_async, session, NULL, NULL);
    /* With no options it fails for the reason that nothing is bound. */
    TAKES(rynd_session_run_async, options,
          rynd_session_run_async(session, NULL) == RYND_ERROR_ARGUMENT &&
              strstr(rynd_last_error(), "'x' is not bound"));
    REFUSES(rynd_session_wait, session, NULL);
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

static void traces(void **state)
{
    (void)state;
    rynd_operand_info operand = RYND_SIZED(rynd_operand_info);
    rynd_span span = RYND_SIZED(rynd_span);
    rynd_parameter_info parameter = RYND_SIZED(rynd_parameter_info);
    TAKES(rynd_plan_operand_count, plan, rynd_plan_operand_count(NULL, 0) == 0);
    REFUSES(rynd_plan_get_operand, plan, NULL, 0, 0, &operand);
    REFUSES(rynd_plan_get_operand, info, plan, 0, 0, NULL);
    REFUSES(rynd_session_trace, session, NULL, 1);
    TAKES(rynd_session_span_count, session, rynd_session_span_count(NULL) == 0);
    REFUSES(rynd_session_get_span, session, NULL, 0, &span);
    REFUSES(rynd_session_get_span, span, session, 0, NULL);
    TAKES(rynd_model_parameter_count, model, rynd_model_parameter_count(NULL) == 0);
    REFUSES(rynd_model_get_parameter, model, NULL, 0, &parameter);
    REFUSES(rynd_model_get_parameter, info, model, 0, NULL);
}

static void placements(void **state)
{
    (void)state;
    const devices_file file = devices_file_make("device a cpu threads=1\ndevice b cpu\n");
    const rynd_placement_options options = RYND_SIZED(rynd_placement_options, .batch = 1);
    rynd_fleet *fleet;
    rynd_placement *placement;
    rynd_fleet_device device = RYND_SIZED(rynd_fleet_device);
    rynd_placement_info info = RYND_SIZED(rynd_placement_info);
    rynd_placed_part placed = RYND_SIZED(rynd_placed_part);
    double a, b;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trainers),      cmocka_unit_test(gradients),
        cmocka_unit_test(exchanges),     cmocka_unit_test(machines),
        cmocka_unit_test(calibrations),  cmocka_unit_test(competitions),
        cmocka_unit_test(checks),        cmocka_unit_test(texts),
        cmocka_unit_test(randoms),       cmocka_unit_test(tensor_files),
        cmocka_unit_test(null_buffers),  cmocka_unit_test(null_bound_buffers),
        cmocka_unit_test(null_streams),  cmocka_unit_test(null_op_runs),
        cmocka_unit_test(null_op_cache), cmocka_unit_test(null_copies),
        cmocka_unit_test(null_events),   cmocka_unit_test(started_runs),
        cmocka_unit_test(expressions),   cmocka_unit_test(predictions),
        cmocka_unit_test(tunings),       cmocka_unit_test(wisdom),
        cmocka_unit_test(placements),    cmocka_unit_test(null_quantizers),
        cmocka_unit_test(null_tasks),    cmocka_unit_test(null_evals),
        cmocka_unit_test(traces),        cmocka_unit_test(null_experimental_is_tried),
    };
    return cmocka_run_group_tests(tests, null_arguments_begin, null_arguments_end);
}
