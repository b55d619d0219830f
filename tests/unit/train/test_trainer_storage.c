/* SPDX-License-Identifier: Apache-2.0 */
/* Activations stored as bfloat16: which values, their memory, gradients, and equal bits with other
 * options. */
#include "trainer_case.h"

#include "onnx_bytes.h"

#include <stdio.h>

enum {
    PICTURES = 8,
    CHANNELS = 8,
    SIDE = 32,
    LAYERS = 32,
    COUNT = PICTURES * CHANNELS * SIDE * SIDE, /* elements of each value of 256 KiB */
    WEIGHTS = CHANNELS * CHANNELS * 9,
    STEPS = 3
};

typedef struct network {
    rynd_context *context;
    onnx_bytes bytes; /* file of the model */
    rynd_model *model;
    rynd_trainer *trainer;
    float x[COUNT], y[COUNT];
} network;

static const int64_t image[] = {-1, CHANNELS, SIDE, SIDE};

static void add_numbers(onnx_bytes *graph, const char *name, int rank, const int64_t *dim,
                        uint32_t seed)
{
    static float numbers[COUNT];
    int64_t count = 1;
    for (int i = 0; i < rank; i++) {
        count *= dim[i];
    }
    tiny_values(numbers, (size_t)count, seed);
    add_initializer(graph, make_floats(name, rank, dim, numbers));
}

static void add_conv(onnx_bytes *graph, const char *x, const char *weights, const char *y)
{
    static const int64_t square[] = {CHANNELS, CHANNELS, 3, 3}, pads[] = {1, 1, 1, 1};
    char inputs[80];
    snprintf(inputs, sizeof inputs, "%s,%s", x, weights);
    add_numbers(graph, weights, 4, square, (uint32_t)strlen(x) + 3);
    onnx_bytes node = make_node("Conv", inputs, y);
    add_ints_attribute(&node, "pads", 4, pads);
    add_node(graph, node);
}

static void add_norm(onnx_bytes *graph, const char *x, const char *y)
{
    static const int64_t channels[] = {CHANNELS};
    static const char *const names[] = {"scale", "bias", "mean", "variance"};
    char inputs[160], name[32];
    snprintf(inputs, sizeof inputs, "%s", x);
    for (int i = 0; i < 4; i++) {
        float numbers[CHANNELS];
        for (int c = 0; c < CHANNELS; c++) {
            numbers[c] = i % 3 ? 0 : 1; /* scale and variance */
        }
        snprintf(name, sizeof name, "%s_%s", y, names[i]);
        snprintf(inputs + strlen(inputs), sizeof inputs - strlen(inputs), ",%s", name);
        add_initializer(graph, make_floats(name, 1, channels, numbers));
    }
    add_node(graph, make_node("BatchNormalization", inputs, y));
}

/* Convolutions, with a relu, a normalisation, both, or tanh between them. */
static onnx_bytes chain(void)
{
    static const char *const behind[] = {"Relu", "", "Relu", "Tanh"};
    onnx_bytes graph = {0};
    char x[32] = "x", weights[32], y[32];
    for (int i = 0; i < LAYERS; i++) {
        const bool last = i + 1 == LAYERS;
        snprintf(weights, sizeof weights, "w%d", i);
        snprintf(y, sizeof y, last ? "y" : "p%d", i);
        add_conv(&graph, x, weights, y);
        snprintf(x, sizeof x, "%s", y);
        if (!last && (i % 4 == 1 || i % 4 == 2)) {
            snprintf(y, sizeof y, "n%d", i);
            add_norm(&graph, x, y);
            snprintf(x, sizeof x, "%s", y);
        }
        if (!last && *behind[i % 4]) {
            snprintf(y, sizeof y, "a%d", i);
            add_node(&graph, make_node(behind[i % 4], x, y));
            snprintf(x, sizeof x, "%s", y);
        }
    }
    add_input(&graph, make_value("x", 4, image));
    add_output(&graph, make_value("y", 4, image));
    return make_model(8, 15, graph);
}

static void begin_network(network *n, onnx_bytes bytes, unsigned threads)
{
    static const rynd_allocator counted = {count_allocate, count_release, NULL};
    const rynd_context_options context =
        RYND_SIZED(rynd_context_options, .threads = threads, .allocator = &counted);
    memset(n, 0, sizeof *n);
    n->bytes = bytes;
    assert_int_equal(rynd_context_create(&context, &n->context), RYND_OK);
    if (rynd_model_load_memory(n->context, bytes.data, bytes.size, &n->model) != RYND_OK) {
        fail_msg("%s", rynd_last_error());
    }
    tiny_values(n->x, COUNT, 50);
    tiny_values(n->y, COUNT, 51);
}

static void end_network(network *n)
{
    rynd_trainer_destroy(n->trainer);
    rynd_model_destroy(n->model);
    rynd_context_destroy(n->context);
    onnx_bytes_free(&n->bytes);
}

static rynd_trainer_options options_of(rynd_dtype storage)
{
    return RYND_SIZED(rynd_trainer_options, .loss = RYND_LOSS_MSE, .momentum = 0.9,
                      .batch = PICTURES, .keep_gradients = 1, .storage = storage);
}

static void create(network *n, const rynd_trainer_options *options)
{
    rynd_trainer_destroy(n->trainer);
    if (rynd_trainer_create(n->model, options, &n->trainer) != RYND_OK) {
        fail_msg("%s", rynd_last_error());
    }
}

typedef struct results {
    double loss[STEPS];
    float weights[LAYERS][WEIGHTS], gradient[LAYERS][WEIGHTS]; /* behind the last step */
} results;

static void train(network *n, int steps, results *to)
{
    static const int64_t dim[] = {PICTURES, CHANNELS, SIDE, SIDE},
                         square[] = {CHANNELS, CHANNELS, 3, 3};
    const rynd_tensor x = row_major(RYND_DTYPE_F32, 4, dim, n->x),
                      y = row_major(RYND_DTYPE_F32, 4, dim, n->y);
    memset(to, 0, sizeof *to);
    for (int k = 0; k < steps; k++) {
        assert_int_equal(rynd_trainer_step(n->trainer, &x, &y, 0.01, &to->loss[k]), RYND_OK);
    }
    for (int i = 0; i < LAYERS; i++) {
        char name[32];
        snprintf(name, sizeof name, "w%d", i);
        const rynd_tensor w = row_major(RYND_DTYPE_F32, 4, square, to->weights[i]);
        assert_int_equal(rynd_trainer_read(n->trainer, name, &w), RYND_OK);
        rynd_tensor gradient;
        if (rynd_trainer_get_gradient(n->trainer, name, &gradient) == RYND_OK) {
            memcpy(to->gradient[i], gradient.data, sizeof to->gradient[i]);
        }
    }
}

/* Steps of the plan whose names hold a text. */
static size_t steps_named(const network *n, const char *text)
{
    const rynd_plan *plan = rynd_trainer_plan(n->trainer);
    size_t found = 0;
    for (size_t i = 0; i < rynd_plan_step_count(plan); i++) {
        rynd_step_info info = RYND_SIZED(rynd_step_info);
        assert_int_equal(rynd_plan_get_step(plan, i, &info), RYND_OK);
        found += strstr(info.name, text) != NULL;
    }
    return found;
}

/* Losses of forward passes in which nothing is rounded, perhaps by other kernels. */
static bool is_near(double a, double b)
{
    return fabs(a - b) <= 1e-6 * fabs(a);
}

static void gradients_are_those_of_rounded_activations(void **state)
{
    (void)state;
    static network n;
    static results exact, rounded;
    rynd_trainer_options options = options_of(RYND_DTYPE_F32);
    begin_network(&n, chain(), 2);
    create(&n, &options);
    assert_int_equal(steps_named(&n, "/bf16"), 0);
    train(&n, 1, &exact);
    options.storage = RYND_DTYPE_BF16;
    create(&n, &options);
    assert_true(steps_named(&n, "/bf16") > 0);
    train(&n, 1, &rounded);
    assert_true(is_near(exact.loss[0], rounded.loss[0]));
    for (int i = 0; i < LAYERS; i++) {
        double square = 0, difference = 0;
        for (int k = 0; k < WEIGHTS; k++) {
            const double a = exact.gradient[i][k], b = rounded.gradient[i][k];
            square += a * a;
            difference += (a - b) * (a - b);
        }
        assert_true(square > 0);
        /* an activation has half a step of 2^-8, and errors of layers are independent */
        assert_true(sqrt(difference / square) < 0x1p-8 * sqrt(LAYERS - i));
        assert_true(difference > 0);
    }
    end_network(&n);
}

static void memory_is_little_more_than_half(void **state)
{
    (void)state;
    static network n;
    rynd_trainer_options options = options_of(RYND_DTYPE_F32);
    begin_network(&n, chain(), 2);
    create(&n, &options);
    const double all = (double)rynd_trainer_memory(n.trainer);
    options.storage = RYND_DTYPE_BF16;
    create(&n, &options);
    assert_true((double)rynd_trainer_memory(n.trainer) < 0.6 * all);
    end_network(&n);
}

/* Threads, recomputation. */
static void bits_are_the_same(void **state)
{
    (void)state;
    static const unsigned threads[] = {1, 2, 3};
    static network n;
    static results first, again;
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        rynd_trainer_options options = options_of(RYND_DTYPE_BF16);
        begin_network(&n, chain(), threads[i]);
        create(&n, &options);
        train(&n, STEPS, i ? &again : &first);
        assert_memory_equal(&first, i ? &again : &first, sizeof first);
        options.memory_limit = rynd_trainer_memory(n.trainer) * 9 / 10;
        create(&n, &options);
        assert_true(steps_named(&n, "/again") > 0);
        assert_true(rynd_trainer_memory(n.trainer) <= options.memory_limit);
        train(&n, STEPS, &again);
        assert_memory_equal(&first, &again, sizeof first);
        end_network(&n);
    }
}

static void sums_of_micro_batches_are_of_rounded_activations(void **state)
{
    (void)state;
    static network n;
    static results one, two;
    rynd_trainer_options options = options_of(RYND_DTYPE_BF16);
    begin_network(&n, chain(), 2);
    options.accumulate = 2;
    create(&n, &options);
    assert_true(steps_named(&n, "/bf16") > 0);
    train(&n, STEPS, &one);
    options.memory_limit = rynd_trainer_memory(n.trainer) * 9 / 10;
    create(&n, &options);
    train(&n, STEPS, &two);
    assert_memory_equal(&one, &two, sizeof one);
    options.storage = RYND_DTYPE_F32;
    options.memory_limit = 0;
    create(&n, &options);
    train(&n, STEPS, &two);
    assert_true(is_near(one.loss[0], two.loss[0]) && is_near(one.loss[1], two.loss[1]));
    assert_true(memcmp(one.weights, two.weights, sizeof one.weights) != 0);
    end_network(&n);
}

/* Its values are small. */
static void nothing_is_cast_where_nothing_is_kept(void **state)
{
    (void)state;
    taught t, other;
    rynd_trainer_options options = defaults();
    begin(&t, 1, &options);
    options.storage = RYND_DTYPE_BF16;
    begin(&other, 1, &options);
    const size_t steps = rynd_plan_step_count(rynd_trainer_plan(t.trainer));
    assert_int_equal(rynd_plan_step_count(rynd_trainer_plan(other.trainer)), steps);
    for (int k = 0; k < STEPS; k++) {
        assert_true(step(&t, 0.1) == step(&other, 0.1));
    }
    assert_int_equal(rynd_trainer_memory(t.trainer), rynd_trainer_memory(other.trainer));
    end(&t);
    end(&other);
}

/* What stands between a first and a last convolution, from "p" to "q". */
static void add_middle(onnx_bytes *graph, const char *what)
{
    static const int64_t square[] = {CHANNELS, CHANNELS, SIDE, SIDE}, scalar[] = {1}, axes[] = {2};
    static const float sixth[] = {6}, tenth[] = {0.1f}, none[] = {0};
    onnx_bytes node;
    add_initializer(graph, make_floats("zero", 0, scalar, none));
    if (strcmp(what, "relu6") == 0 || strcmp(what, "clip") == 0) {
        add_initializer(graph, make_floats("top", 0, scalar, *what == 'r' ? sixth : tenth));
        add_node(graph, make_node("Clip", "p,zero,top", "q"));
    } else if (strcmp(what, "norm") == 0) {
        add_initializer(graph, make_floats("top", 0, scalar, tenth));
        add_norm(graph, "p", "n");
        add_node(graph, make_node("Clip", "n,zero,top", "q"));
    } else if (strcmp(what, "greatest") == 0) {
        node = make_node("ReduceMax", "p", "m");
        add_ints_attribute(&node, "axes", 1, axes);
        add_node(graph, node);
        add_node(graph, make_node("Add", "p,m", "q"));
    } else if (strcmp(what, "view") == 0) {
        add_node(graph, make_node("Tanh", "p", "a"));
        add_node(graph, make_node("Flatten", "a", "r"));
        add_node(graph, make_node("Softplus", "r", "s"));
        add_node(graph, make_node("ReduceMean", "s", "m"));
        add_node(graph, make_node("Mul", "a,m", "q"));
    } else if (strcmp(what, "weights") == 0) {
        add_numbers(graph, "u", 4, square, 7);
        add_node(graph, make_node("Tanh", "u", "t"));
        add_node(graph, make_node("ReduceMean", "t", "m"));
        add_node(graph, make_node("Mul", "p,m", "q"));
    }
}

/* A first and a last convolution, and what is between them. */
static onnx_bytes three(const char *middle)
{
    onnx_bytes graph = {0};
    add_conv(&graph, "x", "w0", "p");
    add_middle(&graph, middle);
    add_conv(&graph, "q", "w1", "y");
    add_input(&graph, make_value("x", 4, image));
    add_output(&graph, make_value("y", 4, image));
    return make_model(8, 15, graph);
}

static void what_is_compared_is_not_rounded(void **state)
{
    (void)state;
    static const struct {
        const char *what, *kept, *stays;
    } cases[] = {
        {"relu6", "q/bf16", "p/bf16"}, /* p is nobody's, relu6's result tells */
        {"clip", "", "q/bf16"},        /* 0.1 is no bfloat16 */
        {"norm", "p/bf16", "q/bf16"},
        {"greatest", "q/bf16", "p/bf16"},
        {"weights", "p/bf16", "t/bf16"},
        {"view", "a/bf16", "r/bf16"}, /* a view of a/bf16, not a step */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static network n;
        begin_network(&n, three(cases[i].what), 1);
        const rynd_trainer_options options = options_of(RYND_DTYPE_BF16);
        create(&n, &options);
        if (steps_named(&n, cases[i].stays) != 0 ||
            (*cases[i].kept && steps_named(&n, cases[i].kept) == 0)) {
            fail_msg("of '%s' %s is not kept, or %s is", cases[i].what, cases[i].kept,
                     cases[i].stays);
        }
        assert_int_equal(steps_named(&n, "y/bf16"), 0);
        assert_int_equal(steps_named(&n, "x/bf16"), 0);
        end_network(&n);
    }
}

/* Each allocation fails in turn: it is told, and everything is given back. */
static void memory_runs_out(void **state)
{
    (void)state;
    static network n;
    const rynd_trainer_options options = options_of(RYND_DTYPE_BF16);
    size_t failed = 0;
    begin_network(&n, three("view"), 1);
    for (rynd_status status = RYND_ERROR_OUT_OF_MEMORY; status != RYND_OK; failed++) {
        const size_t before = alive;
        fails_at = failed + 1;
        status = rynd_trainer_create(n.model, &options, &n.trainer);
        fails_at = 0;
        if (status != RYND_OK) {
            assert_int_equal(status, RYND_ERROR_OUT_OF_MEMORY);
            assert_int_equal(alive, before);
        }
    }
    assert_true(failed > 50);
    assert_true(steps_named(&n, "/bf16") > 0);
    end_network(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_those_of_rounded_activations),
        cmocka_unit_test(memory_is_little_more_than_half),
        cmocka_unit_test(bits_are_the_same),
        cmocka_unit_test(sums_of_micro_batches_are_of_rounded_activations),
        cmocka_unit_test(nothing_is_cast_where_nothing_is_kept),
        cmocka_unit_test(what_is_compared_is_not_rounded),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
