/* SPDX-License-Identifier: Apache-2.0 */
/* A small file does not become much memory or work before it runs; and where memory is refused, the
 * message says for what. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "onnx_bytes.h"
#include <rynd/rynd.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MIB = 1 << 20, HEADER = 64 };

/* Counts what is held, and refuses blocks of more than `most` bytes. */
typedef struct counting {
    atomic_size_t held, peak;
    size_t most;
} counting;

static void *take(void *user, size_t size, size_t alignment)
{
    counting *c = user;
    char *block = size > c->most || alignment > HEADER
                      ? NULL
                      : aligned_alloc(HEADER, (size + 2 * HEADER - 1) / HEADER * HEADER);
    if (!block) {
        return NULL;
    }
    memcpy(block, &size, sizeof size);
    const size_t held = atomic_fetch_add(&c->held, size) + size;
    if (held > atomic_load(&c->peak)) {
        atomic_store(&c->peak, held);
    }
    return block + HEADER;
}

static void give_back(void *user, void *memory)
{
    counting *c = user;
    size_t size;
    if (memory) {
        memcpy(&size, (char *)memory - HEADER, sizeof size);
        atomic_fetch_sub(&c->held, size);
        free((char *)memory - HEADER);
    }
}

typedef struct loaded {
    counting memory;
    rynd_allocator allocator;
    rynd_context *context;
    rynd_model *model;
    rynd_plan *plan;
    rynd_session *session;
    char path[64];
} loaded;

/* Loads from a file; what follows may be refused blocks above `most`. The model's bytes are freed.
 */
static rynd_status load(loaded *l, onnx_bytes model, size_t most)
{
    *l = (loaded){.memory = {.most = most}, .path = "/tmp/rynd_memory_XXXXXX"};
    l->allocator = (rynd_allocator){take, give_back, &l->memory};
    const rynd_context_options options =
        RYND_SIZED(rynd_context_options, .threads = 1, .allocator = &l->allocator);
    const int file = mkstemp(l->path);
    assert_true(file >= 0 && write(file, model.data, model.size) == (ssize_t)model.size &&
                close(file) == 0);
    onnx_bytes_free(&model);
    assert_int_equal(rynd_context_create(&options, &l->context), RYND_OK);
    return rynd_model_load(l->context, l->path, &l->model);
}

static void unload(loaded *l)
{
    rynd_session_destroy(l->session);
    rynd_plan_destroy(l->plan);
    rynd_model_destroy(l->model);
    rynd_context_destroy(l->context);
    unlink(l->path);
    assert_int_equal(atomic_load(&l->memory.held), 0);
}

static rynd_status plan(loaded *l, int without_weights)
{
    const rynd_plan_options options =
        RYND_SIZED(rynd_plan_options, .without_weights = without_weights);
    return rynd_plan_create(l->model, &options, &l->plan);
}

/* The message of the last failure names the file and has these parts. */
static void assert_told(const loaded *l, const char *const *parts, size_t count)
{
    const char *text = rynd_last_error();
    if (strncmp(text, l->path, strlen(l->path)) != 0) {
        fail_msg("\"%s\" does not begin with the file", text);
    }
    for (size_t i = 0; i < count; i++) {
        if (!strstr(text, parts[i])) {
            fail_msg("\"%s\" does not say \"%s\"", text, parts[i]);
        }
    }
}

#define ASSERT_TOLD(l, ...)                            \
    assert_told(l, (const char *const[]){__VA_ARGS__}, \
                sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

/* name0 = a constant of `count` numbers; name1 = name0 name0; name2 = name1 name1; ... */
static void add_doublings(onnx_bytes *graph, const char *name, int64_t count, int doublings)
{
    char text[32], in[64], out[32];
    float *numbers = calloc((size_t)count, sizeof *numbers);
    snprintf(text, sizeof text, "%s0", name);
    add_initializer(graph, make_floats(text, 1, &count, numbers));
    free(numbers);
    for (int i = 0; i < doublings; i++) {
        snprintf(in, sizeof in, "%s%d,%s%d", name, i, name, i);
        snprintf(out, sizeof out, "%s%d", name, i + 1);
        onnx_bytes node = make_node("Concat", in, out);
        add_int_attribute(&node, "axis", 0);
        add_node(graph, node);
    }
}

static size_t steps_of(const loaded *l, const char *op)
{
    size_t found = 0;
    for (size_t i = 0; i < rynd_plan_step_count(l->plan); i++) {
        rynd_step_info step = RYND_SIZED(rynd_step_info);
        assert_int_equal(rynd_plan_get_step(l->plan, i, &step), RYND_OK);
        found += strcmp(step.op, op) == 0;
    }
    return found;
}

/* A kilobyte that unfolds to terabytes: no value of more than 64 MiB is made of it, and a run says
 * what it would take. */
static void doublings_stay_steps(void **state)
{
    (void)state;
    loaded l;
    onnx_bytes graph = {0};
    add_doublings(&graph, "c", 1, 40);
    add_output(&graph, make_value("c40", -1, NULL));
    assert_int_equal(load(&l, make_model(8, 17, graph), SIZE_MAX), RYND_OK);
    assert_int_equal(plan(&l, 1), RYND_OK);
    assert_true(atomic_load(&l.memory.peak) < 200 * (size_t)MIB);
    assert_int_equal(steps_of(&l, "Concat"), 16); /* 2^24 numbers are 64 MiB */
    rynd_memory memory = RYND_SIZED(rynd_memory);
    assert_int_equal(rynd_plan_get_memory(l.plan, &memory), RYND_OK);
    assert_true(memory.total >= 4 * (size_t)1 << 40);
    assert_int_equal(rynd_session_create(l.plan, &l.session), RYND_ERROR_OUT_OF_MEMORY);
    ASSERT_TOLD(&l, "node 'c39' (Concat)", "bytes");
    assert_true(atomic_load(&l.memory.peak) < 200 * (size_t)MIB);
    unload(&l);
}

/* Many values below that size. */
static void values_are_bounded_together(void **state)
{
    (void)state;
    loaded l;
    onnx_bytes graph = {0};
    char name[16], out[32];
    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof name, "n%d_", i);
        add_doublings(&graph, name, 1, 24);
        snprintf(out, sizeof out, "%s24", name);
        add_output(&graph, make_value(out, -1, NULL));
    }
    assert_int_equal(load(&l, make_model(8, 17, graph), SIZE_MAX), RYND_OK);
    assert_int_equal(plan(&l, 1), RYND_OK);
    assert_true(atomic_load(&l.memory.peak) < 400 * (size_t)MIB);
    unload(&l);
}

/* A product of constants that would take minutes; what decides a shape is folded all the same. */
static void work_is_bounded(void **state)
{
    (void)state;
    loaded l;
    const int64_t one[] = {1}, two[] = {2}, square[] = {4096, 4096};
    onnx_bytes graph = {0}, shape = make_tensor("shape", 7, 1, two),
               begin = make_tensor("begin", 7, 1, one);
    put_bytes(&shape, 9, square, sizeof square);
    put_bytes(&begin, 9, &one[0], sizeof one[0]);
    add_doublings(&graph, "c", 1 << 10, 14);
    add_initializer(&graph, shape);
    add_initializer(&graph, begin);
    add_node(&graph, make_node("Reshape", "c14,shape", "a"));
    add_node(&graph, make_node("MatMul", "a,a", "b"));
    add_node(&graph, make_node("MatMul", "b,b", "d"));
    add_node(&graph, make_node("Shape", "d", "s"));
    add_node(&graph, make_node("Gather", "s,begin", "rows"));
    add_node(&graph, make_node("Expand", "x,rows", "y"));
    add_input(&graph, make_value("x", 1, one));
    add_output(&graph, make_value("d", -1, NULL));
    add_output(&graph, make_value("y", -1, NULL));
    assert_int_equal(load(&l, make_model(8, 17, graph), SIZE_MAX), RYND_OK);
    assert_int_equal(plan(&l, 1), RYND_OK);
    assert_int_equal(steps_of(&l, "MatMul"), 2);
    assert_int_equal(steps_of(&l, "Gather"), 0);
    rynd_tensor y;
    assert_int_equal(rynd_plan_get_output(l.plan, 1, &y), RYND_OK);
    assert_int_equal(y.dim[0], 4096);
    assert_true(rynd_plan_complete(l.plan));
    unload(&l);
}

/* Convolutions that share weights, each with a normalisation of its own: their weights are copied
 * as long as the allowance lasts. */
static void copies_of_weights_are_bounded(void **state)
{
    (void)state;
    enum { CONVS = 200, CHANNELS = 1024 };
    loaded l;
    const int64_t w[] = {CHANNELS, CHANNELS, 1, 1}, c[] = {CHANNELS}, image[] = {1, CHANNELS, 1, 1};
    float *numbers = calloc((size_t)CHANNELS * CHANNELS, sizeof *numbers);
    onnx_bytes graph = {0};
    char in[64], out[64];
    add_initializer(&graph, make_floats("w", 4, w, numbers));
    numbers[0] = 2;
    add_initializer(&graph, make_floats("c", 1, c, numbers));
    free(numbers);
    add_input(&graph, make_value("v0", 4, image));
    for (int i = 0; i < CONVS; i++) {
        snprintf(in, sizeof in, "v%d,w", i);
        snprintf(out, sizeof out, "k%d", i);
        add_node(&graph, make_node("Conv", in, out));
        snprintf(in, sizeof in, "k%d,c,c,c,c", i);
        snprintf(out, sizeof out, "v%d", i + 1);
        add_node(&graph, make_node("BatchNormalization", in, out));
    }
    add_output(&graph, make_value(out, -1, NULL));
    assert_int_equal(load(&l, make_model(8, 15, graph), SIZE_MAX), RYND_OK);
    assert_int_equal(plan(&l, 1), RYND_OK);
    assert_true(atomic_load(&l.memory.peak) < 400 * (size_t)MIB);
    assert_true(steps_of(&l, "Conv") == CONVS);
    unload(&l);
}

static onnx_bytes two_softmax(int64_t side)
{
    const int64_t dims[] = {1, side, side};
    onnx_bytes graph = {0}, first = make_node("Softmax", "x", "m"),
               second = make_node("Softmax", "m", "y");
    put_text(&first, 3, "first");
    put_text(&second, 3, "second");
    add_node(&graph, first);
    add_node(&graph, second);
    add_input(&graph, make_value("x", 3, dims));
    add_output(&graph, make_value("y", -1, NULL));
    return make_model(8, 17, graph);
}

static void sessions_name_what_is_refused(void **state)
{
    (void)state;
    loaded l;
    assert_int_equal(load(&l, two_softmax(1024), MIB), RYND_OK);
    assert_int_equal(plan(&l, 0), RYND_OK);
    assert_int_equal(rynd_session_create(l.plan, &l.session), RYND_ERROR_OUT_OF_MEMORY);
    ASSERT_TOLD(&l, "activations", "node 'first' (Softmax)", "out of memory for 4194304 bytes");
    unload(&l);
    assert_int_equal(load(&l, two_softmax(1024), 4 * MIB), RYND_OK);
    assert_int_equal(plan(&l, 0), RYND_OK);
    assert_int_equal(rynd_session_create(l.plan, &l.session), RYND_OK);
    static float strided[2 * MIB];
    l.memory.most = MIB;
    const rynd_tensor x = {.data = strided,
                           .dtype = RYND_DTYPE_F32,
                           .rank = 3,
                           .dim = {1, 1024, 1024},
                           .stride = {0, 2048, 2}};
    assert_int_equal(rynd_session_bind(l.session, "x", &x), RYND_ERROR_OUT_OF_MEMORY);
    ASSERT_TOLD(&l, "input 'x'", "out of memory for 4194304 bytes");
    unload(&l);
}

static void loading_names_what_is_refused(void **state)
{
    (void)state;
    enum { COUNT = 600000 };
    const int64_t count[] = {COUNT};
    loaded l;
    onnx_bytes graph = {0}, w = make_tensor("w", 1, 1, count);
    for (int i = 0; i < COUNT; i++) { /* float_data: numbers one by one are no bytes to point to */
        put_float(&w, 4, 1.0f);
    }
    add_initializer(&graph, w);
    add_node(&graph, make_node("Add", "x,w", "y"));
    add_input(&graph, make_value("x", 1, count));
    add_output(&graph, make_value("y", -1, NULL));
    assert_int_equal(load(&l, make_model(8, 17, graph), MIB), RYND_ERROR_OUT_OF_MEMORY);
    ASSERT_TOLD(&l, "initializer 0", "out of memory for", "bytes");
    l.model = NULL;
    unload(&l);
}

static void planning_names_what_is_refused(void **state)
{
    (void)state;
    loaded l;
    onnx_bytes graph = {0};
    const int64_t wide[] = {1 << 18};
    add_doublings(&graph, "c", 1 << 17, 1);
    add_node(&graph, make_node("Add", "x,c1", "y"));
    add_input(&graph, make_value("x", 1, wide));
    add_output(&graph, make_value("y", -1, NULL));
    assert_int_equal(load(&l, make_model(8, 17, graph), MIB), RYND_OK);
    assert_int_equal(plan(&l, 0), RYND_ERROR_OUT_OF_MEMORY);
    ASSERT_TOLD(&l, "node 'c1' (Concat)", "out of memory for", "bytes");
    l.plan = NULL;
    unload(&l);
}

static void operators_name_what_is_refused(void **state)
{
    (void)state;
    counting memory = {.most = MIB};
    const rynd_allocator allocator = {take, give_back, &memory};
    const rynd_context_options options =
        RYND_SIZED(rynd_context_options, .threads = 1, .allocator = &allocator);
    rynd_context *context;
    rynd_op *op;
    assert_int_equal(rynd_context_create(&options, &context), RYND_OK);
    static float w[1024 * 1024];
    const rynd_tensor inputs[] = {
        {.dtype = RYND_DTYPE_NONE},
        rynd_tensor_of(w, RYND_DTYPE_F32, 4, (int64_t[]){1024, 1024, 1, 1}),
        {.dtype = RYND_DTYPE_NONE},
        {.dtype = RYND_DTYPE_NONE}};
    const rynd_op_options op_options = RYND_SIZED(rynd_op_options, .inputs = inputs);
    assert_int_equal(rynd_op_create(context, "conv c=1024 h=32 w=32 k=1024", &op_options, &op),
                     RYND_ERROR_OUT_OF_MEMORY);
    assert_non_null(strstr(rynd_last_error(), "problem 'conv c=1024"));
    assert_non_null(strstr(rynd_last_error(), "out of memory for"));
    rynd_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(doublings_stay_steps),
        cmocka_unit_test(values_are_bounded_together),
        cmocka_unit_test(work_is_bounded),
        cmocka_unit_test(copies_of_weights_are_bounded),
        cmocka_unit_test(sessions_name_what_is_refused),
        cmocka_unit_test(loading_names_what_is_refused),
        cmocka_unit_test(planning_names_what_is_refused),
        cmocka_unit_test(operators_name_what_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
