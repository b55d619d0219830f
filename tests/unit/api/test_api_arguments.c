/* SPDX-License-Identifier: Apache-2.0 */
/* Every entry point refuses structs of other versions and values without a meaning, says why, and
 * leaves no handle. */
#include "api_case.h"

#include <math.h>
#include <stdlib.h>

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
        cmocka_unit_test(sizes_that_are_none),       cmocka_unit_test(structs_of_other_versions),
        cmocka_unit_test(values_of_context_options), cmocka_unit_test(progress_of_a_plan),
        cmocka_unit_test(values_of_plan_options),    cmocka_unit_test(values_of_other_structs),
        cmocka_unit_test(failures_leave_no_handle),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
