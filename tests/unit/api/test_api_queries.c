/* SPDX-License-Identifier: Apache-2.0 */
/* What the library tells of a model, a plan, an operator, a run and the machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tiny_model.h"
#include <rynd/rynd.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    BATCH = 2,
    INPUTS = BATCH * TINY_CHANNELS * TINY_SIDE * TINY_SIDE,
    OUTPUTS = BATCH * TINY_CLASSES
};

static rynd_context *context;
static rynd_model *model;
static rynd_plan *plan;

static int begin(void **state)
{
    (void)state;
    static uint8_t bytes[TINY_MODEL_CAPACITY];
    const rynd_plan_options options = RYND_SIZED(rynd_plan_options, .batch = BATCH);
    return rynd_context_create(NULL, &context) ||
           rynd_model_load_memory(context, bytes, tiny_model(bytes), &model) ||
           rynd_plan_create(model, &options, &plan);
}

static int end(void **state)
{
    (void)state;
    rynd_plan_destroy(plan);
    rynd_model_destroy(model);
    rynd_context_destroy(context);
    return 0;
}

static void names(void **state)
{
    (void)state;
    char version[32];
    snprintf(version, sizeof version, "%d.%d.%d", RYND_VERSION_MAJOR, RYND_VERSION_MINOR,
             RYND_VERSION_PATCH);
    assert_string_equal(rynd_version(), version);
    assert_int_equal(rynd_version_number(), RYND_VERSION_NUMBER);
    assert_string_equal(rynd_dtype_name(RYND_DTYPE_F32), "f32");
    assert_string_equal(rynd_dtype_name(RYND_DTYPE_BOOL), "bool");
    assert_string_equal(rynd_dtype_name((rynd_dtype)99), "none");
    assert_int_equal(rynd_dtype_size(RYND_DTYPE_BF16), 2);
    assert_int_equal(rynd_dtype_size((rynd_dtype)-1), 0);
    assert_int_equal(rynd_op_is_problem("conv c=1 h=1 w=1 k=1"), 1);
    assert_int_equal(rynd_op_is_problem("softmax"), 1);
    assert_int_equal(rynd_op_is_problem("convolve"), 0);
    assert_int_equal(rynd_op_is_problem(""), 0);
}

static void operators_of_a_model(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t count;
    } expected[] = {
        {"Add", 1},     {"Conv", 2}, {"Flatten", 1}, {"Gemm", 1}, {"GlobalAveragePool", 1},
        {"MaxPool", 1}, {"Relu", 1}, {"Softmax", 1}};
    rynd_model_info info = RYND_SIZED(rynd_model_info);
    const char *name = NULL;
    size_t count = 0;
    assert_int_equal(rynd_model_get_info(model, &info), RYND_OK);
    assert_int_equal(info.operator_count, sizeof expected / sizeof *expected);
    for (size_t i = 0; i < info.operator_count; i++) {
        assert_int_equal(rynd_model_get_operator(model, i, &name, &count), RYND_OK);
        assert_string_equal(name, expected[i].name);
        assert_int_equal(count, expected[i].count);
    }
    assert_int_equal(rynd_model_get_operator(model, info.operator_count, &name, &count),
                     RYND_ERROR_ARGUMENT);
}

/* Every input of a node is a value of the model, or "" where it is absent. */
static void values_of_a_model(void **state)
{
    (void)state;
    rynd_value_info value = RYND_SIZED(rynd_value_info);
    rynd_node_info node = RYND_SIZED(rynd_node_info);
    int readers = 0;
    for (size_t n = 0; n < rynd_model_node_count(model); n++) {
        assert_int_equal(rynd_model_get_node(model, n, &node), RYND_OK);
        for (int i = 0; i < node.inputs; i++) {
            const char *name = rynd_model_node_input(model, n, i);
            assert_non_null(name);
            assert_true(!*name || rynd_model_get_value(model, name, &value) == RYND_OK);
            readers += strcmp(name, "x") == 0;
        }
        assert_null(rynd_model_node_input(model, n, node.inputs));
        assert_null(rynd_model_node_input(model, n, -1));
    }
    assert_int_equal(readers, 1);
    assert_null(rynd_model_node_input(model, rynd_model_node_count(model), 0));
    assert_int_equal(rynd_model_get_value(model, "x", &value), RYND_OK);
    assert_int_equal(value.rank, 4);
    assert_int_equal(value.dim[0], -1);
    assert_int_equal(value.dim[1], TINY_CHANNELS);
    assert_int_equal(rynd_model_get_value(model, "nobody", &value), RYND_ERROR_NOT_FOUND);
}

static void outputs_of_a_plan(void **state)
{
    (void)state;
    rynd_tensor y;
    assert_int_equal(rynd_plan_get_output(plan, 0, &y), RYND_OK);
    assert_int_equal(y.dtype, RYND_DTYPE_F32);
    assert_int_equal(y.rank, 2);
    assert_int_equal(y.dim[0], BATCH);
    assert_int_equal(y.dim[1], TINY_CLASSES);
    assert_int_equal(y.stride[0], TINY_CLASSES);
    assert_int_equal(y.stride[1], 1);
    assert_null(y.data);
    assert_int_equal(rynd_plan_get_output(plan, 1, &y), RYND_ERROR_ARGUMENT);
}

static void names_and_indices_mean_the_same(void **state)
{
    (void)state;
    static float x[INPUTS];
    const rynd_tensor in = rynd_tensor_of(x, RYND_DTYPE_F32, 4,
                                          (int64_t[]){BATCH, TINY_CHANNELS, TINY_SIDE, TINY_SIDE});
    rynd_tensor by_index, by_name;
    rynd_session *session = NULL;
    assert_int_equal(rynd_plan_get_input(plan, 0, &by_index), RYND_OK);
    assert_int_equal(rynd_plan_get_input_named(plan, "x", &by_name), RYND_OK);
    assert_memory_equal(by_index.dim, by_name.dim, 4 * sizeof *by_index.dim);
    assert_int_equal(rynd_plan_get_output(plan, 0, &by_index), RYND_OK);
    assert_int_equal(rynd_plan_get_output_named(plan, "y", &by_name), RYND_OK);
    assert_memory_equal(by_index.dim, by_name.dim, 2 * sizeof *by_index.dim);
    assert_int_equal(rynd_plan_get_input_named(plan, "y", &by_name), RYND_ERROR_NOT_FOUND);
    assert_int_equal(rynd_plan_get_output_named(plan, "x", &by_name), RYND_ERROR_NOT_FOUND);
    assert_non_null(strstr(rynd_last_error(), "no output 'x'"));
    assert_int_equal(rynd_session_create(plan, &session), RYND_OK);
    assert_int_equal(rynd_session_bind_input(session, 0, &in), RYND_OK);
    assert_int_equal(rynd_session_run(session), RYND_OK);
    assert_int_equal(rynd_session_get_output(session, 0, &by_index), RYND_OK);
    assert_int_equal(rynd_session_get_output_named(session, "y", &by_name), RYND_OK);
    assert_non_null(by_name.data);
    assert_ptr_equal(by_index.data, by_name.data);
    assert_int_equal(rynd_session_get_output_named(session, "x", &by_name), RYND_ERROR_NOT_FOUND);
    rynd_session_destroy(session);
}

static int end_at_once(void *user, const rynd_progress *progress)
{
    (void)user;
    assert_true(progress->done > 0 && progress->done <= progress->all);
    return 1;
}

/* Times are recorded from one call to the other, and only then. */
static void times_of_a_run(void **state)
{
    (void)state;
    static float x[INPUTS];
    const rynd_tensor in = rynd_tensor_of(x, RYND_DTYPE_F32, 4,
                                          (int64_t[]){BATCH, TINY_CHANNELS, TINY_SIDE, TINY_SIDE});
    rynd_session *session = NULL;
    double first[64], all = 0;
    const size_t steps = rynd_plan_step_count(plan);
    assert_true(steps > 0 && steps <= sizeof first / sizeof *first);
    assert_int_equal(rynd_session_create(plan, &session), RYND_OK);
    assert_int_equal(rynd_session_bind(session, "x", &in), RYND_OK);
    assert_int_equal(rynd_session_run(session), RYND_OK);
    for (size_t s = 0; s < steps; s++) {
        assert_true(rynd_session_step_time(session, s) == 0);
    }
    rynd_session_profile(session, 1);
    assert_int_equal(rynd_session_run(session), RYND_OK);
    for (size_t s = 0; s < steps; s++) {
        first[s] = rynd_session_step_time(session, s);
        assert_true(first[s] >= 0);
        all += first[s];
    }
    assert_true(all > 0);
    assert_true(rynd_session_step_time(session, steps) == 0);
    rynd_session_profile(session, 0);
    assert_int_equal(rynd_session_run(session), RYND_OK);
    for (size_t s = 0; s < steps; s++) {
        assert_true(rynd_session_step_time(session, s) == first[s]);
    }
    rynd_session_destroy(session);
}

/* x and y are the caller's; w counts once, packed or not; what is constant is not an activation. */
static void memory_of_an_operator(void **state)
{
    (void)state;
    enum {
        C = 4,
        SIDE = 6,
        K = 5,
        X = C * SIDE * SIDE * 4,
        W = K * C * 3 * 3 * 4,
        Y = K * SIDE * SIDE * 4
    };
    static const char text[] = "conv c=4 h=6 w=6 k=5 r=3 s=3 pad=1";
    rynd_op *op = NULL;
    rynd_memory memory = RYND_SIZED(rynd_memory);
    assert_int_equal(rynd_op_create(context, text, NULL, &op), RYND_OK);
    assert_int_equal(rynd_op_get_memory(op, &memory), RYND_OK);
    assert_int_equal(memory.activations, X + W + Y);
    assert_int_equal(memory.weights, 0);
    assert_int_equal(memory.total, memory.weights + memory.activations + memory.workspace);
    rynd_op_destroy(op);
    const rynd_op_options options = RYND_SIZED(rynd_op_options, .constants = 1u << 1);
    assert_int_equal(rynd_op_create(context, text, &options, &op), RYND_OK);
    assert_int_equal(rynd_op_get_memory(op, &memory), RYND_OK);
    assert_int_equal(memory.activations, X + Y);
    assert_true(memory.weights >= W);
    assert_int_equal(memory.total, memory.weights + memory.activations + memory.workspace);
    rynd_op_destroy(op);
}

static void *context_with_machine(const char **machine)
{
    rynd_context *made = NULL;
    rynd_device_info info = RYND_SIZED(rynd_device_info);
    assert_int_equal(rynd_context_create(NULL, &made), RYND_OK);
    assert_int_equal(rynd_context_get_info(made, &info), RYND_OK);
    *machine = info.machine;
    return made;
}

/* Measurements can be saved. Contexts created later predict from them; the present one does not
 * change. */
static void what_the_machine_reaches(void **state)
{
    (void)state;
    char folder[] = "/tmp/rynd-test-XXXXXX", file[64];
    const char *before, *kept = NULL, *after;
    rynd_machine machine = RYND_SIZED(rynd_machine);
    const rynd_measure_options quick = RYND_SIZED(rynd_measure_options, .seconds = 0.1);
    rynd_device_info info = RYND_SIZED(rynd_device_info);
    assert_non_null(mkdtemp(folder));
    snprintf(file, sizeof file, "%s/machine.txt", folder);
    assert_int_equal(setenv("RYND_MACHINE", file, 1), 0);
    assert_int_equal(unsetenv("RYND_THREADS"), 0);
    rynd_context *own = context_with_machine(&before);
    assert_null(before);
    const rynd_measure_options ended = RYND_SIZED(rynd_measure_options, .progress = end_at_once);
    assert_int_equal(rynd_context_measure(own, &ended, &machine), RYND_ERROR_CANCELLED);
    assert_int_equal(rynd_context_measure(own, &quick, &machine), RYND_OK);
    assert_int_equal(machine.origin, RYND_MACHINE_MEASURED);
    assert_true(machine.f32.one > 0 && machine.f32.all >= machine.f32.one);
    const rynd_memory_level *memory = &machine.level[RYND_LEVEL_DRAM];
    assert_true(memory->bandwidth.one > 0 && memory->bandwidth.all >= memory->bandwidth.one &&
                memory->latency.one > 0);
    machine.disturbance = 2 * RYND_DISTURBANCE_LIMIT; /* whatever else runs beside the tests */
    assert_int_equal(rynd_context_keep_machine(own, &machine, &kept), RYND_ERROR_ARGUMENT);
    machine.disturbance = 0;
    assert_int_equal(rynd_context_get_info(own, &info), RYND_OK);
    if (info.threads == machine.cores) {
        assert_int_equal(rynd_context_keep_machine(own, &machine, &kept), RYND_OK);
        assert_string_equal(kept, file);
        assert_int_equal(rynd_context_get_info(own, &info), RYND_OK);
        assert_null(info.machine);
        rynd_context *later = context_with_machine(&after);
        assert_string_equal(after, file);
        assert_int_equal(rynd_machine_load(file, &machine), RYND_OK);
        assert_int_equal(rynd_machine_save(&machine, file), RYND_OK);
        rynd_context_destroy(later);
        assert_int_equal(remove(file), 0);
    } else {
        assert_int_equal(rynd_context_keep_machine(own, &machine, &kept), RYND_ERROR_ARGUMENT);
        assert_null(kept);
    }
    rynd_context_destroy(own);
    assert_int_equal(setenv("RYND_MACHINE", "off", 1), 0);
    assert_int_equal(rmdir(folder), 0);
}

/* The CPU comes first; every device that is listed is one that a context can be made for. */
static void check_prediction(const rynd_prediction *p)
{
    assert_true(p->low > 0 && p->low < p->median && p->median < p->high);
    assert_true(p->coverage == 0.9);
    assert_true(p->arithmetic >= 0 && p->memory >= 0 && p->overhead >= 0);
    assert_true(p->arithmetic + p->memory > 0);
}

/* A plan's time is the sum of its steps and repeats exactly; an operator's is its own step's. */
static void predictions_of_a_plan(void **state)
{
    (void)state;
    rynd_prediction all = RYND_SIZED(rynd_prediction), again = RYND_SIZED(rynd_prediction), step,
                    alone;
    double sum = 0, widest = 1;
    assert_int_equal(rynd_plan_predict(plan, &all), RYND_OK);
    assert_int_equal(rynd_plan_predict(plan, &again), RYND_OK);
    assert_memory_equal(&all, &again, sizeof all);
    check_prediction(&all);
    for (size_t i = 0; i < rynd_plan_step_count(plan); i++) {
        step = RYND_SIZED(rynd_prediction);
        assert_int_equal(rynd_plan_predict_step(plan, i, &step), RYND_OK);
        check_prediction(&step);
        widest = fmax(widest, step.high / step.median);
        sum += step.median;
    }
    assert_true(sum > 0.999 * all.median && sum < 1.001 * all.median);
    /* the interval of all steps is relatively no wider than the widest step's */
    assert_true(all.high / all.median <= widest * 1.0001);
    assert_int_equal(rynd_plan_predict_step(plan, rynd_plan_step_count(plan), &step),
                     RYND_ERROR_ARGUMENT);
    rynd_op *op;
    const char *problem = "conv n=1 c=64 h=56 w=56 k=64 r=3 s=3 pad=1";
    assert_int_equal(rynd_op_create(context, problem, NULL, &op), RYND_OK);
    alone = RYND_SIZED(rynd_prediction);
    assert_int_equal(rynd_op_predict(op, &alone), RYND_OK);
    check_prediction(&alone);
    rynd_op_destroy(op);
}

/* One thread is slower than two, by at most twice; the caller's threads are predicted for. */
static void predictions_of_threads(void **state)
{
    (void)state;
    const char *problem = "conv n=1 c=128 h=56 w=56 k=128 r=3 s=3 pad=1";
    double seconds[2];
    for (unsigned threads = 1; threads <= 2; threads++) {
        rynd_context *made;
        rynd_op *op;
        rynd_prediction p = RYND_SIZED(rynd_prediction);
        const rynd_context_options options = RYND_SIZED(rynd_context_options, .threads = threads);
        assert_int_equal(rynd_context_create(&options, &made), RYND_OK);
        assert_int_equal(rynd_op_create(made, problem, NULL, &op), RYND_OK);
        assert_int_equal(rynd_op_predict(op, &p), RYND_OK);
        seconds[threads - 1] = p.median;
        rynd_op_destroy(op);
        rynd_context_destroy(made);
    }
    assert_true(seconds[1] < seconds[0] && seconds[0] < 2.001 * seconds[1]);
}

static void devices_are_named(void **state)
{
    (void)state;
    char name[16];
    assert_true(rynd_device_count() >= 1);
    assert_int_equal(rynd_device_get_name(0, name, sizeof name), RYND_OK);
    assert_string_equal(name, "cpu");
    assert_int_equal(rynd_device_get_name(0, name, 3), RYND_ERROR_ARGUMENT);
    assert_int_equal(rynd_device_get_name(rynd_device_count(), name, sizeof name),
                     RYND_ERROR_ARGUMENT);
    for (size_t i = 1; i < rynd_device_count(); i++) {
        rynd_context *made = NULL;
        rynd_device_info info = RYND_SIZED(rynd_device_info);
        assert_int_equal(rynd_device_get_name(i, name, sizeof name), RYND_OK);
        const rynd_context_options options = RYND_SIZED(rynd_context_options, .device = name);
        assert_int_equal(rynd_context_create(&options, &made), RYND_OK);
        assert_int_equal(rynd_context_get_info(made, &info), RYND_OK);
        assert_true(strncmp(name, info.device, strlen(info.device)) == 0);
        rynd_context_destroy(made);
    }
    const char *const wrong[] = {"gpu",   "opencl:", "opencl:x", "opencl:99", "cpu:1",
                                 "openc", ":",       "cuda:x",   "cuda:99"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        rynd_context *made = NULL;
        const rynd_context_options options = RYND_SIZED(rynd_context_options, .device = wrong[i]);
        assert_int_not_equal(rynd_context_create(&options, &made), RYND_OK);
        assert_null(made);
    }
}

/* Cards come one behind another, each with a name of its own, a device and a machine. */
static void cards_are_listed(void **state)
{
    (void)state;
    const char *name, *device;
    rynd_machine machine = RYND_SIZED(rynd_machine);
    size_t count = 0;
    while (rynd_card_get(count, &name, &device, &machine) == RYND_OK) {
        assert_true(strcmp(device, "cuda") == 0 || strcmp(device, "opencl") == 0);
        assert_string_equal(machine.isa, device);
        assert_true(*name && machine.cores > 0 && machine.f32.all > 1e12 &&
                    machine.level[RYND_LEVEL_DRAM].bandwidth.all > 1e10);
        count++;
    }
    assert_true(count >= 30);
    assert_int_equal(rynd_card_get(count, &name, &device, &machine), RYND_ERROR_NOT_FOUND);
    assert_non_null(strstr(rynd_last_error(), "cards"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(cards_are_listed),
        cmocka_unit_test(operators_of_a_model),
        cmocka_unit_test(values_of_a_model),
        cmocka_unit_test(outputs_of_a_plan),
        cmocka_unit_test(names_and_indices_mean_the_same),
        cmocka_unit_test(times_of_a_run),
        cmocka_unit_test(memory_of_an_operator),
        cmocka_unit_test(predictions_of_a_plan),
        cmocka_unit_test(predictions_of_threads),
        cmocka_unit_test(devices_are_named),
        cmocka_unit_test(what_the_machine_reaches),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
