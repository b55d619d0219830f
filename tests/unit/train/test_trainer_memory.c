/* SPDX-License-Identifier: Apache-2.0 */
/* A trainer under a memory limit: its memory, equal results, and errors when memory runs out. */
#include "trainer_case.h"

#include "onnx_bytes.h"

#include <stdio.h>

enum { LAYERS = 12, WIDTH = 16, ROWS = 2048, STEPS = 4 };

typedef struct deep {
    rynd_context *context;
    onnx_bytes bytes; /* file of the model */
    rynd_model *model;
    rynd_trainer *trainer;
    float x[ROWS * WIDTH], y[ROWS * WIDTH];
} deep;

/* Products, each with its activation: values of 128 KiB, weights of 1 KiB. */
static onnx_bytes deep_model(void)
{
    static const int64_t square[] = {WIDTH, WIDTH}, rows[] = {-1, WIDTH};
    onnx_bytes graph = {0};
    float weights[WIDTH * WIDTH];
    char x[32] = "x", names[3][32], inputs[80];
    for (int i = 0; i < LAYERS; i++) {
        snprintf(names[0], sizeof names[0], "w%d", i);
        snprintf(names[1], sizeof names[1], "p%d", i);
        snprintf(names[2], sizeof names[2], i + 1 < LAYERS ? "a%d" : "y", i);
        snprintf(inputs, sizeof inputs, "%s,%s", x, names[0]);
        tiny_values(weights, WIDTH * WIDTH, (uint32_t)i);
        add_initializer(&graph, make_floats(names[0], 2, square, weights));
        add_node(&graph, make_node("MatMul", inputs, names[1]));
        add_node(&graph, make_node(i % 2 ? "Tanh" : "Softplus", names[1], names[2]));
        snprintf(x, sizeof x, "%s", names[2]);
    }
    add_input(&graph, make_value("x", 2, rows));
    add_output(&graph, make_value("y", 2, rows));
    return make_model(8, 13, graph);
}

static rynd_status create(deep *d, size_t limit)
{
    const rynd_trainer_options options =
        RYND_SIZED(rynd_trainer_options, .loss = RYND_LOSS_MSE, .momentum = 0.9, .batch = ROWS,
                   .memory_limit = limit);
    rynd_trainer_destroy(d->trainer);
    return rynd_trainer_create(d->model, &options, &d->trainer);
}

static void begin_deep(deep *d, unsigned threads)
{
    static const rynd_allocator counted = {count_allocate, count_release, NULL};
    const rynd_context_options context =
        RYND_SIZED(rynd_context_options, .threads = threads, .allocator = &counted);
    memset(d, 0, sizeof *d);
    d->bytes = deep_model();
    assert_int_equal(rynd_context_create(&context, &d->context), RYND_OK);
    assert_int_equal(rynd_model_load_memory(d->context, d->bytes.data, d->bytes.size, &d->model),
                     RYND_OK);
    tiny_values(d->x, ROWS * WIDTH, 50);
    tiny_values(d->y, ROWS * WIDTH, 51);
}

static void end_deep(deep *d)
{
    rynd_trainer_destroy(d->trainer);
    rynd_model_destroy(d->model);
    rynd_context_destroy(d->context);
    onnx_bytes_free(&d->bytes);
}

/* Losses, and a parameter. */
typedef struct results {
    double loss[STEPS];
    float w0[WIDTH * WIDTH];
} results;

static void train(deep *d, results *to)
{
    const rynd_tensor x = row_major(RYND_DTYPE_F32, 2, (int64_t[]){ROWS, WIDTH}, d->x),
                      y = row_major(RYND_DTYPE_F32, 2, (int64_t[]){ROWS, WIDTH}, d->y);
    memset(to, 0, sizeof *to);
    for (int k = 0; k < STEPS; k++) {
        assert_int_equal(rynd_trainer_step(d->trainer, &x, &y, 0.01, &to->loss[k]), RYND_OK);
    }
    rynd_tensor w0 = row_major(RYND_DTYPE_F32, 2, (int64_t[]){WIDTH, WIDTH}, to->w0);
    assert_int_equal(rynd_trainer_read(d->trainer, "w0", &w0), RYND_OK);
}

/* The least limit, as the message has it. */
static size_t least_limit(deep *d)
{
    static const char at_least[] = "at least ";
    assert_int_equal(create(d, 1000), RYND_ERROR_OUT_OF_MEMORY);
    assert_null(d->trainer);
    assert_non_null(strstr(rynd_last_error(), "a memory limit of 1000 bytes"));
    const char *number = strstr(rynd_last_error(), at_least);
    assert_non_null(number);
    return (size_t)strtoull(number + strlen(at_least), NULL, 10);
}

static size_t step_count(const deep *d)
{
    return rynd_plan_step_count(rynd_trainer_plan(d->trainer));
}

static size_t repeated_steps(const deep *d)
{
    size_t repeated = 0;
    for (size_t i = 0; i < step_count(d); i++) {
        rynd_step_info info = RYND_SIZED(rynd_step_info);
        assert_int_equal(rynd_plan_get_step(rynd_trainer_plan(d->trainer), i, &info), RYND_OK);
        repeated += strstr(info.name, "/again") != NULL;
    }
    return repeated;
}

static void less_memory_gives_the_same_bits(void **state)
{
    (void)state;
    static const unsigned threads[] = {1, 2, 3, 7};
    results all, some;
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        deep d;
        begin_deep(&d, threads[i]);
        assert_int_equal(create(&d, 0), RYND_OK);
        const size_t memory = rynd_trainer_memory(d.trainer), steps = step_count(&d);
        train(&d, i ? &some : &all);
        assert_memory_equal(&all, i ? &some : &all, sizeof all);
        assert_int_equal(create(&d, memory), RYND_OK);
        assert_int_equal(step_count(&d), steps);
        assert_int_equal(repeated_steps(&d), 0);
        const size_t least = least_limit(&d);
        assert_true(least < memory);
        for (size_t limit = least; limit < memory; limit += (memory - least) / 4 + 1) {
            assert_int_equal(create(&d, limit), RYND_OK);
            assert_true(rynd_trainer_memory(d.trainer) <= limit);
            assert_true(repeated_steps(&d) > 0);
            assert_int_equal(step_count(&d), steps + repeated_steps(&d));
            train(&d, &some);
            assert_memory_equal(&all, &some, sizeof all);
        }
        end_deep(&d);
    }
}

static void memory_runs_out(void **state)
{
    (void)state;
    deep d;
    begin_deep(&d, 1);
    const size_t least = least_limit(&d);
    size_t failed = 0;
    for (rynd_status status = RYND_ERROR_OUT_OF_MEMORY; status != RYND_OK; failed++) {
        const size_t before = alive;
        fails_at = failed + 1;
        status = create(&d, least);
        fails_at = 0;
        if (status != RYND_OK) {
            assert_int_equal(status, RYND_ERROR_OUT_OF_MEMORY);
            assert_int_equal(alive, before);
        }
    }
    assert_true(failed > 50);
    end_deep(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(less_memory_gives_the_same_bits),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
