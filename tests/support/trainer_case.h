/* SPDX-License-Identifier: Apache-2.0 */
/* A trainer of the small network, through the public interface, with a batch of images and classes;
 * the context's allocator counts. */
#ifndef TESTS_SUPPORT_TRAINER_CASE_H
#define TESTS_SUPPORT_TRAINER_CASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tiny_model.h"
#include <rynd/rynd.h>

#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 6, IMAGE = BATCH * TINY_CHANNELS * TINY_SIDE * TINY_SIDE };

typedef struct taught {
    rynd_context *context;
    uint8_t model_bytes[TINY_MODEL_CAPACITY];
    rynd_model *model;
    rynd_trainer *trainer;
    float images[IMAGE];
    int64_t labels[BATCH];
    rynd_tensor input, target;
} taught;

/* A caller's allocator that counts. */
/* alive: blocks not freed yet; fails_at: countdown to the failing call, 0: none fails */
static atomic_size_t calls, alive, fails_at;

static inline void *count_allocate(void *user, size_t size, size_t alignment)
{
    (void)user;
    calls++;
    if (fails_at && --fails_at == 0) {
        return NULL;
    }
    alive++;
    return aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

static inline void count_release(void *user, void *memory)
{
    (void)user;
    alive -= memory != NULL;
    free(memory);
}

static inline rynd_tensor row_major(rynd_dtype dtype, int rank, const int64_t *dim, void *data)
{
    rynd_tensor t = {.data = data, .dtype = dtype, .rank = rank};
    int64_t stride = 1;
    for (int i = rank - 1; i >= 0; i--) {
        t.dim[i] = dim[i];
        t.stride[i] = stride;
        stride *= dim[i];
    }
    return t;
}

/* Everything but the trainer; device NULL: the CPU. */
static inline void begin_model_on(taught *t, const char *device, unsigned threads)
{
    static const rynd_allocator counted = {count_allocate, count_release, NULL};
    const rynd_context_options context = RYND_SIZED(rynd_context_options, .device = device,
                                                    .threads = threads, .allocator = &counted);
    memset(t, 0, sizeof *t);
    if (rynd_context_create(&context, &t->context) != RYND_OK) {
        fail_msg("%s", rynd_last_error());
    }
    const size_t size = tiny_model(t->model_bytes);
    assert_int_equal(rynd_model_load_memory(t->context, t->model_bytes, size, &t->model), RYND_OK);
    tiny_values(t->images, IMAGE, 5);
    for (int i = 0; i < BATCH; i++) {
        t->labels[i] = i * 3 % TINY_CLASSES;
    }
    t->input = row_major(RYND_DTYPE_F32, 4, (int64_t[]){BATCH, TINY_CHANNELS, TINY_SIDE, TINY_SIDE},
                         t->images);
    t->target = row_major(RYND_DTYPE_I64, 1, (int64_t[]){BATCH}, t->labels);
}

static inline void begin_model(taught *t, unsigned threads)
{
    begin_model_on(t, NULL, threads);
}

static inline void begin_on(taught *t, const char *device, unsigned threads,
                            const rynd_trainer_options *options)
{
    begin_model_on(t, device, threads);
    if (rynd_trainer_create(t->model, options, &t->trainer) != RYND_OK) {
        fail_msg("%s", rynd_last_error());
    }
}

static inline void begin(taught *t, unsigned threads, const rynd_trainer_options *options)
{
    begin_on(t, NULL, threads, options);
}

static inline void end(taught *t)
{
    rynd_trainer_destroy(t->trainer);
    rynd_model_destroy(t->model);
    rynd_context_destroy(t->context);
}

static inline double step(taught *t, double rate)
{
    double loss = 0;
    if (rynd_trainer_step(t->trainer, &t->input, &t->target, rate, &loss) != RYND_OK) {
        fail_msg("%s", rynd_last_error());
    }
    return loss;
}

static inline double evaluate(taught *t)
{
    double loss = 0;
    if (rynd_trainer_evaluate(t->trainer, &t->input, &t->target, &loss) != RYND_OK) {
        fail_msg("%s", rynd_last_error());
    }
    return loss;
}

static inline rynd_trainer_options defaults(void)
{
    return RYND_SIZED(rynd_trainer_options, .batch = BATCH);
}

#endif
