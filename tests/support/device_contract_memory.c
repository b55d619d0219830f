/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers and copies; memory that runs out. */
#include "device_contract_parts.h"

#include <stdio.h>
#include <string.h>

void contract_test_round_trip(void **state)
{
    (void)state;
    contract_need_device();
    enum { SIZE = 1000 };
    unsigned char from[SIZE], to[SIZE];
    for (int i = 0; i < SIZE; i++) {
        from[i] = (unsigned char)(i * 7);
    }
    ry_buffer *buffer;
    OK(held.device->table->buffer_create(held.device, SIZE, &buffer, &held.error));
    OK(held.device->table->upload(held.stream, (ry_pointer){buffer, 0}, from, SIZE, &held.error));
    OK(held.device->table->upload(held.stream, (ry_pointer){buffer, 13}, from, 17, &held.error));
    OK(held.device->table->upload(held.stream, (ry_pointer){buffer, SIZE}, from, 0, &held.error));
    OK(contract_fetch(to, (ry_pointer){buffer, 5}, SIZE - 5));
    OK(contract_fetch(to, (ry_pointer){buffer, 5}, 0));
    for (int i = 5; i < SIZE; i++) {
        assert_int_equal(to[i - 5], i >= 13 && i < 30 ? from[i - 13] : from[i]);
    }
    held.device->table->buffer_destroy(held.device, buffer);
    OK(held.device->table->buffer_wrap(held.device, from, SIZE, &buffer, &held.error));
    OK(contract_fetch(to, (ry_pointer){buffer, 0}, SIZE));
    assert_memory_equal(from, to, SIZE);
    from[3] = 99;
    OK(held.device->table->buffer_rewrap(held.device, from, buffer, &held.error));
    OK(contract_fetch(to, (ry_pointer){buffer, 0}, SIZE));
    assert_memory_equal(from, to, SIZE);
    held.device->table->buffer_destroy(held.device, buffer);
    OK(held.device->table->buffer_wrap(held.device, NULL, SIZE, &buffer, &held.error)); /* just room
                                                                                         */
    held.device->table->buffer_destroy(held.device, buffer);
    OK(held.device->table->buffer_create(held.device, 0, &buffer, &held.error));
    held.device->table->buffer_destroy(held.device, buffer);
    held.device->table->buffer_destroy(held.device, NULL);
}

void contract_test_memory(void **state)
{
    (void)state;
    contract_need_device();
    enum { COUNT = 1000 };
    static ry_buffer *buffers[COUNT];
    ry_device_figures before, after;
    const ry_gpu_device *info = ry_gpu_device_of(held.device);
    held.device->table->figures(held.device, &before);
    for (int round = 0; round < 2; round++) {
        size_t bytes = 0;
        for (int i = 0; i < COUNT; i++) {
            const size_t size = (size_t)i * 37 + 1;
            OK(held.device->table->buffer_create(held.device, size, &buffers[i], &held.error));
            bytes += size;
        }
        held.device->table->figures(held.device, &after);
        assert_true(after.used >= before.used + bytes && after.peak >= after.used);
        assert_true(after.used <= before.used + bytes / 4 * 5 + COUNT * 256);
        for (int i = 0; i < COUNT; i++) {
            held.device->table->buffer_destroy(held.device, buffers[i]);
        }
    }
    held.device->table->figures(held.device, &after);
    assert_int_equal(after.used, before.used);
    assert_true(after.held <= after.peak); /* the second round took those of the first */
    held.device->table->trim(held.device, 4096);
    held.device->table->figures(held.device, &after);
    assert_true(after.held <= before.used + 4096);
    held.device->table->trim(held.device, 0);
    held.device->table->figures(held.device, &after);
    assert_int_equal(after.held, before.used);
    ry_buffer *buffer;
    assert_int_equal(held.device->table->buffer_create(held.device, SIZE_MAX, &buffer, &held.error),
                     RYND_ERROR_OUT_OF_MEMORY);
    assert_int_equal(
        held.device->table->buffer_create(held.device, info->most_memory + 1, &buffer, &held.error),
        RYND_ERROR_OUT_OF_MEMORY);
    char figure[32];
    snprintf(figure, sizeof figure, "%zu", info->most_memory);
    assert_non_null(strstr(held.error.text, figure));
    int large = 0; /* more than all of its memory; a driver may refuse it earlier */
    rynd_status status = RYND_OK;
    for (; status == RYND_OK && large < COUNT; large++) {
        status = held.device->table->buffer_create(held.device, info->most_memory, &buffers[large],
                                                   &held.error);
    }
    assert_int_equal(status, RYND_ERROR_OUT_OF_MEMORY);
    assert_true((size_t)large <= info->memory / info->most_memory + 1);
    assert_non_null(strstr(held.error.text, "are taken"));
    while (--large > 0) {
        held.device->table->buffer_destroy(held.device, buffers[large - 1]);
    }
    held.device->table->figures(held.device, &after);
    assert_int_equal(after.used, before.used);
    assert_true(after.held - after.used <= info->memory / 4);
}

/* A buffer that is given back while a launch reads it is not another's before that is done. */
void contract_test_given_back_early(void **state)
{
    (void)state;
    contract_need_device();
    static float x[N], y[N];
    ry_buffer *in, *memory, *next;
    const ry_program program = contract_program_of(2, false);
    OK(held.device->table->buffer_create(held.device, 4 * sizeof x, &memory, &held.error));
    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < N; i++) {
            x[i] = (float)(i + round);
            y[i] = -1;
        }
        OK(held.device->table->buffer_wrap(held.device, x, sizeof x, &in, &held.error));
        const ry_pointer arguments[ARGUMENTS] = {
            {in, 0}, {NULL, 0}, {memory, 0}, {NULL, 0}, {memory, 2 * sizeof x}};
        OK(contract_launch(program, arguments));
        held.device->table->buffer_destroy(held.device, in);
        OK(held.device->table->buffer_wrap(held.device, y, sizeof y, &next, &held.error));
        OK(contract_fetch(y, arguments[2], sizeof y));
        held.device->table->buffer_destroy(held.device, next);
        assert_float_equal(y[0], 2.0f * (float)(round + N - 1), 0);
    }
    ry_device_figures figures;
    held.device->table->figures(held.device, &figures);
    assert_true(figures.held <= 8 * sizeof x + 4096); /* and is, after it */
    held.device->table->buffer_destroy(held.device, memory);
    held.device->table->program_destroy(held.device, program);
}

/* Every allocation fails once: an error that says so, and nothing is lost. */
void contract_test_allocation_failures(void **state)
{
    (void)state;
    contract_need_device();
    char defines[512];
    const ry_gpu_source source = contract_source_of(9, false, defines);
    bool all = false;
    for (int n = 0; n < 50 && !all; n++) {
        ry_stream *s = NULL;
        ry_event *event = NULL;
        ry_buffer *buffer = NULL;
        ry_program program = {.gpu = NULL};
        ry_device *d = NULL;
        atomic_store(&held.counter.left, n);
        rynd_status status = held.contract->create(&contract_allocator, 0, NULL, &d, &held.error);
        status = status ? status : d->table->stream_create(d, &s, &held.error);
        status = status ? status : d->table->event_create(d, &event, &held.error);
        status = status ? status : d->table->buffer_wrap(d, defines, 512, &buffer, &held.error);
        status = status ? status : d->table->program_create(d, &source, &program, &held.error);
        all = atomic_load(&held.counter.left) >= 0;
        assert_int_equal(status, all ? RYND_OK : RYND_ERROR_OUT_OF_MEMORY);
        if (d) {
            d->table->program_destroy(d, program);
            d->table->buffer_destroy(d, buffer);
            d->table->event_destroy(d, event);
            d->table->stream_destroy(d, s);
            d->table->destroy(d);
        }
        assert_int_equal(atomic_load(&held.counter.alive), 0);
    }
    assert_true(all);
}
