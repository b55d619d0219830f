/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors that are none, structs of other versions and values that mean nothing: every entry point
 * refuses them, says why, and leaves no handle. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tiny_model.h"
#include <rynd/rynd.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define PROBLEM "conv c=3 h=8 w=8 k=3 r=3 s=3 pad=1"

static rynd_context *context;
static rynd_model *model;
static rynd_plan *plan;
static rynd_session *session;
static uint8_t bytes[TINY_MODEL_CAPACITY];
static size_t size;
static float memory[8 * TINY_CHANNELS * TINY_SIDE * TINY_SIDE];

static int begin(void **state)
{
    (void)state;
    const rynd_plan_options options = RYND_SIZED(rynd_plan_options, .batch = 1);
    size = tiny_model(bytes);
    return rynd_context_create(NULL, &context) ||
           rynd_model_load_memory(context, bytes, size, &model) ||
           rynd_plan_create(model, &options, &plan) || rynd_session_create(plan, &session);
}

static int end(void **state)
{
    (void)state;
    rynd_session_destroy(session);
    rynd_plan_destroy(plan);
    rynd_model_destroy(model);
    rynd_context_destroy(context);
    return 0;
}

static void assert_refused(rynd_status status, rynd_status expected, const char *says)
{
    if (status != expected || !strstr(rynd_last_error(), says)) {
        fail_msg("got '%s' (%s), expected '%s' (...%s...)", rynd_status_text(status),
                 rynd_last_error(), rynd_status_text(expected), says);
    }
}

/* Where a tensor comes in. */
static rynd_status bind_input(const rynd_tensor *t)
{
    return rynd_session_bind(session, "x", t);
}

static rynd_status bind_output(const rynd_tensor *t)
{
    return rynd_session_bind(session, "y", t);
}

static rynd_status plan_for(const rynd_tensor *t)
{
    rynd_plan *made = (rynd_plan *)memory;
    const rynd_plan_options options = RYND_SIZED(rynd_plan_options, .inputs = t, .batch = 1);
    const rynd_status status = rynd_plan_create(model, &options, &made);
    assert_true((status == RYND_OK) == (made != NULL));
    rynd_plan_destroy(made);
    return status;
}

static rynd_status make_op(const rynd_op_options *options)
{
    rynd_op *made = (rynd_op *)memory;
    const rynd_status status = rynd_op_create(context, PROBLEM, options, &made);
    assert_true((status == RYND_OK) == (made != NULL));
    rynd_op_destroy(made);
    return status;
}

static rynd_status op_input(const rynd_tensor *t)
{
    const rynd_tensor inputs[4] = {*t};
    return make_op(&RYND_SIZED(rynd_op_options, .inputs = inputs));
}

static rynd_status op_output(const rynd_tensor *t)
{
    return make_op(&RYND_SIZED(rynd_op_options, .outputs = t));
}

static rynd_status write_pb(const rynd_tensor *t)
{
    void *written = memory;
    size_t length = 1;
    const rynd_status status = rynd_tensor_write_pb(context, "t", t, &written, &length);
    assert_true((status == RYND_OK) == (written != NULL) && (status == RYND_OK) == (length != 0));
    rynd_memory_free(context, written);
    return status;
}

static rynd_status (*const entries[])(const rynd_tensor *) = {bind_input, bind_output, plan_for,
                                                              op_input,   op_output,   write_pb};

#define BIG ((int64_t)1 << 40)
static const struct {
    const char *says;
    rynd_tensor tensor;
} impossible[] = {
    {"dtype 14 is none of rynd_dtype", {memory, (rynd_dtype)14, 4, {1, 3, 8, 8}, {192, 64, 8, 1}}},
    {"is none of rynd_dtype", {memory, (rynd_dtype)-1, 4, {1, 3, 8, 8}, {192, 64, 8, 1}}},
    {"rank 99 is outside 0 to 16", {memory, RYND_DTYPE_F32, 99, {1, 3, 8, 8}, {192, 64, 8, 1}}},
    {"rank 17 is outside 0 to 16", {memory, RYND_DTYPE_F32, 17, {1, 3, 8, 8}, {192, 64, 8, 1}}},
    {"rank -1 is outside 0 to 16", {memory, RYND_DTYPE_F32, -1, {1, 3, 8, 8}, {192, 64, 8, 1}}},
    {"dim 2 is -8", {memory, RYND_DTYPE_F32, 4, {1, 3, -8, 8}, {192, 64, 8, 1}}},
    {"dim 0 is -1", {memory, RYND_DTYPE_F32, 4, {-1, 3, 8, 8}, {192, 64, 8, 1}}},
    {"beyond 2^63 bytes", {memory, RYND_DTYPE_F32, 4, {BIG, 3, BIG, 8}, {0, 0, 0, 0}}},
    {"beyond 2^63 bytes", {memory, RYND_DTYPE_F64, 2, {BIG, 1 << 20}, {0, 0}}},
    {"outside the address space",
     {memory, RYND_DTYPE_F32, 4, {1, 3, 8, 8}, {192, INT64_MAX, 8, 1}}},
    {"outside the address space",
     {memory, RYND_DTYPE_F32, 4, {1, 3, 8, 8}, {192, INT64_MIN, 8, 1}}},
    {"outside the address space",
     {memory, RYND_DTYPE_F32, 4, {1, 3, 8, 8}, {192, 64, INT64_MAX / 16, INT64_MAX / 16}}},
    {"outside the address space",
     {memory, RYND_DTYPE_F32, 4, {1, 3, 8, 8}, {192, -((int64_t)1 << 59), 8, 1}}},
};

static void what_is_no_tensor(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof impossible / sizeof *impossible; i++) {
        for (size_t e = 0; e < sizeof entries / sizeof *entries; e++) {
            assert_refused(entries[e](&impossible[i].tensor), RYND_ERROR_ARGUMENT,
                           impossible[i].says);
        }
        assert_true(rynd_tensor_elements(&impossible[i].tensor) >= -1);
    }
    assert_int_equal(rynd_tensor_elements(&impossible[2].tensor), -1);
    assert_int_equal(rynd_tensor_elements(&impossible[5].tensor), -1);
    assert_int_equal(rynd_tensor_elements(&impossible[7].tensor), -1);
    assert_int_equal(rynd_tensor_of(memory, RYND_DTYPE_F32, 2, (int64_t[]){BIG, BIG}).dtype,
                     RYND_DTYPE_NONE);
    assert_int_equal(rynd_tensor_of(memory, RYND_DTYPE_F32, 1, (int64_t[]){-1}).dtype,
                     RYND_DTYPE_NONE);
    assert_int_equal(rynd_tensor_of(memory, RYND_DTYPE_F32, 17, impossible[0].tensor.dim).dtype,
                     RYND_DTYPE_NONE);
}

/* A stride along a dim of one element reaches nothing. */
static void strides_that_do_not_matter(void **state)
{
    (void)state;
    rynd_tensor x = rynd_tensor_of(memory, RYND_DTYPE_F32, 4,
                                   (int64_t[]){1, TINY_CHANNELS, TINY_SIDE, TINY_SIDE});
    rynd_tensor y = rynd_tensor_of(memory, RYND_DTYPE_F32, 2, (int64_t[]){1, TINY_CLASSES});
    x.stride[0] = INT64_MIN;
    y.stride[0] = 0;
    assert_int_equal(bind_input(&x), RYND_OK);
    assert_int_equal(bind_output(&y), RYND_OK);
    assert_int_equal(plan_for(&x), RYND_OK);
    assert_int_equal(op_input(&x), RYND_OK);
    assert_int_equal(write_pb(&x), RYND_OK);
    x.dim[0] = 0;
    x.stride[1] = x.stride[2] = x.stride[3] = INT64_MAX;
    x.data = NULL;
    assert_int_equal(write_pb(&x), RYND_OK);
}

static void tensors_that_are_not_wanted(void **state)
{
    (void)state;
    const int64_t dims[] = {1, TINY_CHANNELS, TINY_SIDE, TINY_SIDE};
    const rynd_tensor wide = rynd_tensor_of(
        memory, RYND_DTYPE_F32, 4, (int64_t[]){1, TINY_CHANNELS, TINY_SIDE, TINY_SIDE + 1});
    const rynd_tensor halves = rynd_tensor_of(memory, RYND_DTYPE_F16, 4, dims),
                      none = {.dtype = RYND_DTYPE_NONE};
    const rynd_tensor no_data = rynd_tensor_of(NULL, RYND_DTYPE_F32, 4, dims);
    assert_refused(bind_input(&wide), RYND_ERROR_SHAPE, "input 'x': planned for f32");
    assert_refused(bind_input(&halves), RYND_ERROR_SHAPE, "given f16");
    assert_refused(bind_input(&none), RYND_ERROR_SHAPE, "given none");
    assert_refused(bind_input(&no_data), RYND_ERROR_ARGUMENT, "the data is NULL");
    assert_refused(plan_for(&wide), RYND_ERROR_SHAPE, "'x'");
    assert_refused(plan_for(&halves), RYND_ERROR_SHAPE, "the model has f32, given f16");
    assert_int_equal(plan_for(&none), RYND_OK); /* not given */
    assert_refused(op_input(&wide), RYND_ERROR_SHAPE, "input 0");
    assert_refused(op_output(&halves), RYND_ERROR_SHAPE, "output 0");
    assert_refused(write_pb(&none), RYND_ERROR_ARGUMENT, "no tensor");
    assert_refused(write_pb(&no_data), RYND_ERROR_ARGUMENT, "no data");
    assert_refused(rynd_session_bind(session, "z", &wide), RYND_ERROR_NOT_FOUND, "'z'");
}

/* An output that would be written by two elements at one place. */
static void outputs_that_overlap(void **state)
{
    (void)state;
    rynd_tensor y = rynd_tensor_of(memory, RYND_DTYPE_F32, 2, (int64_t[]){1, TINY_CLASSES});
    y.stride[1] = 0;
    assert_refused(bind_output(&y), RYND_ERROR_ARGUMENT, "share memory");
    rynd_tensor t = rynd_tensor_of(memory, RYND_DTYPE_F32, 4, (int64_t[]){1, 3, 8, 8});
    t.stride[1] = 63; /* the next channel begins in this one's last row */
    assert_refused(op_output(&t), RYND_ERROR_ARGUMENT, "share memory");
    assert_int_equal(op_input(&t), RYND_OK);
    t.stride[1] = -64;
    assert_int_equal(op_output(&t), RYND_OK);
}

static void memory_that_does_not_fit(void **state)
{
    (void)state;
    rynd_op *op = NULL;
    char *odd = (char *)memory + 2;
    const rynd_op_options constant =
        RYND_SIZED(rynd_op_options, .inputs = (rynd_tensor[4]){{0}, {.data = odd}});
    assert_refused(make_op(&constant), RYND_ERROR_ARGUMENT,
                   "input 1: its data is not aligned to its elements of 4 bytes");
    assert_int_equal(rynd_op_create(context, PROBLEM, NULL, &op), RYND_OK);
    float x[3 * 8 * 8] = {0}, w[3 * 3 * 3 * 3] = {0}, y[3 * 8 * 8];
    assert_int_equal(
        rynd_op_execute(op, (const void *const[]){x, w, NULL, NULL}, (void *const[]){y}), RYND_OK);
    assert_refused(
        rynd_op_execute(op, (const void *const[]){x, NULL, NULL, NULL}, (void *const[]){y}),
        RYND_ERROR_ARGUMENT, "input 1: its data is NULL");
    assert_refused(
        rynd_op_execute(op, (const void *const[]){odd, w, NULL, NULL}, (void *const[]){y}),
        RYND_ERROR_ARGUMENT, "input 0: its data is not aligned");
    assert_refused(
        rynd_op_execute(op, (const void *const[]){x, w, NULL, NULL}, (void *const[]){NULL}),
        RYND_ERROR_ARGUMENT, "output 0: its data is NULL");
    assert_refused(
        rynd_op_execute(op, (const void *const[]){x, w, NULL, NULL}, (void *const[]){odd}),
        RYND_ERROR_ARGUMENT, "output 0: its data is not aligned");
    rynd_op_destroy(op);
}

/* What takes a struct with a size. */
static rynd_status make_context(void *options)
{
    rynd_context *made = (rynd_context *)memory;
    const rynd_status status = rynd_context_create(options, &made);
    assert_true((status == RYND_OK) == (made != NULL));
    rynd_context_destroy(made);
    return status;
}

static rynd_status make_plan(void *options)
{
    rynd_plan *made = (rynd_plan *)memory;
    const rynd_status status = rynd_plan_create(model, options, &made);
    assert_true((status == RYND_OK) == (made != NULL));
    rynd_plan_destroy(made);
    return status;
}

static rynd_status make_any_op(void *options)
{
    return make_op(options);
}

static rynd_status keep_machine(void *machine)
{
    return rynd_context_keep_machine(context, machine, NULL);
}

static rynd_status machine_info(void *machine)
{
    return rynd_context_get_machine(context, machine);
}

static rynd_status device_info(void *info)
{
    return rynd_context_get_info(context, info);
}

static rynd_status value_info(void *info)
{
    return rynd_model_get_input(model, 0, info);
}

static rynd_status model_info(void *info)
{
    return rynd_model_get_info(model, info);
}

static rynd_status node_info(void *info)
{
    return rynd_model_get_node(model, 0, info);
}

static rynd_status plan_memory(void *info)
{
    return rynd_plan_get_memory(plan, info);
}

static rynd_status step_info(void *info)
{
    return rynd_plan_get_step(plan, 0, info);
}

/* Asks for a knob of the first step with knobs. */
static rynd_status knob_info(void *info)
{
    size_t step = 0;
    while (rynd_plan_knob_count(plan, step) == 0) {
        assert_true(++step < rynd_plan_step_count(plan));
    }
    return rynd_plan_get_knob(plan, step, 0, info);
}

static const struct {
    const char *name;
    size_t size;
    bool options;
    rynd_status (*call)(void *);
    rynd_status empty; /* what one gives whose fields are all 0 */
} structs[] = {
    {"rynd_context_options", sizeof(rynd_context_options), true, make_context, RYND_OK},
    {"rynd_plan_options", sizeof(rynd_plan_options), true, make_plan, RYND_ERROR_SHAPE},
    {"rynd_op_options", sizeof(rynd_op_options), true, make_any_op, RYND_OK},
    {"rynd_machine", sizeof(rynd_machine), true, keep_machine, RYND_ERROR_ARGUMENT},
    {"rynd_machine", sizeof(rynd_machine), false, machine_info, RYND_OK},
    {"rynd_device_info", sizeof(rynd_device_info), false, device_info, RYND_OK},
    {"rynd_value_info", sizeof(rynd_value_info), false, value_info, RYND_OK},
    {"rynd_model_info", sizeof(rynd_model_info), false, model_info, RYND_OK},
    {"rynd_node_info", sizeof(rynd_node_info), false, node_info, RYND_OK},
    {"rynd_memory", sizeof(rynd_memory), false, plan_memory, RYND_OK},
    {"rynd_step_info", sizeof(rynd_step_info), false, step_info, RYND_OK},
    {"rynd_knob", sizeof(rynd_knob), false, knob_info, RYND_OK},
};

/* A struct of `count` bytes, no more, whose size field says `said`. */
static uint8_t *make_struct(size_t count, size_t said, int filling)
{
    uint8_t *made = malloc(count);
    assert_non_null(made);
    memset(made, filling, count);
    memcpy(made, &said, sizeof said);
    return made;
}

static void sizes_that_are_none(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof structs / sizeof *structs; i++) {
        const size_t sizes[] = {
            0, 1, sizeof(size_t) - 1, structs[i].size - 1, structs[i].size + 4, 1 << 20, SIZE_MAX};
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            uint8_t *made = make_struct(sizeof(size_t), sizes[s], 0);
            assert_refused(structs[i].call(made), RYND_ERROR_ARGUMENT, structs[i].name);
            free(made);
        }
    }
}

static void structs_of_other_versions(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof structs / sizeof *structs; i++) {
        enum { MORE = 24 };
        const size_t larger = structs[i].size + MORE;
        uint8_t *older = make_struct(sizeof(size_t), sizeof(size_t), 0),
                *newer = make_struct(larger, larger, 0);
        assert_int_equal(structs[i].call(older), structs[i].empty);
        assert_int_equal(structs[i].call(newer), structs[i].empty);
        memset(newer + structs[i].size, 1, MORE);
        if (structs[i].options) {
            assert_refused(structs[i].call(newer), RYND_ERROR_UNSUPPORTED, structs[i].name);
        } else {
            const uint8_t zeros[MORE] = {0};
            assert_int_equal(structs[i].call(newer), RYND_OK);
            assert_memory_equal(newer + structs[i].size, zeros, MORE);
        }
        free(older);
        free(newer);
    }
}

static void *no_memory(void *user, size_t count, size_t alignment)
{
    (void)user, (void)count, (void)alignment;
    return NULL;
}

static void values_of_context_options(void **state)
{
    (void)state;
    const rynd_allocator no_release = {.allocate = no_memory}, nothing = {0};
    rynd_context_options options = RYND_SIZED(rynd_context_options, .allocator = &no_release);
    assert_refused(make_context(&options), RYND_ERROR_ARGUMENT, "allocator has no release");
    options.allocator = &nothing;
    assert_refused(make_context(&options), RYND_ERROR_ARGUMENT, "allocator has no allocate");
    options = RYND_SIZED(rynd_context_options, .threads = 1u << 31);
    assert_refused(make_context(&options), RYND_ERROR_ARGUMENT, "threads");
    options = RYND_SIZED(rynd_context_options, .device = "abacus");
    assert_refused(make_context(&options), RYND_ERROR_ARGUMENT, "'abacus'");
    options = RYND_SIZED(rynd_context_options, .isa = "abacus");
    assert_refused(make_context(&options), RYND_ERROR_ARGUMENT, "'abacus'");
}

typedef struct heard {
    int calls, end_at;
    size_t last, all;
    bool orderly;
} heard;

static int hear(void *user, const rynd_progress *progress)
{
    heard *h = user;
    const size_t done = progress->done, all = progress->all;
    h->orderly = h->orderly && progress->size == sizeof *progress && !progress->tuning;
    h->orderly = h->orderly && done >= h->last && done <= all && (!h->all || all == h->all);
    h->last = done;
    h->all = all;
    return ++h->calls == h->end_at;
}

static void progress_of_a_plan(void **state)
{
    (void)state;
    heard h = {.orderly = true};
    rynd_plan_options options =
        RYND_SIZED(rynd_plan_options, .batch = 1, .progress = hear, .progress_user = &h);
    rynd_plan *made;
    assert_int_equal(rynd_plan_create(model, &options, &made), RYND_OK);
    rynd_plan_destroy(made);
    assert_true(h.calls > 1 && h.orderly);
    for (int end_at = 1, calls = h.calls; end_at <= calls; end_at++) {
        h = (heard){.end_at = end_at, .orderly = true};
        assert_refused(make_plan(&options), RYND_ERROR_CANCELLED, "ended");
        assert_int_equal(h.calls, end_at);
    }
}

static void values_of_plan_options(void **state)
{
    (void)state;
    rynd_plan_options options =
        RYND_SIZED(rynd_plan_options, .batch = 1, .accuracy = (rynd_accuracy)6);
    assert_refused(make_plan(&options), RYND_ERROR_ARGUMENT, "accuracy 6");
    options.accuracy = (rynd_accuracy)-1;
    assert_refused(make_plan(&options), RYND_ERROR_ARGUMENT, "accuracy");
    options = RYND_SIZED(rynd_plan_options, .batch = -1);
    assert_refused(make_plan(&options), RYND_ERROR_ARGUMENT, "batch is -1");
    options = RYND_SIZED(rynd_plan_options, .dim_count = 1);
    assert_refused(make_plan(&options), RYND_ERROR_ARGUMENT, "dims is NULL");
    options.dims = &(rynd_dim){NULL, 1};
    assert_refused(make_plan(&options), RYND_ERROR_ARGUMENT, "dims[0].symbol is NULL");
    options.dims = &(rynd_dim){"no such dim", 1};
    assert_refused(make_plan(&options), RYND_ERROR_NOT_FOUND, "'no such dim'");
    options.dims = &(rynd_dim){"batch", -1};
    assert_refused(make_plan(&options), RYND_ERROR_ARGUMENT, "'batch' cannot be -1");
    options = RYND_SIZED(rynd_plan_options, .batch = 1, .setting_count = 1);
    assert_refused(make_plan(&options), RYND_ERROR_ARGUMENT, "settings is NULL");
    options.settings = &(rynd_setting){NULL, "kernel", "x"};
    assert_refused(make_plan(&options), RYND_ERROR_ARGUMENT, "settings[0].step is NULL");
    options.settings = &(rynd_setting){"no such step", "kernel", "x"};
    assert_refused(make_plan(&options), RYND_ERROR_NOT_FOUND, "'no such step'");
    rynd_knob knob = RYND_SIZED(rynd_knob);
    assert_refused(rynd_plan_get_knob(plan, rynd_plan_step_count(plan), 0, &knob),
                   RYND_ERROR_ARGUMENT, "step ");
    char value[RYND_KNOB_TEXT];
    assert_refused(
        rynd_plan_get_knob_value(plan, rynd_plan_step_count(plan), 0, 0, value, sizeof value),
        RYND_ERROR_ARGUMENT, "step ");
    assert_refused(
        rynd_plan_get_knob_value(plan, 0, rynd_plan_knob_count(plan, 0), 0, value, sizeof value),
        RYND_ERROR_ARGUMENT, "knob ");
}

static void values_of_other_structs(void **state)
{
    (void)state;
    rynd_op_options options = RYND_SIZED(rynd_op_options, .accuracy = (rynd_accuracy)77);
    assert_refused(make_op(&options), RYND_ERROR_ARGUMENT, "accuracy 77");
    options = RYND_SIZED(rynd_op_options, .kernel = "no such kernel");
    assert_refused(make_op(&options), RYND_ERROR_NOT_FOUND, "'no such kernel'");
    const double rates[] = {NAN, INFINITY, -1, 0};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        rynd_machine machine = RYND_SIZED(rynd_machine);
        assert_int_equal(rynd_context_get_machine(context, &machine), RYND_OK);
        machine.f32.all = rates[i];
        assert_refused(rynd_machine_save(&machine, "/nowhere/machine.txt"), RYND_ERROR_ARGUMENT,
                       "f32 is");
    }
}

/* After a failure there is nothing that a program could use or destroy by mistake. */
static void failures_leave_no_handle(void **state)
{
    (void)state;
    rynd_model *made = (rynd_model *)memory;
    rynd_session *none = (rynd_session *)memory;
    rynd_plan *unpacked = NULL;
    const rynd_plan_options options =
        RYND_SIZED(rynd_plan_options, .batch = 1, .without_weights = 1);
    assert_int_equal(rynd_model_load(context, "no/such/file.onnx", &made), RYND_ERROR_IO);
    assert_null(made);
    made = (rynd_model *)memory;
    assert_int_equal(rynd_model_load_memory(context, bytes, 7, &made), RYND_ERROR_FORMAT);
    assert_null(made);
    assert_int_equal(rynd_plan_create(model, &options, &unpacked), RYND_OK);
    assert_refused(rynd_session_create(unpacked, &none), RYND_ERROR_ARGUMENT,
                   "without its weights");
    assert_null(none);
    rynd_plan_destroy(unpacked);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_no_tensor),           cmocka_unit_test(strides_that_do_not_matter),
        cmocka_unit_test(tensors_that_are_not_wanted), cmocka_unit_test(outputs_that_overlap),
        cmocka_unit_test(memory_that_does_not_fit),    cmocka_unit_test(sizes_that_are_none),
        cmocka_unit_test(structs_of_other_versions),   cmocka_unit_test(values_of_context_options),
        cmocka_unit_test(progress_of_a_plan),          cmocka_unit_test(values_of_plan_options),
        cmocka_unit_test(values_of_other_structs),     cmocka_unit_test(failures_leave_no_handle),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
