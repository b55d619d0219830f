/* SPDX-License-Identifier: Apache-2.0 */
/* Launches, of one stream and of several, and their times. */
#include "device_contract_parts.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* y = 2 x in the workspace, then y reversed; an input that may be absent adds. */
static const char text[] =
    "KERNEL(twice)(ARGUMENTS)\n"
    "{\n"
    "    const INDEX at = (INDEX)GROUP * ITEMS + ITEM;\n"
    "    if (at < N) {\n"
    "        WORKSPACE(float)[at] = FACTOR * LOAD_f32(IN(float, 0), at);\n"
    "    }\n"
    "}\n"
    "KERNEL(reverse)(ARGUMENTS)\n"
    "{\n"
    "    LOCAL float tile[ITEMS];\n"
    "    const INDEX at = (INDEX)GROUP * ITEMS + ITEM;\n"
    "    tile[ITEM] = at < N ? WORKSPACE(float)[at] : 0.0f;\n"
    "    BARRIER;\n"
    "    const INDEX end = min((INDEX)ITEMS, N - GROUP * ITEMS);\n"
    "    if (at < N) {\n"
    "        float y = tile[end - 1 - ITEM];\n"
    "#if HAS_IN_1\n"
    "        y += IN(float, 1)[at];\n"
    "#endif\n"
    "        STORE_f32(OUT(float, 0), N - 1 - (GROUP * ITEMS + end - 1 - ITEM), y);\n"
    "    }\n"
    "}\n";
static const char *const entries[] = {"twice", "reverse"};

ry_gpu_source contract_source_of(int factor, bool adds, char defines[512])
{
    snprintf(defines, 512,
             "#define INDEX int\n#define N %d\n#define ITEMS %d\n#define GROUP_OF_twice ITEMS\n"
             "#define GROUP_OF_reverse ITEMS\n"
             "#define FACTOR %d.0f\n"
             "#define HAS_IN_1 %d\n"
             "#define ARGUMENTS ARGUMENT(in0), ARGUMENT(in1), ARGUMENT(out0), ARGUMENT(packed), "
             "ARGUMENT(workspace)\n",
             N, ITEMS, factor, adds);
    return (ry_gpu_source){"twice_reversed", defines, text, 2, entries};
}

ry_program contract_program_of(int factor, bool adds)
{
    char defines[512];
    const ry_gpu_source source = contract_source_of(factor, adds, defines);
    ry_program program = {.gpu = NULL};
    OK(held.device->table->program_create(held.device, &source, &program, &held.error));
    return program;
}

static rynd_status launch_on(ry_stream *on, ry_program program, const ry_pointer *arguments,
                             ry_error *failure)
{
    const size_t tasks[] = {(N + ITEMS - 1) / ITEMS, (N + ITEMS - 1) / ITEMS};
    const unsigned group[] = {ITEMS, ITEMS};
    void *resolved[ARGUMENTS];
    const ry_launch l = {.program = program,
                         .phases = 2,
                         .tasks = tasks,
                         .group = group,
                         .argument_count = ARGUMENTS,
                         .arguments = arguments,
                         .resolved = resolved};
    return held.device->table->launch(on, &l, failure);
}

rynd_status contract_launch(ry_program program, const ry_pointer *arguments)
{
    return launch_on(held.stream, program, arguments, &held.error);
}

void contract_run(ry_program program, int factor, bool adds)
{
    static float x[N], b[N], y[N + 3];
    ry_buffer *in, *added = NULL, *memory;
    for (int i = 0; i < N; i++) {
        x[i] = (float)i;
        b[i] = (float)(i % 10) * 0.5f;
    }
    OK(held.device->table->buffer_wrap(held.device, x, sizeof x, &in, &held.error));
    if (adds) {
        OK(held.device->table->buffer_wrap(held.device, b, sizeof b, &added, &held.error));
    }
    OK(held.device->table->buffer_create(held.device, 2 * sizeof x + 64, &memory, &held.error));
    const ry_pointer arguments[ARGUMENTS] = {
        {in, 0}, {added, 0}, {memory, sizeof x + 12}, {NULL, 0}, {memory, 4}};
    OK(contract_launch(program, arguments));
    OK(contract_fetch(y, arguments[2], sizeof x));
    for (int i = 0; i < N; i++) {
        const int last = i / ITEMS * ITEMS + (i / ITEMS == N / ITEMS ? N % ITEMS : ITEMS) - 1;
        const int first = i / ITEMS * ITEMS;
        const int from = first + last - i; /* mirrored in its group */
        const float expected = (float)(factor * from) + (adds ? b[i] : 0);
        assert_float_equal(y[N - 1 - from], expected, 0);
    }
    held.device->table->buffer_destroy(held.device, in);
    held.device->table->buffer_destroy(held.device, added);
    held.device->table->buffer_destroy(held.device, memory);
}

void contract_test_launch(void **state)
{
    (void)state;
    contract_need_device();
    const ry_program twice = contract_program_of(2, false), adds = contract_program_of(2, true);
    for (int i = 0; i < 3; i++) {
        contract_run(twice, 2, false);
        contract_run(adds, 2, true);
    }
    const ry_pointer none[ARGUMENTS] = {{0}};
    void *resolved[ARGUMENTS];
    const ry_launch large = {.program = twice,
                             .phases = 1,
                             .tasks = (size_t[]){1},
                             .group = (unsigned[]){1u << 30},
                             .argument_count = ARGUMENTS,
                             .arguments = none,
                             .resolved = resolved};
    assert_int_equal(held.device->table->launch(held.stream, &large, &held.error),
                     RYND_ERROR_DEVICE);
    assert_non_null(strstr(held.error.text, "kernel 'twice_reversed', entry 0"));
    assert_non_null(strstr(held.error.text, held.contract->wrong_group));
    held.device->table->program_destroy(held.device, twice);
    held.device->table->program_destroy(held.device, adds);
    held.device->table->program_destroy(held.device, (ry_program){.gpu = NULL});
}

void contract_test_elapsed(void **state)
{
    (void)state;
    contract_need_device();
    const ry_program program = contract_program_of(2, false);
    ry_event *from, *to;
    double seconds = -1;
    OK(held.device->table->event_create(held.device, &from, &held.error));
    OK(held.device->table->event_create(held.device, &to, &held.error));
    assert_int_equal(held.device->table->event_elapsed(from, to, &seconds, &held.error),
                     RYND_ERROR_ARGUMENT);
    if (held.device->table->stream_time) { /* off at first */
        OK(held.device->table->event_record(held.stream, from, &held.error));
        OK(held.device->table->event_record(held.stream, to, &held.error));
        assert_int_equal(held.device->table->event_elapsed(from, to, &seconds, &held.error),
                         RYND_ERROR_ARGUMENT);
        assert_non_null(strstr(held.error.text, "rynd_session_profile"));
        OK(held.device->table->stream_time(held.stream, true, &held.error));
    }
    for (int i = 0; i < 2; i++) {
        OK(held.device->table->event_record(held.stream, from, &held.error));
        contract_run(program, 2, false);
        OK(held.device->table->event_record(held.stream, to, &held.error));
        OK(held.device->table->event_elapsed(from, to, &seconds, &held.error));
        assert_true(seconds > 0 && seconds < 60);
    }
    held.device->table->event_destroy(held.device, from);
    held.device->table->event_destroy(held.device, to);
    held.device->table->event_destroy(held.device, NULL);
    held.device->table->program_destroy(held.device, program);
}

/* Streams of several threads launch the same program with memory of their own. */
static void *launch_often(void *context)
{
    enum { BYTES = N * sizeof(float) };
    ry_error *failure = context;
    ry_stream *own = NULL;
    ry_buffer *in = NULL, *memory = NULL;
    ry_program program = {.gpu = NULL};
    char defines[512];
    const ry_gpu_source source = contract_source_of(2, false, defines);
    rynd_status status = held.device->table->stream_create(held.device, &own, failure);
    status = status ? status : held.device->table->buffer_create(held.device, BYTES, &in, failure);
    status = status ? status
                    : held.device->table->buffer_create(held.device, 2 * BYTES, &memory, failure);
    status = status ? status
                    : held.device->table->program_create(held.device, &source, &program, failure);
    for (int i = 0; i < 200 && status == RYND_OK; i++) {
        float ends[2] = {(float)i, (float)(uintptr_t)context};
        const ry_pointer last = {in, BYTES - sizeof *ends}, y = {memory, BYTES};
        const ry_pointer arguments[ARGUMENTS] = {{in, 0}, {NULL, 0}, y, {NULL, 0}, {memory, 0}};
        status =
            held.device->table->upload(own, (ry_pointer){in, 0}, &ends[0], sizeof *ends, failure);
        status = status ? status
                        : held.device->table->upload(own, last, &ends[1], sizeof *ends, failure);
        status = status ? status : launch_on(own, program, arguments, failure);
        status =
            status ? status : held.device->table->download(own, ends, y, sizeof *ends, failure);
        status = status ? status : held.device->table->synchronize(own, failure);
        if (status == RYND_OK && ends[0] != 2 * (float)(uintptr_t)context) {
            status = ry_fail(failure, RYND_ERROR_DEVICE, "run %d gives %g", i, (double)ends[0]);
        }
    }
    held.device->table->program_destroy(held.device, program);
    held.device->table->buffer_destroy(held.device, in);
    held.device->table->buffer_destroy(held.device, memory);
    held.device->table->stream_destroy(held.device, own);
    return status ? failure : NULL;
}

void contract_test_streams(void **state)
{
    (void)state;
    contract_need_device();
    enum { THREADS = 4 };
    pthread_t thread[THREADS];
    static ry_error failures[THREADS];
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&thread[i], NULL, launch_often, &failures[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        void *failed;
        assert_int_equal(pthread_join(thread[i], &failed), 0);
        if (failed) {
            fail_msg("%s", failures[i].text);
        }
    }
}
