/* SPDX-License-Identifier: Apache-2.0 */
/* Each thread writes a part; then each reads its own part, or its neighbour's. Both parts are in a
 * core's own cache, so the difference is the transfer. A virtual machine's cores are moved by its
 * host, apart or together, so the figure changes within minutes. */
#include "machine/measure_transfer.h"

#include "base/clock.h"

#include <math.h>

/* CACHE_SHARE: part of a core's second-level cache. */
enum { TRIALS = 60, CACHE_SHARE = 4 };

/* One thread's part. */
typedef struct part {
    float *data;
    unsigned writer, reader;
    double seconds;
    float sink;
    char apart[RY_ALIGNMENT]; /* no two threads write one cache line */
} part;

typedef struct transfer {
    const ry_machine_loops *loops;
    size_t count, floats; /* parts; floats of each */
    size_t shift;         /* a task reads the part of the task so much later */
    part *parts;
} transfer;

static void write_part(void *context, size_t task, unsigned worker)
{
    const transfer *t = context;
    part *p = &t->parts[task];
    for (size_t i = 0; i < t->floats; i++) {
        p->data[i] = (float)(i % RY_MACHINE_BLOCK);
    }
    p->writer = worker;
}

static void read_part(void *context, size_t task, unsigned worker)
{
    const transfer *t = context;
    part *p = &t->parts[(task + t->shift) % t->count];
    const double begin = ry_clock_seconds();
    (void)t->loops->read(p->data, t->floats, 1, &p->sink);
    p->seconds = ry_clock_seconds() - begin;
    p->reader = worker;
}

/* Mean seconds of a part; INFINITY: a thread took another's task, so it tells nothing. */
static double run_trial(transfer *t, ry_threads *threads, size_t shift)
{
    double seconds = 0;
    t->shift = shift;
    ry_threads_run(threads, t->count, 0, write_part, t);
    ry_threads_run(threads, t->count, 0, read_part, t);
    for (size_t i = 0; i < t->count; i++) {
        const part *p = &t->parts[i];
        if ((p->writer != p->reader) != (shift > 0)) {
            return INFINITY;
        }
        seconds += p->seconds / (double)t->count;
    }
    return seconds;
}

static double measure(transfer *t, ry_threads *threads, double line_bytes)
{
    double own = INFINITY, moved = INFINITY;
    for (int i = 0; i < TRIALS; i++) {
        own = fmin(own, run_trial(t, threads, 0));
        moved = fmin(moved, run_trial(t, threads, 1));
    }
    const double lines = (double)(t->floats * sizeof(float)) / line_bytes;
    return moved < INFINITY && own < moved ? (moved - own) / lines : 0;
}

rynd_status ry_machine_measure_transfer(const ry_allocator *allocator, ry_threads *threads,
                                        const ry_machine_loops *loops, ry_machine *machine,
                                        ry_error *error)
{
    const size_t share = (size_t)ry_machine_core_bytes(machine, RYND_LEVEL_L2) / CACHE_SHARE;
    transfer t = {.loops = loops,
                  .count = ry_threads_count(threads),
                  .floats = share / sizeof(float) / RY_MACHINE_BLOCK * RY_MACHINE_BLOCK};
    machine->transfer_seconds = 0;
    if (t.count < 2 || t.floats == 0) {
        return RYND_OK;
    }
    t.parts = ry_allocate_array(allocator, t.count, sizeof *t.parts);
    float *data = ry_allocate_array(allocator, t.count * t.floats, sizeof *data);
    if (t.parts && data) {
        for (size_t i = 0; i < t.count; i++) {
            t.parts[i].data = data + i * t.floats;
        }
        machine->transfer_seconds =
            measure(&t, threads, machine->line_bytes > 0 ? machine->line_bytes : 64);
    }
    const bool failed = !t.parts || !data;
    ry_release(allocator, data);
    ry_release(allocator, t.parts);
    return failed ? ry_fail_memory(error) : RYND_OK;
}
