/* SPDX-License-Identifier: Apache-2.0 */
/* Memory, programs, launches, times, compiled programs on disk: device 0 of a kind. */
#include "device_contract.h"

#include "base/integer.h"
#include "device/gpu/gpu_device.h"
#include "device/program_files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Fails an allocation, and counts those that are alive. */
typedef struct counting {
    atomic_int left, alive;
} counting;

static void *take(void *user, size_t size, size_t alignment)
{
    counting *c = user;
    if (atomic_fetch_sub(&c->left, 1) == 0) {
        return NULL;
    }
    void *memory = ry_system_allocator.allocate(NULL, size, alignment);
    atomic_fetch_add(&c->alive, memory != NULL);
    return memory;
}

static void give_back(void *user, void *memory)
{
    counting *c = user;
    atomic_fetch_sub(&c->alive, memory != NULL);
    ry_system_allocator.release(NULL, memory);
}

static counting counter;
static const ry_allocator allocator = {take, give_back, &counter};
static ry_device *device;
static ry_stream *stream;
static ry_error error;
static const device_contract *contract;

#define OK(call)                                   \
    do {                                           \
        const rynd_status status_ = (call);        \
        if (status_ != RYND_OK) {                  \
            fail_msg("%s: %s", #call, error.text); \
        }                                          \
    } while (0)

static void open_device(void)
{
    atomic_store(&counter.left, -1);
    OK(contract->create(&allocator, 0, NULL, &device, &error));
    OK(device->table->stream_create(device, &stream, &error));
}

static void close_device(void)
{
    device->table->stream_destroy(device, stream);
    device->table->destroy(device);
    assert_int_equal(atomic_load(&counter.alive), 0);
}

static bool is_there(void)
{
    unsigned count;
    return contract->count(&count, &error) == RYND_OK && count > 0;
}

/* Ends the test where there is no device. */
static void need_device(void)
{
    if (!is_there()) {
        print_message("skipped: no %s device: %s\n", contract->kind, error.text);
        skip();
    }
}

static int set_up(void **state)
{
    (void)state;
    if (is_there()) {
        open_device();
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    if (is_there()) {
        close_device();
    }
    return 0;
}

/* Waits, too. */
static rynd_status fetch(void *host, ry_place from, size_t size)
{
    const rynd_status status = device->table->download(stream, host, from, size, &error);
    return status == RYND_OK ? device->table->synchronize(stream, &error) : status;
}

static void test_round_trip(void **state)
{
    (void)state;
    need_device();
    enum { SIZE = 1000 };
    unsigned char from[SIZE], to[SIZE];
    for (int i = 0; i < SIZE; i++) {
        from[i] = (unsigned char)(i * 7);
    }
    ry_buffer *buffer;
    OK(device->table->buffer_create(device, SIZE, &buffer, &error));
    OK(device->table->upload(stream, (ry_place){buffer, 0}, from, SIZE, &error));
    OK(device->table->upload(stream, (ry_place){buffer, 13}, from, 17, &error));
    OK(device->table->upload(stream, (ry_place){buffer, SIZE}, from, 0, &error));
    OK(fetch(to, (ry_place){buffer, 5}, SIZE - 5));
    OK(fetch(to, (ry_place){buffer, 5}, 0));
    for (int i = 5; i < SIZE; i++) {
        assert_int_equal(to[i - 5], i >= 13 && i < 30 ? from[i - 13] : from[i]);
    }
    device->table->buffer_destroy(device, buffer);
    OK(device->table->buffer_wrap(device, from, SIZE, &buffer, &error));
    OK(fetch(to, (ry_place){buffer, 0}, SIZE));
    assert_memory_equal(from, to, SIZE);
    from[3] = 99;
    OK(device->table->buffer_rewrap(device, from, buffer, &error));
    OK(fetch(to, (ry_place){buffer, 0}, SIZE));
    assert_memory_equal(from, to, SIZE);
    device->table->buffer_destroy(device, buffer);
    OK(device->table->buffer_wrap(device, NULL, SIZE, &buffer, &error)); /* just room */
    device->table->buffer_destroy(device, buffer);
    OK(device->table->buffer_create(device, 0, &buffer, &error));
    device->table->buffer_destroy(device, buffer);
    device->table->buffer_destroy(device, NULL);
}

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
enum { N = 1003, ITEMS = 64, ARGUMENTS = 5 };

static ry_gpu_source source_of(int factor, bool adds, char defines[512])
{
    snprintf(defines, 512,
             "#define INDEX int\n#define N %d\n#define ITEMS %d\n#define MOST_ITEMS ITEMS\n"
             "#define FACTOR %d.0f\n"
             "#define HAS_IN_1 %d\n"
             "#define ARGUMENTS ARGUMENT(in0), ARGUMENT(in1), ARGUMENT(out0), ARGUMENT(packed), "
             "ARGUMENT(workspace)\n",
             N, ITEMS, factor, adds);
    return (ry_gpu_source){"twice_reversed", defines, text, 2, entries};
}

static ry_program program_of(int factor, bool adds)
{
    char defines[512];
    const ry_gpu_source source = source_of(factor, adds, defines);
    ry_program program = {.gpu = NULL};
    OK(device->table->program_create(device, &source, &program, &error));
    return program;
}

static rynd_status launch_on(ry_stream *on, ry_program program, const ry_place *arguments,
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
    return device->table->launch(on, &l, failure);
}

static rynd_status launch(ry_program program, const ry_place *arguments)
{
    return launch_on(stream, program, arguments, &error);
}

static void run(ry_program program, int factor, bool adds)
{
    static float x[N], b[N], y[N + 3];
    ry_buffer *in, *added = NULL, *memory;
    for (int i = 0; i < N; i++) {
        x[i] = (float)i;
        b[i] = (float)(i % 10) * 0.5f;
    }
    OK(device->table->buffer_wrap(device, x, sizeof x, &in, &error));
    if (adds) {
        OK(device->table->buffer_wrap(device, b, sizeof b, &added, &error));
    }
    OK(device->table->buffer_create(device, 2 * sizeof x + 64, &memory, &error));
    const ry_place arguments[ARGUMENTS] = {
        {in, 0}, {added, 0}, {memory, sizeof x + 12}, {NULL, 0}, {memory, 4}};
    OK(launch(program, arguments));
    OK(fetch(y, arguments[2], sizeof x));
    for (int i = 0; i < N; i++) {
        const int last = i / ITEMS * ITEMS + (i / ITEMS == N / ITEMS ? N % ITEMS : ITEMS) - 1;
        const int first = i / ITEMS * ITEMS;
        const int from = first + last - i; /* mirrored in its group */
        const float expected = (float)(factor * from) + (adds ? b[i] : 0);
        assert_float_equal(y[N - 1 - from], expected, 0);
    }
    device->table->buffer_destroy(device, in);
    device->table->buffer_destroy(device, added);
    device->table->buffer_destroy(device, memory);
}

static void test_launch(void **state)
{
    (void)state;
    need_device();
    const ry_program twice = program_of(2, false), adds = program_of(2, true);
    for (int i = 0; i < 3; i++) {
        run(twice, 2, false);
        run(adds, 2, true);
    }
    const ry_place none[ARGUMENTS] = {{0}};
    void *resolved[ARGUMENTS];
    const ry_launch large = {.program = twice,
                             .phases = 1,
                             .tasks = (size_t[]){1},
                             .group = (unsigned[]){1u << 30},
                             .argument_count = ARGUMENTS,
                             .arguments = none,
                             .resolved = resolved};
    assert_int_equal(device->table->launch(stream, &large, &error), RYND_ERROR_DEVICE);
    assert_non_null(strstr(error.text, "kernel 'twice_reversed', entry 0"));
    assert_non_null(strstr(error.text, contract->wrong_group));
    device->table->program_destroy(device, twice);
    device->table->program_destroy(device, adds);
    device->table->program_destroy(device, (ry_program){.gpu = NULL});
}

static void test_elapsed(void **state)
{
    (void)state;
    need_device();
    const ry_program program = program_of(2, false);
    ry_event *from, *to;
    double seconds = -1;
    OK(device->table->event_create(device, &from, &error));
    OK(device->table->event_create(device, &to, &error));
    assert_int_equal(device->table->event_elapsed(from, to, &seconds, &error), RYND_ERROR_ARGUMENT);
    for (int i = 0; i < 2; i++) {
        OK(device->table->event_record(stream, from, &error));
        run(program, 2, false);
        OK(device->table->event_record(stream, to, &error));
        OK(device->table->event_elapsed(from, to, &seconds, &error));
        assert_true(seconds > 0 && seconds < 60);
    }
    device->table->event_destroy(device, from);
    device->table->event_destroy(device, to);
    device->table->event_destroy(device, NULL);
    device->table->program_destroy(device, program);
}

static void test_compile_errors(void **state)
{
    (void)state;
    need_device();
    ry_program program;
    ry_gpu_source source = {"broken", "#define MOST_ITEMS 1\n#define ARGUMENTS ARGUMENT(in0)\n",
                            "KERNEL(run)(ARGUMENTS)\n{\n    undeclared = 1;\n}\n", 1,
                            (const char *const[]){"run"}};
    assert_int_equal(device->table->program_create(device, &source, &program, &error),
                     RYND_ERROR_DEVICE);
    assert_non_null(strstr(error.text, "kernel 'broken' does not compile"));
    assert_non_null(strstr(error.text, "undeclared"));
    source.text = "KERNEL(walk)(ARGUMENTS)\n{\n    IN(float, 0);\n}\n"; /* a warning */
    assert_int_equal(device->table->program_create(device, &source, &program, &error),
                     RYND_ERROR_DEVICE);
    source.text = "KERNEL(walk)(ARGUMENTS)\n{\n    (void)IN(float, 0);\n}\n";
    assert_int_equal(device->table->program_create(device, &source, &program, &error),
                     RYND_ERROR_DEVICE);
    assert_non_null(strstr(error.text, "kernel 'broken' has no entry 'run'"));
}

static size_t made(void)
{
    ry_device_figures figures;
    device->table->figures(device, &figures);
    return figures.compiled + figures.read;
}

static void *create_program(void *context)
{
    *(ry_program *)context = program_of(7, true);
    return NULL;
}

static void test_shared_programs(void **state)
{
    (void)state;
    need_device();
    enum { THREADS = 4 };
    const ry_program a = program_of(3, false), b = program_of(4, false), c = program_of(3, false);
    assert_ptr_equal(a.gpu, c.gpu);
    assert_ptr_not_equal(a.gpu, b.gpu);
    assert_int_equal(made(), 2);
    device->table->program_destroy(device, a);
    run(c, 3, false);
    run(b, 4, false);
    device->table->program_destroy(device, b);
    device->table->program_destroy(device, c);
    pthread_t thread[THREADS];
    ry_program program[THREADS];
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&thread[i], NULL, create_program, &program[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(thread[i], NULL), 0);
        assert_ptr_equal(program[i].gpu, program[0].gpu);
    }
    assert_int_equal(made(), 3);
    run(program[0], 7, true);
    for (int i = 0; i < THREADS; i++) {
        device->table->program_destroy(device, program[i]);
    }
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
    const ry_gpu_source source = source_of(2, false, defines);
    rynd_status status = device->table->stream_create(device, &own, failure);
    status = status ? status : device->table->buffer_create(device, BYTES, &in, failure);
    status = status ? status : device->table->buffer_create(device, 2 * BYTES, &memory, failure);
    status = status ? status : device->table->program_create(device, &source, &program, failure);
    for (int i = 0; i < 200 && status == RYND_OK; i++) {
        float ends[2] = {(float)i, (float)(uintptr_t)context};
        const ry_place last = {in, BYTES - sizeof *ends}, y = {memory, BYTES};
        const ry_place arguments[ARGUMENTS] = {{in, 0}, {NULL, 0}, y, {NULL, 0}, {memory, 0}};
        status = device->table->upload(own, (ry_place){in, 0}, &ends[0], sizeof *ends, failure);
        status =
            status ? status : device->table->upload(own, last, &ends[1], sizeof *ends, failure);
        status = status ? status : launch_on(own, program, arguments, failure);
        status = status ? status : device->table->download(own, ends, y, sizeof *ends, failure);
        status = status ? status : device->table->synchronize(own, failure);
        if (status == RYND_OK && ends[0] != 2 * (float)(uintptr_t)context) {
            status = ry_fail(failure, RYND_ERROR_DEVICE, "run %d gives %g", i, (double)ends[0]);
        }
    }
    device->table->program_destroy(device, program);
    device->table->buffer_destroy(device, in);
    device->table->buffer_destroy(device, memory);
    device->table->stream_destroy(device, own);
    return status ? failure : NULL;
}

static void test_streams(void **state)
{
    (void)state;
    need_device();
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

/* Every number that the dialect converts. */
static void test_dialect(void **state)
{
    (void)state;
    need_device();
    enum { ALL = 65536 };
    static const char convert[] =
        "KERNEL(run)(ARGUMENTS)\n"
        "{\n"
        "    const int at = GROUP * 64 + ITEM;\n"
        "    STORE_f16(OUT(TYPE_f16, 0), at, LOAD_f16(IN(TYPE_f16, 0), at));\n"
        "    STORE_bf16(OUT(TYPE_bf16, 1), at, LOAD_bf16(IN(TYPE_bf16, 0), at));\n"
        "    if (at % 4 == 0) {\n"
        "        const VECTOR4 v = LOAD4_bf16(IN(TYPE_bf16, 0), at);\n"
        "        STORE4_bf16(OUT(TYPE_bf16, 2), at, MAKE_VECTOR4(v.x, v.y, v.z, v.w));\n"
        "        STORE4_f16(OUT(TYPE_f16, 3), at, LOAD4_f16(IN(TYPE_f16, 0), at));\n"
        "    }\n"
        "}\n";
    const ry_gpu_source source = {"convert",
                                  "#define MOST_ITEMS 64\n#define ARGUMENTS ARGUMENT(in0), "
                                  "ARGUMENT(out0), ARGUMENT(out1), ARGUMENT(out2), "
                                  "ARGUMENT(out3)\n",
                                  convert, 1, (const char *const[]){"run"}};
    static uint16_t in[ALL], out[4 * ALL];
    for (int i = 0; i < ALL; i++) {
        in[i] = (uint16_t)i;
    }
    void *resolved[5];
    ry_program program;
    ry_buffer *from, *to;
    OK(device->table->program_create(device, &source, &program, &error));
    OK(device->table->buffer_wrap(device, in, sizeof in, &from, &error));
    OK(device->table->buffer_create(device, sizeof out, &to, &error));
    const ry_place arguments[] = {
        {from, 0}, {to, 0}, {to, sizeof in}, {to, 2 * sizeof in}, {to, 3 * sizeof in}};
    const ry_launch l = {.program = program,
                         .phases = 1,
                         .tasks = (size_t[]){ALL / 64},
                         .group = (unsigned[]){64},
                         .argument_count = 5,
                         .arguments = arguments,
                         .resolved = resolved};
    OK(device->table->launch(stream, &l, &error));
    OK(fetch(out, arguments[1], sizeof out));
    for (int i = 0; i < ALL; i++) {
        const bool f16_nan = (i & 0x7c00) == 0x7c00 && (i & 0x3ff),
                   bf16_nan = (i & 0x7f80) == 0x7f80 && (i & 0x7f);
        if (!f16_nan) {
            assert_int_equal(out[i], i);
            assert_int_equal(out[3 * ALL + i], i);
        }
        assert_int_equal(out[ALL + i], bf16_nan ? i | 0x40 : i);
        assert_int_equal(out[2 * ALL + i], bf16_nan ? i | 0x40 : i);
    }
    device->table->buffer_destroy(device, from);
    device->table->buffer_destroy(device, to);
    device->table->program_destroy(device, program);
}

static void test_memory(void **state)
{
    (void)state;
    need_device();
    enum { COUNT = 1000 };
    static ry_buffer *buffers[COUNT];
    ry_device_figures before, after;
    const ry_gpu_device *info = ry_gpu_device_of(device);
    device->table->figures(device, &before);
    for (int round = 0; round < 2; round++) {
        size_t bytes = 0;
        for (int i = 0; i < COUNT; i++) {
            const size_t size = (size_t)i * 37 + 1;
            OK(device->table->buffer_create(device, size, &buffers[i], &error));
            bytes += size;
        }
        device->table->figures(device, &after);
        assert_true(after.used >= before.used + bytes && after.peak >= after.used);
        assert_true(after.used <= before.used + bytes / 4 * 5 + COUNT * 256);
        for (int i = 0; i < COUNT; i++) {
            device->table->buffer_destroy(device, buffers[i]);
        }
    }
    device->table->figures(device, &after);
    assert_int_equal(after.used, before.used);
    assert_true(after.held <= after.peak); /* the second round took those of the first */
    device->table->trim(device, 4096);
    device->table->figures(device, &after);
    assert_true(after.held <= before.used + 4096);
    device->table->trim(device, 0);
    device->table->figures(device, &after);
    assert_int_equal(after.held, before.used);
    ry_buffer *buffer;
    assert_int_equal(device->table->buffer_create(device, SIZE_MAX, &buffer, &error),
                     RYND_ERROR_OUT_OF_MEMORY);
    assert_int_equal(device->table->buffer_create(device, info->most_memory + 1, &buffer, &error),
                     RYND_ERROR_OUT_OF_MEMORY);
    char figure[32];
    snprintf(figure, sizeof figure, "%zu", info->most_memory);
    assert_non_null(strstr(error.text, figure));
    int large = 0; /* more than all of its memory; a driver may refuse it earlier */
    rynd_status status = RYND_OK;
    for (; status == RYND_OK && large < COUNT; large++) {
        status = device->table->buffer_create(device, info->most_memory, &buffers[large], &error);
    }
    assert_int_equal(status, RYND_ERROR_OUT_OF_MEMORY);
    assert_true((size_t)large <= info->memory / info->most_memory + 1);
    assert_non_null(strstr(error.text, "are taken"));
    while (--large > 0) {
        device->table->buffer_destroy(device, buffers[large - 1]);
    }
    device->table->figures(device, &after);
    assert_int_equal(after.used, before.used);
    assert_true(after.held - after.used <= info->memory / 4);
}

/* A buffer that is given back while a launch reads it is not another's before that is done. */
static void test_given_back_early(void **state)
{
    (void)state;
    need_device();
    static float x[N], y[N];
    ry_buffer *in, *memory, *next;
    const ry_program program = program_of(2, false);
    OK(device->table->buffer_create(device, 4 * sizeof x, &memory, &error));
    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < N; i++) {
            x[i] = (float)(i + round);
            y[i] = -1;
        }
        OK(device->table->buffer_wrap(device, x, sizeof x, &in, &error));
        const ry_place arguments[ARGUMENTS] = {
            {in, 0}, {NULL, 0}, {memory, 0}, {NULL, 0}, {memory, 2 * sizeof x}};
        OK(launch(program, arguments));
        device->table->buffer_destroy(device, in);
        OK(device->table->buffer_wrap(device, y, sizeof y, &next, &error));
        OK(fetch(y, arguments[2], sizeof y));
        device->table->buffer_destroy(device, next);
        assert_float_equal(y[0], 2.0f * (float)(round + N - 1), 0);
    }
    ry_device_figures figures;
    device->table->figures(device, &figures);
    assert_true(figures.held <= 8 * sizeof x + 4096); /* and is, after it */
    device->table->buffer_destroy(device, memory);
    device->table->program_destroy(device, program);
}

/* Files of programs. */
static char folder[] = "/tmp/rynd_device_XXXXXX";
static char path[512]; /* of the one file that is in it; "": there is none */

static int count_files(void)
{
    char name[128];
    int count = 0;
    snprintf(name, sizeof name, "%s/%s", folder, contract->kind);
    DIR *listed = opendir(name);
    path[0] = 0;
    for (const struct dirent *found; listed && (found = readdir(listed));) {
        if (found->d_name[0] != '.') {
            snprintf(path, sizeof path, "%s/%s", name, found->d_name);
            count++;
        }
    }
    if (listed) {
        closedir(listed);
    }
    return count;
}

static void expect_program(size_t from_source, size_t from_files)
{
    ry_device_figures figures;
    open_device();
    const ry_program program = program_of(5, true);
    run(program, 5, true);
    device->table->figures(device, &figures);
    assert_int_equal(figures.compiled, from_source);
    assert_int_equal(figures.read, from_files);
    device->table->program_destroy(device, program);
    close_device();
}

static void damage(long at, int byte)
{
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, at, at < 0 ? SEEK_END : SEEK_SET), 0);
    const int old = fgetc(file);
    fseek(file, -1, SEEK_CUR);
    fputc(old ^ byte, file);
    fclose(file);
}

static void test_files(void **state)
{
    (void)state;
    need_device();
    char command[64], programs[64];
    assert_non_null(mkdtemp(folder));
    snprintf(programs, sizeof programs, "%s/%s", folder, contract->kind);
    setenv("RYND_CACHE", folder, 1);
    expect_program(1, 0); /* cold */
    assert_int_equal(count_files(), 1);
    expect_program(0, 1); /* warm */
    damage(-100, 1);
    expect_program(1, 0);
    assert_int_equal(count_files(), 1);
    expect_program(0, 1); /* replaced */
    damage(0, 0x20);
    expect_program(1, 0);
    assert_int_equal(truncate(path, 100), 0);
    expect_program(1, 0);
    assert_int_equal(truncate(path, 0), 0);
    expect_program(1, 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0777), 0); /* a folder is in its place */
    expect_program(1, 0);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(chmod(programs, 0555), 0); /* root may write there all the same */
    expect_program(1, 0);
    expect_program(geteuid() != 0, geteuid() == 0);
    assert_int_equal(chmod(programs, 0755), 0);
    setenv("RYND_CACHE", "off", 1);
    expect_program(1, 0);
    setenv("RYND_CACHE", "/dev/null", 1); /* no folder */
    expect_program(1, 0);
    setenv("RYND_CACHE", "/proc/no/such/folder", 1);
    expect_program(1, 0);
    setenv("RYND_CACHE", "off", 1);
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

static void test_bounded_files(void **state)
{
    (void)state;
    enum { COUNT = 20, SIZE = 1000 };
    char name[] = "/tmp/rynd_files_XXXXXX", command[64], foreign[64];
    static char data[SIZE];
    assert_non_null(mkdtemp(name));
    setenv("RYND_CACHE", name, 1);
    ry_program_files files;
    ry_program_files_open(contract->kind, &files);
    setenv("RYND_CACHE", "off", 1);
    files.bound = 10 * SIZE;
    size_t size = 0;
    for (uint64_t i = 0; i < COUNT; i++) {
        memset(data, (int)i, SIZE);
        ry_program_files_write(&files, (ry_digest){i, i}, data, SIZE, &ry_system_allocator);
        if (i == 0) { /* somebody else's file stays */
            snprintf(foreign, sizeof foreign, "%s/%s/notes", name, contract->kind);
            close(open(foreign, O_CREAT | O_WRONLY, 0644));
        }
        nanosleep(&(struct timespec){0, 2000000}, NULL);
        /* the first one is in use */
        void *first = ry_program_files_read(&files, (ry_digest){0, 0}, &ry_system_allocator, &size);
        assert_non_null(first);
        assert_int_equal(size, SIZE);
        assert_int_equal(((char *)first)[SIZE - 1], 0);
        ry_release(&ry_system_allocator, first);
    }
    int left = 0;
    for (uint64_t i = 0; i < COUNT; i++) {
        void *found = ry_program_files_read(&files, (ry_digest){i, i}, &ry_system_allocator, &size);
        left += found != NULL;
        ry_release(&ry_system_allocator, found);
    }
    assert_in_range(left, 6, 9);
    assert_int_equal(access(foreign, F_OK), 0);
    snprintf(command, sizeof command, "rm -r %s", name);
    assert_int_equal(system(command), 0);
}

/* Every allocation fails once: an error that says so, and nothing is lost. */
static void test_allocation_failures(void **state)
{
    (void)state;
    need_device();
    char defines[512];
    const ry_gpu_source source = source_of(9, false, defines);
    bool all = false;
    for (int n = 0; n < 50 && !all; n++) {
        ry_stream *s = NULL;
        ry_event *event = NULL;
        ry_buffer *buffer = NULL;
        ry_program program = {.gpu = NULL};
        ry_device *d = NULL;
        atomic_store(&counter.left, n);
        rynd_status status = contract->create(&allocator, 0, NULL, &d, &error);
        status = status ? status : d->table->stream_create(d, &s, &error);
        status = status ? status : d->table->event_create(d, &event, &error);
        status = status ? status : d->table->buffer_wrap(d, defines, 512, &buffer, &error);
        status = status ? status : d->table->program_create(d, &source, &program, &error);
        all = atomic_load(&counter.left) >= 0;
        assert_int_equal(status, all ? RYND_OK : RYND_ERROR_OUT_OF_MEMORY);
        if (d) {
            d->table->program_destroy(d, program);
            d->table->buffer_destroy(d, buffer);
            d->table->event_destroy(d, event);
            d->table->stream_destroy(d, s);
            d->table->destroy(d);
        }
        assert_int_equal(atomic_load(&counter.alive), 0);
    }
    assert_true(all);
}

int device_contract_run(const device_contract *c, const struct CMUnitTest *more, size_t count)
{
    static const struct CMUnitTest common[] = {
        cmocka_unit_test(test_bounded_files),
        cmocka_unit_test_setup_teardown(test_round_trip, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_launch, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_elapsed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_compile_errors, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_shared_programs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_streams, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_dialect, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_memory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_given_back_early, set_up, tear_down),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_allocation_failures),
    };
    enum { COMMON = sizeof common / sizeof *common, ROOM = 32 };
    struct CMUnitTest tests[ROOM];
    assert_true(COMMON + count <= ROOM);
    memcpy(tests, common, sizeof common);
    memcpy(tests + COMMON, more, count * sizeof *more);
    contract = c;
    return _cmocka_run_group_tests(c->kind, tests, COMMON + count, NULL, NULL);
}
