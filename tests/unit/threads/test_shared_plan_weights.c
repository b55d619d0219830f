/* SPDX-License-Identifier: Apache-2.0 */
/* The plans of a model share weights: twenty shapes take the memory of one, and give what models
 * of their own give; what no plan reads goes; many threads may make plans at once. Run under
 * ThreadSanitizer too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "onnx_bytes.h"
#include "tiny_model.h"
#include <rynd/rynd.h>

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LAYERS = 4,
    CHANNELS = 136,
    WEIGHTS = CHANNELS * CHANNELS * 9, /* per layer; all layers exceed own_weights' default */
    SHAPES = 20,
    FIRST = 5, /* height and width of the first shape */
    MOST = CHANNELS * (FIRST + SHAPES) * (FIRST + SHAPES),
    THREADS = 8
};

/* Two plans may choose other kernels of class near32: each layer of either is off by 1e-5 at most
 * (relative root mean square). */
static const double APART = 2 * LAYERS * 1e-5;

static onnx_bytes bytes;
static rynd_context *context;
static atomic_long alive, left = -1; /* left: allocations until one fails; below 0: all succeed */

/* --- memory that is counted --- */

enum { HEADER = 64 };

static void *take(void *user, size_t size, size_t alignment)
{
    (void)user;
    const size_t header = alignment > HEADER ? alignment : HEADER;
    if (atomic_load(&left) >= 0 && atomic_fetch_sub(&left, 1) == 0) {
        return NULL;
    }
    char *memory = aligned_alloc(header, (size + 2 * header - 1) / header * header);
    if (!memory) {
        return NULL;
    }
    size_t *note = (size_t *)(void *)(memory + header) - 2;
    note[0] = size;
    note[1] = header;
    atomic_fetch_add(&alive, (long)size);
    return memory + header;
}

static void give(void *user, void *memory)
{
    (void)user;
    if (memory) {
        const size_t *note = (size_t *)memory - 2;
        atomic_fetch_sub(&alive, (long)note[0]);
        free((char *)memory - note[1]);
    }
}

/* --- the model: layers of Conv, BatchNormalization (which folding scales weights by), Relu --- */

static void add_floats(onnx_bytes *graph, const char *kind, int layer, int rank,
                       const int64_t *dims, uint32_t seed, float scale, float shift)
{
    static float numbers[WEIGHTS];
    char name[16];
    size_t count = 1;
    for (int i = 0; i < rank; i++) {
        count *= (size_t)dims[i];
    }
    tiny_values(numbers, count, seed + (uint32_t)layer);
    for (size_t i = 0; i < count; i++) {
        numbers[i] = numbers[i] * scale + shift;
    }
    snprintf(name, sizeof name, "%s%d", kind, layer);
    add_initializer(graph, make_floats(name, rank, dims, numbers));
}

static void add_layer(onnx_bytes *graph, int layer)
{
    char inputs[64], output[16], scaled[16], normed[64];
    const int64_t shape[] = {CHANNELS, CHANNELS, 3, 3}, one[] = {CHANNELS};
    const char *before = layer ? "y" : "x";
    add_floats(graph, "w", layer, 4, shape, 11, 0.05f, 0);
    add_floats(graph, "scale", layer, 1, one, 22, 0.25f, 1);
    add_floats(graph, "bias", layer, 1, one, 33, 0.1f, 0);
    add_floats(graph, "mean", layer, 1, one, 44, 0.1f, 0);
    add_floats(graph, "var", layer, 1, one, 55, 0.25f, 1);
    snprintf(inputs, sizeof inputs, "%s%d,w%d", before, layer ? layer - 1 : 0, layer);
    snprintf(output, sizeof output, "c%d", layer);
    onnx_bytes conv = make_node("Conv", inputs, output);
    add_ints_attribute(&conv, "pads", 4, (const int64_t[]){1, 1, 1, 1});
    add_node(graph, conv);
    snprintf(scaled, sizeof scaled, "b%d", layer);
    snprintf(normed, sizeof normed, "c%d,scale%d,bias%d,mean%d,var%d", layer, layer, layer, layer,
             layer);
    add_node(graph, make_node("BatchNormalization", normed, scaled));
    snprintf(output, sizeof output, "y%d", layer);
    add_node(graph, make_node("Relu", scaled, output));
}

static int begin(void **state)
{
    (void)state;
    const int64_t open[] = {1, CHANNELS, -1, -1};
    onnx_bytes graph = {0};
    put_text(&graph, 2, "layers");
    for (int i = 0; i < LAYERS; i++) {
        add_layer(&graph, i);
    }
    add_input(&graph, make_value("x0", 4, open));
    add_output(&graph, make_value("y3", -1, NULL));
    bytes = make_model(8, 17, graph);
    const rynd_allocator counting = {take, give, NULL};
    const rynd_context_options options =
        RYND_SIZED(rynd_context_options, .threads = 2, .allocator = &counting, .wisdom = "off");
    return rynd_context_create(&options, &context) != RYND_OK;
}

static int end(void **state)
{
    (void)state;
    rynd_context_destroy(context);
    onnx_bytes_free(&bytes);
    return atomic_load(&alive) != 0;
}

static rynd_model *load(void)
{
    rynd_model *model = NULL;
    assert_int_equal(rynd_model_load_memory(context, bytes.data, bytes.size, &model), RYND_OK);
    return model;
}

static rynd_weights weights_of(const rynd_model *model)
{
    rynd_weights weights = RYND_SIZED(rynd_weights);
    assert_int_equal(rynd_model_get_weights(model, &weights), RYND_OK);
    return weights;
}

/* --- plans and runs --- */

static rynd_status make_plan(rynd_model *model, int64_t side, size_t own_weights, rynd_plan **plan)
{
    const rynd_dim dims[] = {{"N", side}};
    const rynd_plan_options options =
        RYND_SIZED(rynd_plan_options, .dims = dims, .dim_count = 1, .own_weights = own_weights);
    return rynd_plan_create(model, &options, plan);
}

static rynd_status run(rynd_plan *plan, int64_t side, float *y)
{
    rynd_session *session = NULL;
    const int64_t dims[] = {1, CHANNELS, side, side};
    float *x = malloc(MOST * sizeof *x);
    const rynd_tensor in = rynd_tensor_of(x, RYND_DTYPE_F32, 4, dims),
                      out = rynd_tensor_of(y, RYND_DTYPE_F32, 4, dims);
    tiny_values(x, (size_t)(CHANNELS * side * side), (uint32_t)side);
    rynd_status status = rynd_session_create(plan, &session);
    status = status ? status : rynd_session_bind(session, "x0", &in);
    status = status ? status : rynd_session_bind(session, "y3", &out);
    status = status ? status : rynd_session_run(session);
    rynd_session_destroy(session);
    free(x);
    return status;
}

/* What a plan of a model for one shape gives, after a plan for another (0: none). */
static float *run_alone(int64_t before, int64_t side, size_t own_weights)
{
    float *y = calloc(MOST, sizeof *y);
    rynd_model *model = load();
    rynd_plan *first = NULL, *plan = NULL;
    if (before) {
        assert_int_equal(make_plan(model, before, 0, &first), RYND_OK);
    }
    assert_int_equal(make_plan(model, side, own_weights, &plan), RYND_OK);
    assert_int_equal(run(plan, side, y), RYND_OK);
    rynd_plan_destroy(plan);
    rynd_plan_destroy(first);
    rynd_model_destroy(model);
    return y;
}

/* Relative root mean square. */
static double difference(const float *a, const float *b, int64_t side)
{
    double error = 0, whole = 0;
    for (int64_t i = 0; i < CHANNELS * side * side; i++) {
        error += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
        whole += (double)b[i] * (double)b[i];
    }
    return sqrt(error / whole);
}

static bool same(const float *a, const float *b, int64_t side)
{
    return memcmp(a, b, (size_t)(CHANNELS * side * side) * sizeof *a) == 0;
}

static void test_twenty_shapes_take_the_memory_of_one(void **state)
{
    (void)state;
    rynd_model *model = load();
    rynd_plan *plan[SHAPES] = {NULL};
    const long before = atomic_load(&alive);
    long one = 0;
    size_t packed = 0, derived = 0;
    float *y = calloc(MOST, sizeof *y);
    for (int i = 0; i < SHAPES; i++) {
        assert_int_equal(make_plan(model, FIRST + i, 0, &plan[i]), RYND_OK);
        if (i == 0) {
            one = atomic_load(&alive) - before;
            packed = weights_of(model).packed;
            derived = weights_of(model).derived;
        }
    }
    /* graph, steps and texts of a plan, beside its weights */
    const long all = atomic_load(&alive) - before, others = (SHAPES - 1) * (256l << 10);
    assert_true(one >= 4 * (long)(LAYERS * WEIGHTS));
    if (all > one + others) {
        fail_msg("a plan takes %ld bytes, %d take %ld", one, SHAPES, all);
    }
    assert_int_equal(weights_of(model).packed, packed);
    assert_int_equal(weights_of(model).derived, derived);
    for (int i = 0; i < SHAPES; i += 7) {
        float *alone = run_alone(0, FIRST + i, 0), *after = run_alone(FIRST, FIRST + i, 0);
        assert_int_equal(run(plan[i], FIRST + i, y), RYND_OK);
        assert_true(difference(y, alone, FIRST + i) < APART);
        assert_true(same(y, after, FIRST + i)); /* whatever other shapes came before it */
        free(alone);
        free(after);
    }
    for (int i = 0; i < SHAPES; i++) {
        rynd_plan_destroy(plan[i]);
    }
    rynd_model_destroy(model);
    free(y);
}

/* Steps that read weights in the form that another plan has decided. */
static size_t count_bound(const rynd_plan *plan)
{
    size_t bound = 0;
    for (size_t s = 0; s < rynd_plan_step_count(plan); s++) {
        rynd_step_info step = RYND_SIZED(rynd_step_info);
        assert_int_equal(rynd_plan_get_step(plan, s, &step), RYND_OK);
        bound += strstr(step.reason, "as the model has packed them") != NULL;
    }
    return bound;
}

static void test_only_the_first_plan_is_free(void **state)
{
    (void)state;
    rynd_model *model = load();
    rynd_plan *first = NULL, *second = NULL, *own = NULL;
    assert_int_equal(make_plan(model, FIRST, 0, &first), RYND_OK);
    assert_int_equal(make_plan(model, FIRST + 1, 0, &second), RYND_OK);
    assert_int_equal(make_plan(model, FIRST + 1, 8 << 20, &own), RYND_OK);
    assert_int_equal(count_bound(first), 0);
    assert_int_equal(count_bound(second), LAYERS);
    assert_int_equal(count_bound(own), 0);
    rynd_plan_destroy(first);
    rynd_plan_destroy(second);
    rynd_plan_destroy(own);
    rynd_model_destroy(model);
}

static void test_own_weights_are_chosen_by_the_shape_alone(void **state)
{
    (void)state;
    enum { SIDE = FIRST + SHAPES - 1 };
    float *alone = run_alone(0, SIDE, 0), *own = run_alone(FIRST, SIDE, SIZE_MAX);
    assert_true(same(own, alone, SIDE));
    free(alone);
    free(own);
}

static void test_what_no_plan_reads_goes(void **state)
{
    (void)state;
    rynd_model *model = load();
    rynd_plan *plan = NULL, *other = NULL;
    rynd_memory memory = RYND_SIZED(rynd_memory);
    assert_int_equal(weights_of(model).packed, 0);
    assert_true(weights_of(model).keep >= 4 * LAYERS * WEIGHTS);
    assert_int_equal(make_plan(model, FIRST, 0, &plan), RYND_OK);
    assert_int_equal(rynd_plan_get_memory(plan, &memory), RYND_OK);
    const rynd_weights used = weights_of(model);
    assert_true(used.packed > 0 && used.packed <= memory.weights);
    assert_true(used.derived >= 4 * LAYERS * WEIGHTS); /* scaled by the normalisations */
    assert_int_equal(used.unused_packed + used.unused_derived, 0);
    assert_int_equal(make_plan(model, FIRST + 1, 0, &other), RYND_OK);
    assert_int_equal(weights_of(model).packed, used.packed);
    rynd_plan_destroy(other);
    assert_int_equal(weights_of(model).unused_packed, 0);
    rynd_plan_destroy(plan);
    assert_int_equal(weights_of(model).unused_packed, used.packed);
    assert_int_equal(rynd_model_keep(model, 0), RYND_OK);
    assert_int_equal(weights_of(model).packed + weights_of(model).derived, 0);
    assert_int_equal(make_plan(model, FIRST + 1, 0, &plan), RYND_OK);
    assert_int_equal(weights_of(model).packed, used.packed); /* in the form that was decided */
    rynd_plan_destroy(plan);
    assert_int_equal(weights_of(model).packed, 0);
    rynd_model_destroy(model);
}

typedef struct user {
    pthread_t thread;
    rynd_model *model;
    rynd_plan *plan;
    int64_t side;
    rynd_status status;
    float y[MOST];
} user;

static void *live(void *argument)
{
    user *u = argument;
    u->status = make_plan(u->model, u->side, 0, &u->plan);
    u->status = u->status ? u->status : run(u->plan, u->side, u->y);
    return NULL;
}

/* From the first plan on: whoever is first decides, and nobody packs twice. */
static void test_many_threads_make_plans(void **state)
{
    (void)state;
    static user users[THREADS];
    rynd_model *model = load();
    for (int i = 0; i < THREADS; i++) {
        users[i] = (user){.model = model, .side = FIRST + i};
        assert_int_equal(pthread_create(&users[i].thread, NULL, live, &users[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(users[i].thread, NULL);
        assert_int_equal(users[i].status, RYND_OK);
    }
    rynd_memory memory = RYND_SIZED(rynd_memory);
    assert_int_equal(rynd_plan_get_memory(users[0].plan, &memory), RYND_OK);
    assert_true(weights_of(model).packed <= memory.weights);
    for (int i = 0; i < THREADS; i++) {
        float *alone = run_alone(0, users[i].side, 0);
        assert_true(difference(users[i].y, alone, users[i].side) < APART);
        rynd_plan_destroy(users[i].plan);
        free(alone);
    }
    rynd_model_destroy(model);
}

/* A failed plan leaves nothing behind that disturbs the next plan. */
static void test_memory_runs_out(void **state)
{
    (void)state;
    rynd_status status = RYND_ERROR_OUT_OF_MEMORY;
    for (long n = 0; status != RYND_OK; n += 1 + n / 16) {
        rynd_model *model = load();
        rynd_plan *plan = NULL, *next = NULL;
        atomic_store(&left, n);
        status = make_plan(model, FIRST, 0, &plan);
        atomic_store(&left, -1);
        assert_true(status == RYND_OK || status == RYND_ERROR_OUT_OF_MEMORY);
        assert_int_equal(make_plan(model, FIRST, 0, &next), RYND_OK);
        rynd_plan_destroy(plan);
        rynd_plan_destroy(next);
        rynd_model_destroy(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_twenty_shapes_take_the_memory_of_one),
        cmocka_unit_test(test_only_the_first_plan_is_free),
        cmocka_unit_test(test_own_weights_are_chosen_by_the_shape_alone),
        cmocka_unit_test(test_what_no_plan_reads_goes),
        cmocka_unit_test(test_many_threads_make_plans),
        cmocka_unit_test(test_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
