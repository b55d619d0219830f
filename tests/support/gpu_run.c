/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of a GPU on copies of host memory, with guards around each. */
#include "gpu_run.h"

#include "device/cpu/cpu_device.h"
#include "device/cuda/cuda_device.h"
#include "device/opencl/opencl_device.h"
#include "machine/machine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { GUARD = 256, GUARD_BYTE = 0xFF, GARBAGE_BYTE = 0xC7, OPERANDS = 64 };

typedef struct kind {
    const char *name;
    rynd_status (*count)(unsigned *count, ry_error *error);
    rynd_status (*create)(const ry_allocator *allocator, unsigned index, ry_device *host,
                          ry_device **device, ry_error *error);
    rynd_status (*machine)(unsigned index, rynd_machine *machine, ry_error *error);
} kind;

static const kind kinds[] = {
    {"opencl", ry_opencl_device_count, ry_opencl_device_create, ry_opencl_machine},
    {"cuda", ry_cuda_device_count, ry_cuda_device_create, ry_cuda_machine}};

/* RYND_TEST_GPU: "cuda", "opencl:1"; else OpenCL's first. */
static const kind *asked(unsigned *number)
{
    const char *text = getenv("RYND_TEST_GPU"), *colon = text ? strchr(text, ':') : NULL;
    *number = colon ? (unsigned)strtoul(colon + 1, NULL, 10) : 0;
    return &kinds[text && strncmp(text, "cuda", 4) == 0];
}

bool gpu_run_possible(void)
{
    unsigned count = 0, number;
    ry_error error;
    const kind *k = asked(&number);
    return k->count(&count, &error) == RYND_OK && count > number;
}

void gpu_run_need(void)
{
    unsigned number;
    const kind *k = asked(&number);
    if (!gpu_run_possible()) {
        print_message("skipped: there is no device %s:%u\n", k->name, number);
        skip();
    }
}

static rynd_machine machine;

ry_device *gpu_run_device(void)
{
    static ry_device *device;
    ry_error error = {""};
    unsigned number;
    const kind *k = asked(&number);
    if (!device) {
        if (k->create(&ry_system_allocator, number, NULL, &device, &error) != RYND_OK ||
            k->machine(number, &machine, &error) != RYND_OK) {
            fail_msg("%s", error.text);
        }
        device->machine = &machine;
    }
    return device;
}

const ry_target *gpu_run_target(void)
{
    static ry_target target;
    target = ry_target_of(gpu_run_device());
    return &target;
}

void gpu_run_set_limit(double seconds)
{
    (void)gpu_run_device();
    machine.launch_limit = seconds;
}

int64_t gpu_run_group(int64_t wanted)
{
    const int64_t most = gpu_run_target()->machine->group_items;
    return wanted < most ? wanted : most;
}

/* What a kernel gets: a copy with guards. */
typedef struct copy {
    unsigned char *host;
    size_t size;
    ry_buffer *buffer;
} copy;

typedef struct runner {
    ry_device *device;
    ry_stream *stream;
    copy copies[OPERANDS];
    int count;
} runner;

/* The place of byte `at` of a copy of so many bytes, garbage where `memory` is NULL. */
static rynd_status take(runner *r, const void *memory, size_t size, size_t at, ry_pointer *pointer,
                        ry_error *error)
{
    copy *c = &r->copies[r->count++];
    assert_true(r->count <= OPERANDS);
    *c = (copy){.host = malloc(size + 2 * GUARD), .size = size};
    assert_non_null(c->host);
    memset(c->host, GUARD_BYTE, size + 2 * GUARD);
    if (memory) {
        memcpy(c->host + GUARD, memory, size);
    } else {
        memset(c->host + GUARD, GARBAGE_BYTE, size);
    }
    RY_TRY(r->device->table->buffer_create(r->device, size + 2 * GUARD, &c->buffer, error));
    *pointer = (ry_pointer){c->buffer, GUARD + at};
    return r->device->table->upload(r->stream, (ry_pointer){c->buffer, 0}, c->host,
                                    size + 2 * GUARD, error);
}

static rynd_status take_operand(runner *r, const gpu_operand *operand, ry_pointer *pointer,
                                ry_error *error)
{
    return operand->memory
               ? take(r, operand->memory, operand->size,
                      (size_t)((char *)operand->data - (char *)operand->memory), pointer, error)
               : RYND_OK;
}

static rynd_status fetch(const runner *r, const copy *c, const char *kernel, ry_error *error)
{
    RY_TRY(r->device->table->download(r->stream, c->host, (ry_pointer){c->buffer, 0},
                                      c->size + 2 * GUARD, error));
    RY_TRY(r->device->table->synchronize(r->stream, error));
    for (size_t i = 0; i < GUARD; i++) {
        if (c->host[i] != GUARD_BYTE || c->host[GUARD + c->size + i] != GUARD_BYTE) {
            fail_msg("%s wrote %zu bytes %s its memory", kernel,
                     c->host[i] != GUARD_BYTE ? GUARD - i : i + 1,
                     c->host[i] != GUARD_BYTE ? "in front of" : "behind");
        }
    }
    return RYND_OK;
}

static rynd_status take_memory(runner *r, const ry_prepared *prepared, ry_bound *bound,
                               ry_error *error)
{
    ry_pointer packed = {0}, workspace = {0}, fault = {0};
    const size_t size = ry_prepared_workspace(prepared);
    const ry_fault none = {0};
    if (size) {
        RY_TRY(take(r, NULL, size, 0, &workspace, error));
    }
    RY_TRY(take(r, &none, sizeof none, 0, &fault, error));
    if (prepared->packs) {
        packed =
            (ry_pointer){workspace.buffer, workspace.offset + ry_prepared_own_packed(prepared)};
    }
    ry_bound_set_memory(bound, packed, workspace, (ry_pointer){0});
    ry_bound_set_fault(bound, fault);
    return RYND_OK;
}

/* The input whose memory an output has; -1: none. */
static int input_under(const gpu_operand *in, int inputs, const gpu_operand *output)
{
    for (int i = 0; i < inputs; i++) {
        if (output->memory && in[i].memory == output->memory) {
            return i;
        }
    }
    return -1;
}

static rynd_status run(runner *r, const ry_query *query, const gpu_operand *in,
                       const gpu_operand *out, ry_prepared *prepared, ry_arena *arena,
                       ry_error *error)
{
    const ry_problem *problem = query->problem;
    static const double second_each[RY_MAX_PHASES + 1] = {1, 1, 1, 1, 1};
    const copy *of[OPERANDS]; /* copy of each output */
    ry_bound bound;
    RY_TRY(ry_prepared_initialise(prepared, r->device, query->target, arena, error));
    RY_TRY(ry_bind(prepared, machine.launch_limit > 0 ? second_each : NULL, NULL, arena, &bound,
                   error));
    for (int i = 0; i < problem->inputs; i++) {
        RY_TRY(take_operand(r, &in[i], &bound.arguments[i], error));
    }
    for (int o = 0; o < problem->outputs; o++) {
        const int under = input_under(in, problem->inputs, &out[o]);
        of[o] = &r->copies[r->count];
        if (under < 0) {
            RY_TRY(take_operand(r, &out[o], &bound.arguments[problem->inputs + o], error));
            continue;
        }
        bound.arguments[problem->inputs + o] = bound.arguments[under];
        for (int i = 0; i < r->count; i++) {
            of[o] = r->copies[i].buffer == bound.arguments[under].buffer ? &r->copies[i] : of[o];
        }
    }
    RY_TRY(take_memory(r, prepared, &bound, error));
    RY_TRY(ry_bound_launch(&bound, r->device, r->stream, error));
    RY_TRY(r->device->table->synchronize(r->stream, error));
    for (int i = 0; i < r->count; i++) {
        RY_TRY(fetch(r, &r->copies[i], query->kernel->name, error));
    }
    for (int o = 0; o < problem->outputs; o++) {
        if (out[o].memory) {
            memcpy(out[o].memory, of[o]->host + GUARD, out[o].size);
        }
    }
    memcpy(&bound.fault, r->copies[r->count - 1].host + GUARD, sizeof bound.fault);
    return ry_bound_check(&bound, error);
}

rynd_status gpu_run(const ry_query *query, const gpu_operand *in, const gpu_operand *out,
                    ry_error *error)
{
    runner r = {.device = gpu_run_device()};
    ry_prepared prepared;
    ry_arena arena;
    RY_TRY(ry_prepare(query, 0, &prepared, error));
    RY_TRY(r.device->table->stream_create(r.device, &r.stream, error));
    ry_arena_init(&arena, &ry_system_allocator);
    const rynd_status status = run(&r, query, in, out, &prepared, &arena, error);
    for (int i = 0; i < r.count; i++) {
        r.device->table->buffer_destroy(r.device, r.copies[i].buffer);
        free(r.copies[i].host);
    }
    ry_prepared_release(&prepared, r.device);
    r.device->table->stream_destroy(r.device, r.stream);
    ry_arena_free(&arena);
    return status;
}
