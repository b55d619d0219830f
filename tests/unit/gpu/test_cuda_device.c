/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA device on a driver and a compiler without a GPU (tests/cuda): what every device is held
 * to, and what CUDA's own calls are told. */
#include "device_contract.h"

#include "../../cuda/fake_cuda.h"
#include "device/cuda/cuda_device.h"
#include "device/gpu/gpu_device.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ry_error error;
static ry_device *device;
static ry_stream *stream;
static fake_cuda_state *fake;

#define OK(call)                                   \
    do {                                           \
        if ((call) != RYND_OK) {                   \
            fail_msg("%s: %s", #call, error.text); \
        }                                          \
    } while (0)

#define FAILS(call, status, words)                                     \
    do {                                                               \
        assert_int_equal((call), (status));                            \
        if (!strstr(error.text, words)) {                              \
            fail_msg("\"%s\" does not say \"%s\"", error.text, words); \
        }                                                              \
    } while (0)

static const char text[] =
    "KERNEL(first)(ARGUMENTS)\n{\n    OUT(int, 0)[ITEM] = GROUP;\n}\n"
    "KERNEL(second)(ARGUMENTS)\n{\n    OUT(int, 0)[ITEM] += IN(int, 0)[ITEM];\n}\n";

static const ry_gpu_source source = {"two",
                                     "#define GROUP_OF_first 8\n#define GROUP_OF_second 8\n#define "
                                     "ARGUMENTS ARGUMENT(in0), ARGUMENT(out0)\n",
                                     text, 2, (const char *const[]){"first", "second"}};

static int open_device(void **state)
{
    (void)state;
    OK(ry_cuda_device_create(&ry_system_allocator, 0, NULL, &device, &error));
    OK(device->table->stream_create(device, &stream, &error));
    return 0;
}

/* Nothing is alive behind it, and nothing was done without a context. */
static int close_device(void **state)
{
    (void)state;
    fake->fail_name = NULL;
    fake->lost = 0;
    device->table->stream_destroy(device, stream);
    device->table->destroy(device);
    assert_int_equal(fake->contexts, 0);
    assert_int_equal(fake->buffers, 0);
    assert_int_equal(fake->pinned, 0);
    assert_int_equal(fake->streams, 0);
    assert_int_equal(fake->events, 0);
    assert_int_equal(fake->modules, 0);
    assert_int_equal(fake->graphs, 0);
    assert_int_equal(fake->bytes, 0);
    assert_int_equal(fake->misused, 0);
    return 0;
}

/* Makes the next call of this name fail; sticky: all later calls, too. */
static void fail_next(const char *name, int code, int sticky)
{
    fake->fail_name = name;
    fake->fail_after = 0;
    fake->fail_code = code;
    fake->fail_sticky = sticky;
}

static void test_describe(void **state)
{
    (void)state;
    ry_cuda_info info;
    rynd_machine machine;
    fake->devices = 2;
    OK(ry_cuda_device_describe(1, &info, &error));
    assert_string_equal(info.name, "Fake GPU 1");
    assert_int_equal(info.capability, 90);
    assert_int_equal(info.units, 132);
    OK(ry_cuda_machine(1, &machine, &error));
    /* two operations of 128 lanes at 1755 MHz; 5120 bits twice a cycle of 2619 MHz */
    assert_true(fabs(machine.f32.one / (2 * 128 * 1.755e9) - 1) < 1e-6);
    assert_true(fabs(machine.f32.all / (132 * 2 * 128 * 1.755e9) - 1) < 1e-6);
    const double dram = machine.level[RYND_LEVEL_DRAM].bandwidth.all;
    assert_true(fabs(dram / (0.85 * 2 * 2.619e9 * 640) - 1) < 1e-6);
    assert_string_equal(machine.architecture, "sm_90a");
    FAILS(ry_cuda_device_describe(2, &info, &error), RYND_ERROR_NOT_FOUND,
          "there is no device cuda:2: this machine has cuda:0 (Fake GPU 0) and cuda:1 (Fake GPU "
          "1)");
    fake->devices = 3;
    FAILS(ry_cuda_device_describe(4, &info, &error), RYND_ERROR_NOT_FOUND,
          "cuda:0 (Fake GPU 0), cuda:1 (Fake GPU 1) and cuda:2 (Fake GPU 2)");
    fake->devices = 0;
    FAILS(ry_cuda_device_describe(0, &info, &error), RYND_ERROR_NOT_FOUND,
          "there is no device cuda:0, nor another of its kind: `nvidia-smi` lists");
    fail_next("cuDeviceGetCount", 100, 0);
    unsigned count;
    FAILS(ry_cuda_device_count(&count, &error), RYND_ERROR_DEVICE, "CUDA_VISIBLE_DEVICES");
    fake->devices = 1;
}

/* A card that drives a display has a watchdog: launches are cut by their predicted time, and each
 * part is told its first group. */
static void test_parts(void **state)
{
    enum { GROUPS = 7 };
    static const char part_text[] =
        "KERNEL(first)(ARGUMENTS)\n{\n    OUT(int, 0)[GROUP] = GROUP;\n}\n";
    const ry_gpu_source parts = {
        "parts",
        "#define GROUP_OF_first 1\n#define ARGUMENTS ARGUMENT(out0) "
        "PART_ARGUMENT\n#undef FIRST_GROUP\n#define FIRST_GROUP PART_FIRST\n",
        part_text, 1, (const char *const[]){"first"}};
    rynd_machine machine;
    ry_program program;
    ry_buffer *out;
    int y[GROUPS];
    void *resolved[2];
    (void)state;
    OK(ry_cuda_machine(0, &machine, &error));
    assert_true(machine.launch_limit == 0);
    setenv("FAKE_CUDA_WATCHED", "1", 1);
    OK(ry_cuda_machine(0, &machine, &error));
    unsetenv("FAKE_CUDA_WATCHED");
    assert_true(machine.launch_limit == RY_GPU_WATCHED);
    device->machine = &machine;
    OK(device->table->program_create(device, &parts, &program, &error));
    OK(device->table->buffer_create(device, sizeof y, &out, &error));
    const double seconds = 3 * RY_GPU_WATCHED; /* two groups a part, and the last alone */
    const int before = fake->launches;
    const ry_launch launch = {.program = program,
                              .phases = 1,
                              .tasks = (size_t[]){GROUPS},
                              .group = (unsigned[]){1},
                              .seconds = &seconds,
                              .argument_count = 1,
                              .arguments = (ry_pointer[]){{out, 0}},
                              .resolved = resolved};
    OK(device->table->launch(stream, &launch, &error));
    assert_int_equal(fake->launches - before, 4);
    assert_int_equal(fake->groups, 1);
    OK(device->table->download(stream, y, (ry_pointer){out, 0}, sizeof y, &error));
    OK(device->table->synchronize(stream, &error));
    for (int i = 0; i < GROUPS; i++) {
        assert_int_equal(y[i], i);
    }
    device->machine = NULL;
    device->table->program_destroy(device, program);
    device->table->buffer_destroy(device, out);
}

/* Addresses one behind the other, with the offsets in them; NULL for what is absent. */
static void test_arguments(void **state)
{
    (void)state;
    enum { ITEMS = 8 };
    int x[ITEMS], y[ITEMS];
    ry_buffer *in, *out;
    ry_program program;
    void *resolved[2];
    for (int i = 0; i < ITEMS; i++) {
        x[i] = 10 * i;
    }
    OK(device->table->program_create(device, &source, &program, &error));
    OK(device->table->buffer_wrap(device, x, sizeof x, &in, &error));
    OK(device->table->buffer_create(device, 100 + sizeof y, &out, &error));
    ry_launch launch = {.program = program,
                        .phases = 2,
                        .tasks = (size_t[]){3, 1},
                        .group = (unsigned[]){ITEMS, ITEMS},
                        .argument_count = 2,
                        .arguments = (ry_pointer[]){{in, 0}, {out, 100}},
                        .resolved = resolved};
    OK(device->table->launch(stream, &launch, &error));
    assert_int_equal(fake->groups, 1);
    assert_int_equal(fake->group, ITEMS);
    assert_int_equal(fake->argument_bytes, 16);
    assert_int_equal((uintptr_t)fake->arguments[0], in->memory.address);
    assert_int_equal((uintptr_t)fake->arguments[1], out->memory.address + 100);
    OK(device->table->download(stream, y, (ry_pointer){out, 100}, sizeof y, &error));
    for (int i = 0; i < ITEMS; i++) {
        assert_int_equal(y[i], 2 + 10 * i);
    }
    launch.phases = 1;
    launch.arguments = (ry_pointer[]){{NULL, 7}, {out, 100}};
    OK(device->table->launch(stream, &launch, &error));
    assert_null(fake->arguments[0]);
    launch.tasks = (size_t[]){0x80000000u};
    FAILS(device->table->launch(stream, &launch, &error), RYND_ERROR_DEVICE,
          "kernel 'two', entry 0, has 2147483648 groups: CUDA takes 2147483647 at most");
    launch.tasks = (size_t[]){1};
    launch.first_entry = 2;
    FAILS(device->table->launch(stream, &launch, &error), RYND_ERROR_DEVICE,
          "has 2 entries, and not number 2");
    device->table->program_destroy(device, program);
    device->table->buffer_destroy(device, in);
    device->table->buffer_destroy(device, out);
}

/* Copies of many parts, at every place; without pinned memory, too. */
static void copy_around(size_t size)
{
    unsigned char *from = malloc(size), *to = malloc(size);
    ry_buffer *buffer;
    assert_non_null(from);
    assert_non_null(to);
    for (size_t i = 0; i < size; i++) {
        from[i] = (unsigned char)(i * 31 + (i >> 11));
    }
    OK(device->table->buffer_create(device, size + 3, &buffer, &error));
    for (int round = 0; round < 3; round++) {
        memset(to, 0, size);
        from[0] = (unsigned char)round;
        OK(device->table->upload(stream, (ry_pointer){buffer, 3}, from, size, &error));
        OK(device->table->download(stream, to, (ry_pointer){buffer, 3}, size, &error));
        assert_memory_equal(from, to, size);
    }
    device->table->buffer_destroy(device, buffer);
    free(from);
    free(to);
}

static void test_large_copies(void **state)
{
    (void)state;
    const int uploads = fake->uploads;
    copy_around((size_t)7 << 20);
    assert_int_equal(fake->uploads, uploads + 3 * 7); /* MiB by MiB */
    copy_around(((size_t)4 << 20) + 1);
    copy_around(1);
}

static void test_unpinned_copies(void **state)
{
    (void)state;
    const int uploads = fake->uploads;
    fail_next("cuMemHostAlloc", 2, 0);
    copy_around((size_t)3 << 20);
    assert_int_equal(fake->uploads, uploads + 3);
    assert_int_equal(fake->pinned, 0);
}

/* Pinned memory is copied from and to without a detour; copies on the device, zeros, events; memory
 * of the caller's. */
static void test_pinned_and_imported(void **state)
{
    (void)state;
    enum { SIZE = 3 << 20 };
    void *memory = NULL;
    ry_buffer *a, *b;
    ry_event *event;
    bool done = false;
    const int uploads = fake->uploads;
    OK(device->table->host_take(device, SIZE, &memory, &error));
    unsigned char *host = memory;
    memset(host, 7, SIZE);
    OK(device->table->buffer_create(device, SIZE, &a, &error));
    OK(device->table->upload(stream, (ry_pointer){a, 0}, host, SIZE, &error));
    assert_int_equal(fake->uploads, uploads + 1);
    void *native = device->table->buffer_native(a);
    FAILS(device->table->buffer_import(device, native, 2 * SIZE, &b, &error), RYND_ERROR_ARGUMENT,
          "the CUdeviceptr has");
    OK(device->table->buffer_import(device, native, SIZE, &b, &error));
    OK(ry_device_clear(device, stream, (ry_pointer){b, 5}, 10, &error));
    OK(device->table->copy(stream, (ry_pointer){a, 100}, (ry_pointer){b, 0}, 20, &error));
    OK(device->table->event_create(device, &event, &error));
    OK(device->table->event_await(stream, event, &error)); /* not recorded */
    OK(device->table->event_record(stream, event, &error));
    OK(device->table->event_await(stream, event, &error));
    OK(device->table->download(stream, host, (ry_pointer){a, 0}, SIZE, &error));
    OK(device->table->event_synchronize(event, &error));
    OK(device->table->event_done(event, &done, &error));
    assert_true(done);
    fail_next("cuEventQuery", 600, 0);
    OK(device->table->event_done(event, &done, &error));
    assert_false(done);
    OK(device->table->synchronize(stream, &error));
    for (int i = 0; i < 20; i++) {
        assert_int_equal(host[100 + i], i < 5 || i >= 15 ? 7 : 0);
        assert_int_equal(host[i], host[100 + i]);
    }
    device->table->event_destroy(device, event);
    device->table->buffer_destroy(device, b);
    device->table->buffer_destroy(device, a);
    device->table->host_give_back(device, memory);
    device->table->host_give_back(device, NULL);
}

/* What is kept for the next one goes back to a driver that has no more. */
static void test_out_of_memory(void **state)
{
    (void)state;
    ry_buffer *buffer;
    ry_device_figures figures;
    OK(device->table->buffer_create(device, 1000, &buffer, &error));
    device->table->buffer_destroy(device, buffer);
    fail_next("cuMemAlloc", 2, 0);
    OK(device->table->buffer_create(device, 50000, &buffer, &error)); /* at the second try */
    device->table->figures(device, &figures);
    assert_int_equal(figures.held, figures.used);
    ry_buffer *other;
    fail_next("cuMemAlloc", 2, 0);
    FAILS(device->table->buffer_create(device, 1000, &other, &error), RYND_ERROR_OUT_OF_MEMORY,
          "out of memory for 1000 bytes on Fake GPU 0");
    device->table->buffer_destroy(device, buffer);
}

/* Each call tells of a lost device, and nothing breaks; another device can be opened then. */
static void test_lost_device(void **state)
{
    (void)state;
    int host[4] = {0};
    ry_buffer *buffer, *other;
    ry_event *event, *second;
    ry_program program;
    double seconds;
    OK(device->table->program_create(device, &source, &program, &error));
    OK(device->table->buffer_wrap(device, host, sizeof host, &buffer, &error));
    OK(device->table->event_create(device, &event, &error));
    OK(device->table->event_record(stream, event, &error));
    fail_next("cuStreamSynchronize", 719, 1);
    FAILS(device->table->synchronize(stream, &error), RYND_ERROR_DEVICE,
          "Fake GPU 0: cuStreamSynchronize failed with CUDA_ERROR_LAUNCH_FAILED (719), unspecified "
          "launch failure: the device is lost to this process: end it, and start anew");
    const ry_pointer pointer = {buffer, 0};
    FAILS(device->table->upload(stream, pointer, host, sizeof host, &error), RYND_ERROR_DEVICE,
          "(719)");
    FAILS(device->table->download(stream, host, pointer, sizeof host, &error), RYND_ERROR_DEVICE,
          "(719)");
    FAILS(device->table->buffer_create(device, 1 << 20, &other, &error), RYND_ERROR_DEVICE,
          "(719)");
    FAILS(device->table->event_create(device, &second, &error), RYND_ERROR_DEVICE, "(719)");
    FAILS(device->table->event_elapsed(event, event, &seconds, &error), RYND_ERROR_DEVICE, "(719)");
    FAILS(device->table->synchronize(stream, &error), RYND_ERROR_DEVICE, "(719)");
    fake->lost = 0; /* lets live objects be counted */
    device->table->event_destroy(device, event);
    device->table->buffer_destroy(device, buffer);
    device->table->program_destroy(device, program);
}

/* Every call fails once, and nothing is lost. */
static void test_failing_calls(void **state)
{
    (void)state;
    static const char *const names[] = {
        "cuDeviceGet",    "cuDevicePrimaryCtxRetain", "cuCtxPushCurrent",    "cuStreamCreate",
        "cuMemAlloc",     "cuMemHostAlloc",           "cuEventCreate",       "cuMemcpyHtoDAsync",
        "cuEventRecord",  "cuMemcpyDtoHAsync",        "cuEventSynchronize",  "cuModuleLoadDataEx",
        "cuLaunchKernel", "cuModuleGetFunction",      "cuStreamSynchronize", "cuEventElapsedTime"};
    char folder[] = "/tmp/rynd_cuda_XXXXXX", command[64];
    int x[8] = {0};
    assert_non_null(mkdtemp(folder));
    setenv("RYND_CACHE", folder, 1); /* compiles once */
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        bool failed = true;
        for (int after = 0; failed && after < 40; after++) {
            ry_device *d = NULL;
            ry_stream *s = NULL;
            ry_buffer *b = NULL;
            ry_event *e = NULL, *f = NULL;
            ry_program p = {.gpu = NULL};
            double seconds;
            void *resolved[2];
            fail_next(names[n], 1, 0);
            fake->fail_after = after;
            rynd_status status = ry_cuda_device_create(&ry_system_allocator, 0, NULL, &d, &error);
            status = status ? status : d->table->stream_create(d, &s, &error);
            status = status ? status : d->table->event_create(d, &e, &error);
            status = status ? status : d->table->event_create(d, &f, &error);
            status = status ? status : d->table->buffer_wrap(d, x, sizeof x, &b, &error);
            status = status ? status : d->table->program_create(d, &source, &p, &error);
            const ry_launch launch = {.program = p,
                                      .phases = 1,
                                      .tasks = (size_t[]){1},
                                      .group = (unsigned[]){8},
                                      .argument_count = 2,
                                      .arguments = (ry_pointer[]){{b, 0}, {b, 0}},
                                      .resolved = resolved};
            status = status ? status : d->table->event_record(s, e, &error);
            status = status ? status : d->table->launch(s, &launch, &error);
            status = status ? status : d->table->event_record(s, f, &error);
            status = status ? status : d->table->download(s, x, (ry_pointer){b, 0}, 8, &error);
            status = status ? status : d->table->synchronize(s, &error);
            status = status ? status : d->table->event_elapsed(e, f, &seconds, &error);
            failed = status != RYND_OK;
            if (failed && !strstr(error.text, names[n])) {
                fail_msg("call %d of %s: %s", after, names[n], error.text);
            }
            failed = failed || fake->fail_after < 0; /* what copes with it, or cleans up */
            fake->fail_name = NULL;
            if (d) {
                d->table->program_destroy(d, p);
                d->table->event_destroy(d, e);
                d->table->event_destroy(d, f);
                d->table->buffer_destroy(d, b);
                d->table->stream_destroy(d, s);
                d->table->destroy(d);
            }
            assert_int_equal(fake->contexts + fake->buffers + fake->pinned + fake->streams +
                                 fake->events + fake->modules + fake->misused,
                             0);
        }
        assert_false(failed);
    }
    setenv("RYND_CACHE", "off", 1);
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

/* NVRTC compiles for the device's own architecture, for the driver where that is newer, and not for
 * one that is too old. */
static void test_architectures(void **state)
{
    (void)state;
    ry_program program;
    fake->capability = 103;
    OK(ry_cuda_device_create(&ry_system_allocator, 0, NULL, &device, &error));
    OK(device->table->program_create(device, &source, &program, &error));
    device->table->program_destroy(device, program);
    device->table->destroy(device);
    fake->capability = 52;
    FAILS(ry_cuda_device_create(&ry_system_allocator, 0, NULL, &device, &error), RYND_ERROR_DEVICE,
          "CUDA device 0: NVRTC 12.9 compiles for compute capability 6.0 and later, the device has "
          "5.2");
    fake->capability = 90;
    assert_int_equal(fake->contexts, 0);
}

int main(void)
{
    static const device_contract cuda = {"cuda", ry_cuda_device_count, ry_cuda_device_create,
                                         "CUDA_ERROR_INVALID_VALUE"};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_describe),
        cmocka_unit_test_setup_teardown(test_arguments, open_device, close_device),
        cmocka_unit_test_setup_teardown(test_parts, open_device, close_device),
        cmocka_unit_test_setup_teardown(test_large_copies, open_device, close_device),
        cmocka_unit_test_setup_teardown(test_unpinned_copies, open_device, close_device),
        cmocka_unit_test_setup_teardown(test_pinned_and_imported, open_device, close_device),
        cmocka_unit_test_setup_teardown(test_out_of_memory, open_device, close_device),
        cmocka_unit_test_setup_teardown(test_lost_device, open_device, close_device),
        cmocka_unit_test(test_failing_calls),
        cmocka_unit_test(test_architectures),
    };
    const char *library = getenv("RYND_CUDA_LIBRARY");
    void *driver = library ? dlopen(library, RTLD_NOW) : NULL;
    fake = driver ? dlsym(driver, "fake_cuda") : NULL;
    if (!fake) {
        fprintf(stderr, "RYND_CUDA_LIBRARY is not tests/cuda's: %s\n", dlerror());
        return 1;
    }
    return device_contract_run(&cuda, tests, sizeof tests / sizeof *tests);
}
