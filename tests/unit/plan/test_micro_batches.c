/* SPDX-License-Identifier: Apache-2.0 */
/* A batch cut into micro-batches: the same outputs as without, less memory, and only where each
 * image goes its own way. */
#include "small_net.h"

#include "device/cpu/cpu_device.h"
#include "exec/session.h"
#include "plan/make_plan.h"

#include <string.h>

enum { THREADS = 2, BATCH = 6, MAX_OUTPUTS = 4, IMAGE = CHANNELS * SIDE * SIDE };

/* A plan of a graph and its results. */
typedef struct planned {
    int64_t micro_batches; /* most micro-batches of any split */
    size_t values, splits; /* values: bytes of the arena but for the threads' scratch */
    float *y[MAX_OUTPUTS];
} planned;

static void begin(small_net *n)
{
    small_net_begin(n, 1e12);
    n->batch = BATCH;
    /* a micro-batch costs nothing beside its bytes */
    n->machine.level[RYND_LEVEL_DRAM].bandwidth.all = 1e6;
}

static void note_splits(const ry_plan *plan, planned *p)
{
    size_t next = 0;
    for (size_t i = 0; i < plan->batch_split_count; i++) {
        const ry_batch_split *split = &plan->batch_splits[i];
        assert_int_equal(split->first, next);
        assert_true(split->end > split->first && BATCH % split->micro_batches == 0);
        p->micro_batches =
            split->micro_batches > p->micro_batches ? split->micro_batches : p->micro_batches;
        next = split->end;
    }
    assert_int_equal(next, plan->step_count);
    p->splits = plan->batch_split_count;
    size_t scratch = 0;
    for (size_t i = 0; i < plan->step_count; i++) {
        scratch =
            plan->steps[i].prepared.scratch > scratch ? plan->steps[i].prepared.scratch : scratch;
    }
    p->values = plan->arena_size - THREADS * scratch;
}

/* Plans the graph for a machine with such a cache, and runs it twice: nothing of a run may stay for
 * the next one. */
static planned compute(small_net *n, size_t cache, const ry_tensor *x)
{
    planned p = {0};
    ry_threads *threads;
    ry_device *device;
    const ry_plan *plan;
    ry_session *session;
    const ry_plan_options options = {.accuracy = RY_ACCURACY_strict, .inputs = x};
    n->machine.level[RYND_LEVEL_L2] =
        (rynd_memory_level){.bytes = cache, .shared_by = n->machine.cores};
    n->machine.level[RYND_LEVEL_L3].bytes = 0;
    ry_isa isa;
    assert_true(ry_isa_parse(n->machine.isa, &isa));
    assert_int_equal(
        ry_threads_create(&ry_system_allocator, THREADS, NULL, NULL, &threads, &n->error), RYND_OK);
    assert_int_equal(ry_cpu_device_create(&ry_system_allocator, threads, isa, &device, &n->error),
                     RYND_OK);
    device->machine = &n->machine;
    assert_int_equal(ry_plan_create(device, n->builder.graph, &options, &plan, &n->error), RYND_OK);
    note_splits(plan, &p);
    assert_int_equal(ry_session_create(plan, NULL, &session, &n->error), RYND_OK);
    assert_int_equal(ry_session_bind_input(session, 0, x, &n->error), RYND_OK);
    assert_int_equal(ry_session_copied(session), 0);
    assert_int_equal(ry_session_run(session, &n->error), RYND_OK);
    assert_int_equal(ry_session_run(session, &n->error), RYND_OK);
    for (size_t o = 0; o < plan->output_count; o++) {
        ry_tensor y;
        assert_int_equal(ry_session_output(session, o, &y, &n->error), RYND_OK);
        p.y[o] = malloc(ry_tensor_bytes(&y));
        assert_non_null(p.y[o]);
        memcpy(p.y[o], y.data, ry_tensor_bytes(&y));
    }
    ry_session_destroy(session);
    ry_plan_destroy(plan);
    device->table->destroy(device);
    ry_threads_destroy(threads);
    return p;
}

static void release(planned *p)
{
    for (int o = 0; o < MAX_OUTPUTS; o++) {
        free(p->y[o]);
    }
}

static ry_tensor image_tensor(float *data)
{
    const ry_shape shape = ry_shape_of(4, (int64_t[]){BATCH, CHANNELS, SIDE, SIDE});
    return ry_tensor_row_major(RY_f32, &shape, data);
}

/* Compares the graph cut for a small cache, its input lying as `x` says, with the graph as a whole
 * and the same input row-major; returns the former, without its outputs. */
static planned cut_strided(small_net *n, size_t cache, const ry_tensor *x, planned *whole_plan)
{
    float *plain = malloc(BATCH * IMAGE * sizeof *plain);
    assert_non_null(plain);
    const ry_tensor row_major = image_tensor(plain);
    ry_tensor_copy(&row_major, x);
    planned whole = compute(n, 0, &row_major), turned = compute(n, cache, x);
    assert_int_equal(whole.micro_batches, 1);
    for (size_t o = 0; o < n->builder.graph->output_count; o++) {
        for (int i = 0; i < BATCH * IMAGE; i++) {
            assert_true(fabsf(whole.y[o][i] - turned.y[o][i]) <=
                        1e-4f * (1 + fabsf(whole.y[o][i])));
        }
    }
    release(&whole);
    release(&turned);
    free(plain);
    if (whole_plan) {
        *whole_plan = whole;
    }
    return turned;
}

enum { ROOM = 2 * BATCH * IMAGE }; /* floats, of any input */

static float *random_numbers(void)
{
    float *x = malloc(ROOM * sizeof *x);
    assert_non_null(x);
    for (int i = 0; i < ROOM; i++) {
        x[i] = (float)(rand() % 2001 - 1000) / 500.0f;
    }
    return x;
}

static planned cut(small_net *n, size_t cache, planned *whole_plan)
{
    float *numbers = random_numbers();
    const ry_tensor x = image_tensor(numbers);
    const planned p = cut_strided(n, cache, &x, whole_plan);
    free(numbers);
    return p;
}

static ry_value_id softmax(small_net *n, ry_value_id x)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_softmax);
    return small_net_node(n, RY_OP_softmax, &attrs, 1, &x);
}

static void a_chain_runs_in_micro_batches(void **state)
{
    (void)state;
    small_net n;
    begin(&n);
    ry_value_id v = small_net_input(&n);
    for (int i = 0; i < 4; i++) {
        v = small_net_pool(&n, small_net_convolve(&n, v, 1, 1));
    }
    assert_true(ry_graph_add_output(n.builder.graph, v));
    planned whole;
    /* two images' input and output fit */
    const planned p = cut(&n, 4 * IMAGE * sizeof(float), &whole);
    assert_int_equal(p.micro_batches, BATCH / 2);
    assert_int_equal(p.splits, 1);
    assert_true(p.values < whole.values);
    small_net_end(&n);
}

/* Images of an input that lie anyhow: channels last, with gaps, backwards, all the same. */
static void micro_batches_of_strided_inputs(void **state)
{
    (void)state;
    enum { ROW = SIDE + 2, PLANE = ROW * SIDE + 5 };
    static const int64_t strides[][4] = {
        {IMAGE, 1, SIDE * CHANNELS, CHANNELS}, {CHANNELS * PLANE, PLANE, ROW, 1},
        {-CHANNELS * PLANE, PLANE, ROW, 1},    {-IMAGE, -SIDE * SIDE, -SIDE, -1},
        {0, 1, SIDE * CHANNELS, CHANNELS},     {1, BATCH, BATCH * CHANNELS, BATCH * IMAGE / SIDE},
    };
    float *numbers = random_numbers();
    for (size_t i = 0; i < sizeof strides / sizeof *strides; i++) {
        small_net n;
        begin(&n);
        ry_value_id v = small_net_input(&n);
        const ry_value_id x = v;
        for (int k = 0; k < 3; k++) {
            v = small_net_pool(&n, small_net_convolve(&n, v, 3, 1));
        }
        v = small_net_expression(&n, "x0 + 0.5 * x1", 2, (ry_value_id[]){v, x});
        assert_true(ry_graph_add_output(n.builder.graph, v));
        ry_tensor input = image_tensor(numbers);
        memcpy(input.stride, strides[i], sizeof strides[i]);
        int64_t low, high;
        assert_true(ry_tensor_range(&input, &low, &high));
        assert_true(high - low <= (int64_t)(ROOM * sizeof(float)));
        input.data = (char *)numbers - low;
        assert_true(cut_strided(&n, 4 * IMAGE * sizeof(float), &input, NULL).micro_batches > 1);
        small_net_end(&n);
    }
    free(numbers);
}

static void what_fits_is_not_cut(void **state)
{
    (void)state;
    small_net n;
    begin(&n);
    assert_true(ry_graph_add_output(
        n.builder.graph,
        small_net_convolve(&n, small_net_convolve(&n, small_net_input(&n), 3, 1), 3, 1)));
    assert_int_equal(cut(&n, 2 * BATCH * IMAGE * sizeof(float), NULL).micro_batches, 1);
    small_net_end(&n);
}

/* Values that pass from micro-batches to the whole and back, outputs from the middle, views, sums
 * over far branches. */
static void splits_meet(void **state)
{
    (void)state;
    small_net n;
    begin(&n);
    const ry_value_id x = small_net_input(&n);
    ry_value_id v = small_net_pool(&n, small_net_convolve(&n, x, 1, 1));
    assert_true(ry_graph_add_output(n.builder.graph, v));
    v = small_net_convolve(&n, v, 1, 1);
    const ry_value_id early = v;
    v = small_net_pool(&n, small_net_convolve(&n, v, 3, CHANNELS));
    v = softmax(&n, small_net_view(&n, v));
    v = small_net_pool(&n, small_net_convolve(&n, v, 1, 1));
    v = small_net_expression(&n, "x0 + 0.5 * x1", 2, (ry_value_id[]){v, early});
    assert_true(ry_graph_add_output(n.builder.graph, small_net_pool(&n, v)));
    const planned p = cut(&n, 4 * IMAGE * sizeof(float), NULL);
    assert_true(p.micro_batches > 1 && p.splits > 1);
    small_net_end(&n);
}

/* x with each channel times a number of its own. */
static ry_value_id scale_channels(small_net *n, ry_value_id x)
{
    const ry_shape shape = ry_shape_of(4, (int64_t[]){1, CHANNELS, 1, 1});
    const ry_value_id scale = ry_graph_add_constant(n->builder.graph, NULL, RY_f32, &shape, NULL);
    for (int i = 0; i < CHANNELS; i++) {
        ((float *)ry_graph_constant_data(n->builder.graph, scale))[i] = (float)i / CHANNELS - 0.5f;
    }
    return small_net_expression(n, "x0 * x1", 2, (ry_value_id[]){x, scale});
}

/* Constants of a step that runs in micro-batches are the same in each. */
static void factors_of_channels_run_in_micro_batches(void **state)
{
    (void)state;
    small_net n;
    begin(&n);
    const ry_value_id v = scale_channels(&n, small_net_pool(&n, small_net_input(&n)));
    assert_true(ry_graph_add_output(n.builder.graph, small_net_pool(&n, v)));
    const planned p = cut(&n, 4 * IMAGE * sizeof(float), NULL);
    assert_true(p.micro_batches > 1);
    assert_int_equal(p.splits, 1);
    small_net_end(&n);
}

/* A constant for each image: what multiplies by it is not cut. */
static void factors_of_images_are_not_cut(void **state)
{
    (void)state;
    small_net n;
    begin(&n);
    const ry_shape shape = ry_shape_of(4, (int64_t[]){BATCH, 1, 1, 1});
    const ry_value_id scale = ry_graph_add_constant(n.builder.graph, NULL, RY_f32, &shape, NULL);
    for (int i = 0; i < BATCH; i++) {
        ((float *)ry_graph_constant_data(n.builder.graph, scale))[i] = (float)i;
    }
    const ry_value_id v = small_net_pool(&n, small_net_input(&n));
    const ry_value_id scaled = small_net_expression(&n, "x0 * x1", 2, (ry_value_id[]){v, scale});
    assert_true(ry_graph_add_output(n.builder.graph, small_net_pool(&n, scaled)));
    assert_int_equal(cut(&n, 4 * IMAGE * sizeof(float), NULL).splits, 3);
    small_net_end(&n);
}

static ry_value_id random_node(small_net *n, const ry_value_id *values, int count)
{
    const ry_value_id x = values[rand() % count], other = values[rand() % count];
    switch (rand() % 8) {
    case 0: return small_net_convolve(n, x, 3, 1);
    case 1: return small_net_convolve(n, x, 1, 1);
    case 2: return small_net_convolve(n, x, 3, CHANNELS);
    case 3: return small_net_pool(n, x);
    case 4: return small_net_expression(n, "x0 + 0.5 * x1", 2, (ry_value_id[]){x, other});
    case 5: return softmax(n, x);
    case 6: return scale_channels(n, x);
    default: return small_net_view(n, x);
    }
}

static void random_graphs(void **state)
{
    (void)state;
    int turned = 0;
    for (int g = 0; g < 60; g++) {
        small_net n;
        begin(&n);
        ry_value_id values[12] = {small_net_input(&n)};
        int count = 1;
        while (count < 12) {
            values[count] = random_node(&n, values, count);
            count++;
        }
        for (int o = 0; o < MAX_OUTPUTS; o++) {
            assert_true(ry_graph_add_output(n.builder.graph, values[count - 1 - o]));
        }
        turned += cut(&n, (size_t)(1 + rand() % 8) * IMAGE * sizeof(float), NULL).micro_batches > 1;
        small_net_end(&n);
    }
    assert_true(turned > 20);
}

int main(void)
{
    srand(11);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_runs_in_micro_batches),
        cmocka_unit_test(micro_batches_of_strided_inputs),
        cmocka_unit_test(what_fits_is_not_cut),
        cmocka_unit_test(splits_meet),
        cmocka_unit_test(factors_of_images_are_not_cut),
        cmocka_unit_test(factors_of_channels_run_in_micro_batches),
        cmocka_unit_test(random_graphs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
