/* SPDX-License-Identifier: Apache-2.0 */
/* Measures a GPU: each figure in rounds, of which the best counts; what else the device does can
 * only make one slower. */
#include "kernels/gpu/gpu_measure.h"

#include "base/clock.h"
#include "base/progress_ends.h"
#include "base/text.h"
#include "kernels/gpu/gpu_texts.h"
#include "machine/measure.h"

#include <stdio.h>
#include <string.h>

enum { LINE = 64, ROUNDS = 5, LAUNCHES = 50, MAX_ROUNDS = 1 << 24 };
/* METERED: seconds of runs whose energy is read, as meters move every 0.1 s only; at most
 * METERED_SHARE of the caller's time. */
static const double run_seconds = 0.02, METERED = 1.5, METERED_SHARE = 0.2;

/* WHAT of measure.cl */
typedef enum activity { NOTHING, PRODUCTS, READS, CHASE, DOTS, UNITS_BF16, UNITS_S8 } activity;

typedef struct measurement {
    ry_device *device;
    const ry_machine *machine;
    ry_stream *stream;
    ry_event *from, *to;
    ry_buffer *in, *out;
    size_t in_bytes, out_bytes;
    bool processor;
    const rynd_measure_options *options;
    int done; /* figures */
    ry_competition begin;
} measurement;

/* What is launched, and the seconds of its launches: the least, and the mean. */
typedef struct figure {
    activity what;
    size_t groups, bytes; /* that are read */
    int rounds, launches;
    double seconds, mean;
} figure;

/* At most; COPIES: that each figure of copies is the least of. */
enum { FIGURES = 12, COPIES = 8 };

static unsigned items_of(const measurement *m, activity what)
{
    return what == CHASE || m->processor   ? 1
           : m->machine->group_items < 256 ? m->machine->group_items
                                           : 256;
}

static rynd_status make_program(const measurement *m, const figure *f, ry_program *program,
                                ry_error *error)
{
    static const char *const entry[] = {"measure"};
    ry_arena arena;
    ry_arena_init(&arena, m->device->allocator);
    ry_text defines = {.arena = &arena};
    ry_text_add(&defines, "#define ARGUMENTS ARGUMENT(in0), ARGUMENT(out0)\n");
    ry_text_add(&defines, "#define GROUP_OF_measure %u\n#define ITEMS %u\n#define GROUPS %zu\n",
                items_of(m, f->what), items_of(m, f->what), f->groups);
    ry_text_add(&defines, "#define WHAT %d\n#define PROCESSOR %d\n#define ROUNDS %d\n", f->what,
                m->processor, f->rounds);
    ry_text_add(&defines, "#define FLOATS %zu\n", f->bytes / sizeof(float));
    const ry_gpu_source source = {"measure", defines.at, ry_gpu_text_measure, 1, entry};
    const rynd_status status =
        defines.failed ? ry_fail_memory(error)
                       : m->device->table->program_create(m->device, &source, program, error);
    ry_arena_free(&arena);
    return status;
}

static rynd_status launch(const measurement *m, const figure *f, ry_program program,
                          double *seconds, ry_error *error)
{
    const ry_device_table *table = m->device->table;
    const unsigned group = items_of(m, f->what);
    const ry_pointer pointers[] = {{m->in, 0}, {m->out, 0}};
    void *resolved[2];
    const ry_launch one = {.program = program,
                           .phases = 1,
                           .tasks = &f->groups,
                           .group = &group,
                           .argument_count = 2,
                           .arguments = pointers,
                           .resolved = resolved};
    RY_TRY(table->event_record(m->stream, m->from, error));
    for (int i = 0; i < f->launches; i++) {
        RY_TRY(table->launch(m->stream, &one, error));
    }
    RY_TRY(table->event_record(m->stream, m->to, error));
    RY_TRY(table->synchronize(m->stream, error));
    return table->event_elapsed(m->from, m->to, seconds, error);
}

static rynd_status time_rounds(const measurement *m, figure *f, int rounds, ry_error *error)
{
    ry_program program = {.gpu = NULL};
    double sum = 0, seconds = 0;
    RY_TRY(make_program(m, f, &program, error));
    rynd_status status = launch(m, f, program, &seconds, error); /* the first takes longer */
    f->seconds = seconds;
    for (int i = 0; i < rounds && status == RYND_OK; i++) {
        status = launch(m, f, program, &seconds, error);
        sum += seconds;
        f->seconds = seconds < f->seconds ? seconds : f->seconds;
    }
    f->mean = rounds ? sum / rounds : f->seconds;
    m->device->table->program_destroy(m->device, program);
    return status;
}

/* Work enough for a clock, then timed. */
static rynd_status measure(measurement *m, figure *f, ry_error *error)
{
    f->launches = f->launches ? f->launches : 1;
    f->rounds = 1;
    RY_TRY(time_rounds(m, f, 1, error));
    while (f->what != NOTHING && f->seconds < run_seconds && f->rounds < MAX_ROUNDS) {
        const double times = run_seconds / (f->seconds > 1e-6 ? f->seconds : 1e-6) * 1.2;
        f->rounds = (int)(f->rounds * (times < 16 ? times : 16)) + 1;
        RY_TRY(time_rounds(m, f, 1, error));
    }
    RY_TRY(time_rounds(m, f, ROUNDS, error));
    return ry_progress_ends(m->options->progress, m->options->progress_user, (size_t)++m->done,
                            FIGURES)
               ? ry_fail(error, RYND_ERROR_CANCELLED, "the measurement was ended by its caller")
               : RYND_OK;
}

/* Power while the figure's launches run, one after another; 0: no meter. */
static rynd_status measure_watts(const measurement *m, const figure *f, double *watts,
                                 ry_error *error)
{
    const ry_device_table *table = m->device->table;
    ry_program program = {.gpu = NULL};
    const double limit = m->options->seconds > 0 && METERED_SHARE * m->options->seconds < METERED
                             ? METERED_SHARE * m->options->seconds
                             : METERED;
    double joules = 0, seconds;
    *watts = 0;
    if (!table->take_energy || !table->take_energy(m->device, &joules)) {
        return RYND_OK;
    }
    RY_TRY(make_program(m, f, &program, error));
    rynd_status status = launch(m, f, program, &seconds, error);
    const bool metered = table->take_energy(m->device, &joules);
    const double begin = ry_clock_seconds();
    while (metered && status == RYND_OK && ry_clock_seconds() - begin < limit) {
        status = launch(m, f, program, &seconds, error);
    }
    if (metered && table->take_energy(m->device, &joules)) {
        *watts = joules / (ry_clock_seconds() - begin);
    }
    table->program_destroy(m->device, program);
    return status;
}

/* Lines in random order (Sattolo's shuffle), so that nothing can be fetched ahead. */
static rynd_status fill_ring(measurement *m, size_t bytes, ry_error *error)
{
    const int lines = (int)(bytes / LINE), step = LINE / (int)sizeof(int);
    int *ring = ry_allocate(m->device->allocator, bytes);
    if (!ring) {
        return ry_fail_memory(error);
    }
    uint64_t random = 1;
    for (int i = 0; i < lines; i++) {
        ring[i * step] = i * step;
    }
    for (int i = lines; i-- > 1;) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        const int j = (int)((random >> 33) % (uint64_t)i), kept = ring[i * step];
        ring[i * step] = ring[j * step];
        ring[j * step] = kept;
    }
    rynd_status status =
        m->device->table->upload(m->stream, (ry_pointer){m->in, 0}, ring, bytes, error);
    if (status == RYND_OK) {
        status = m->device->table->synchronize(m->stream, error);
    }
    ry_release(m->device->allocator, ring);
    return status;
}

/* Sets the rate of all units, and scales the unmeasured rate of one in proportion. */
static void set_rate(rynd_rate *rate, double all)
{
    const double one = rate->all > 0 ? rate->one / rate->all : 0;
    *rate = (rynd_rate){all * one, all};
}

/* The canary: what else the device does shows here, too. */
static figure products_of(const measurement *m)
{
    const unsigned slots = ry_machine_slots(m->machine, m->machine->cores);
    return (figure){.what = PRODUCTS, .groups = (size_t)slots * (m->processor ? 1 : 4)};
}

/* Operations a second, of which each item does so many a round. */
static rynd_status measure_rate(measurement *m, activity what, double operations, double *rate,
                                ry_error *error)
{
    figure f = products_of(m);
    f.what = what;
    RY_TRY(measure(m, &f, error));
    *rate = operations * items_of(m, what) * (double)f.groups * f.rounds / f.seconds;
    return RYND_OK;
}

/* Bytes are multiplied by matrix units, else by dot products. A processor's kernels multiply bytes as vectors
 * of floats: no figure of its own. */
static rynd_status measure_types(measurement *m, ry_machine *machine, double f32, ry_error *error)
{
    /* products of 16x16 by 16x8 elements, or 16x32 by 32x8 bytes, of 32 items; both of 8 tiles */
    const double tile = 2.0 * 16 * 16 * 8 * 8 / 32, dots = 2.0 * 4 * 8;
    double bf16 = machine->f32.all > 0 ? f32 * machine->bf16.all / machine->f32.all : f32,
           int8 = machine->f32.all > 0 ? f32 * machine->int8.all / machine->f32.all : f32;
    if (machine->matrix_units) {
        RY_TRY(measure_rate(m, UNITS_BF16, tile, &bf16, error));
        RY_TRY(measure_rate(m, UNITS_S8, 2 * tile, &int8, error));
    } else if (!m->processor) {
        RY_TRY(measure_rate(m, DOTS, dots, &int8, error));
    }
    set_rate(&machine->f32, f32);
    set_rate(&machine->bf16, bf16);
    set_rate(&machine->int8, int8);
    return RYND_OK;
}

static rynd_status measure_arithmetic(measurement *m, ry_machine *machine, figure *canary,
                                      ry_error *error)
{
    double watts;
    RY_TRY(measure(m, canary, error));
    RY_TRY(measure_watts(m, canary, &watts, error));
    machine->watts = (rynd_rate){watts, watts};
    snprintf(machine->meter, sizeof machine->meter, "%s", watts > 0 ? "nvml" : "");
    const double lanes = m->processor ? 16 : 1, sums = 8;
    return measure_types(m, machine,
                         2 * sums * lanes * items_of(m, PRODUCTS) * (double)canary->groups *
                             canary->rounds / canary->seconds,
                         error);
}

/* The canary once more: the disturbance is that of both times. */
static rynd_status end_canary(const measurement *m, const figure *canary, double *disturbance,
                              ry_error *error)
{
    figure again = *canary;
    RY_TRY(time_rounds(m, &again, ROUNDS, error));
    const double best = again.seconds < canary->seconds ? again.seconds : canary->seconds;
    *disturbance = ry_disturbance_since(&m->begin, best, (canary->mean + again.mean) / 2);
    return RYND_OK;
}

/* The least seconds of copies that the host waits for. */
static rynd_status time_copies(const measurement *m, void *host, size_t bytes, bool up,
                               double *seconds, ry_error *error)
{
    const ry_device_table *table = m->device->table;
    const ry_pointer at = {m->in, 0};
    *seconds = 0;
    for (int i = 0; i < COPIES; i++) {
        const double begin = ry_clock_seconds();
        RY_TRY(up ? table->upload(m->stream, at, host, bytes, error)
                  : table->download(m->stream, host, at, bytes, error));
        RY_TRY(table->synchronize(m->stream, error));
        const double now = ry_clock_seconds() - begin;
        *seconds = i == 0 || now < *seconds ? now : *seconds;
    }
    return RYND_OK;
}

static rynd_status measure_copies_with(const measurement *m, void *host, size_t bytes,
                                       ry_machine *machine, ry_error *error)
{
    double small, up, down;
    RY_TRY(time_copies(m, host, sizeof(float), false, &small, error));
    RY_TRY(time_copies(m, host, bytes, true, &up, error));
    RY_TRY(time_copies(m, host, bytes, false, &down, error));
    machine->copy_seconds = small;
    machine->upload_rate = (double)bytes / (up > 2 * small ? up - small : up);
    machine->download_rate = (double)bytes / (down > 2 * small ? down - small : down);
    return RYND_OK;
}

static rynd_status measure_copies(measurement *m, ry_machine *machine, ry_error *error)
{
    enum { MOST = 32 << 20 };
    const size_t bytes = m->in_bytes < MOST ? m->in_bytes : MOST;
    void *host = NULL;
    RY_TRY(m->device->table->host_take(m->device, bytes, &host, error));
    memset(host, 0, bytes);
    const rynd_status status = measure_copies_with(m, host, bytes, machine, error);
    m->device->table->host_give_back(m->device, host);
    return status;
}

/* watts: receives the power of reads; NULL: not asked for. */
static rynd_status measure_level(measurement *m, rynd_memory_level *level, size_t bytes,
                                 double *watts, ry_error *error)
{
    const unsigned slots = ry_machine_slots(m->machine, m->machine->cores);
    /* whole vectors of every group */
    const size_t groups = (size_t)slots * (m->processor ? 1 : 4), grain = groups * LINE * 4;
    figure reads = {.what = READS, .groups = groups, .bytes = bytes / grain * grain},
           chase = {.what = CHASE, .groups = 1, .bytes = bytes};
    RY_TRY(ry_device_clear(m->device, m->stream, (ry_pointer){m->in, 0}, bytes, error));
    RY_TRY(measure(m, &reads, error));
    RY_TRY(watts ? measure_watts(m, &reads, watts, error) : RYND_OK);
    set_rate(&level->bandwidth, (double)reads.bytes * reads.rounds / reads.seconds);
    RY_TRY(fill_ring(m, bytes, error));
    RY_TRY(measure(m, &chase, error));
    level->latency.one = level->latency.all = chase.seconds / chase.rounds;
    return RYND_OK;
}

static rynd_status measure_costs(measurement *m, ry_machine *machine, ry_error *error)
{
    enum { GROUPS = 20000 };
    figure one = {.what = NOTHING, .groups = 1, .launches = LAUNCHES},
           many = {.what = NOTHING, .groups = GROUPS};
    RY_TRY(measure(m, &one, error));
    RY_TRY(measure(m, &many, error));
    const unsigned slots = ry_machine_slots(machine, machine->cores);
    machine->region_seconds = one.seconds / LAUNCHES;
    const double groups = many.seconds - machine->region_seconds;
    machine->task_seconds = groups > 0 ? groups * slots / GROUPS : 0;
    return RYND_OK;
}

static rynd_status measure_all(measurement *m, ry_machine *machine, ry_error *error)
{
    const ry_device_table *table = m->device->table;
    const float numbers[] = {0.999f, 0.001f};
    const size_t cache = machine->level[RYND_LEVEL_L2].bytes;
    RY_TRY(table->stream_create(m->device, &m->stream, error));
    RY_TRY(table->stream_time ? table->stream_time(m->stream, true, error) : RYND_OK);
    RY_TRY(table->event_create(m->device, &m->from, error));
    RY_TRY(table->event_create(m->device, &m->to, error));
    RY_TRY(table->buffer_create(m->device, m->in_bytes, &m->in, error));
    RY_TRY(table->buffer_create(m->device, m->out_bytes, &m->out, error));
    RY_TRY(table->upload(m->stream, (ry_pointer){m->in, 0}, numbers, sizeof numbers, error));
    RY_TRY(table->synchronize(m->stream, error));
    figure canary = products_of(m);
    RY_TRY(measure_arithmetic(m, machine, &canary, error));
    if (cache / 2 >= (64u << 10) && cache / 2 < m->in_bytes) {
        RY_TRY(measure_level(m, &machine->level[RYND_LEVEL_L2], cache / 2, NULL, error));
    }
    double watts = 0;
    RY_TRY(measure_level(m, &machine->level[RYND_LEVEL_DRAM], m->in_bytes, &watts, error));
    machine->memory_watts = (rynd_rate){watts, watts};
    RY_TRY(measure_costs(m, machine, error));
    RY_TRY(measure_copies(m, machine, error));
    return end_canary(m, &canary, &machine->disturbance, error);
}

rynd_status ry_gpu_measure(ry_device *device, const rynd_measure_options *options,
                           ry_machine *machine, ry_error *error)
{
    enum { LEAST = 64 << 20, MOST = 512 << 20 };
    const size_t cache = machine->level[RYND_LEVEL_L2].bytes;
    ry_device_figures figures;
    device->table->figures(device, &figures);
    const ry_machine given = *machine;
    measurement m = {.device = device,
                     .machine = &given,
                     .processor = machine->step_items == 1,
                     .options = options,
                     .begin = ry_machine_competition(machine)};
    m.in_bytes = 4 * cache < LEAST ? LEAST : 4 * cache > MOST ? MOST : 4 * cache;
    while (figures.total && m.in_bytes > figures.total / 8 && m.in_bytes > LINE << 10) {
        m.in_bytes /= 2;
    }
    const size_t slots = ry_machine_slots(machine, machine->cores);
    m.out_bytes = sizeof(float) * (m.processor ? 16 * slots : 4 * 256 * slots);
    const rynd_status status = measure_all(&m, machine, error);
    machine->origin = RYND_MACHINE_MEASURED;
    device->table->buffer_destroy(device, m.in);
    device->table->buffer_destroy(device, m.out);
    device->table->event_destroy(device, m.from);
    device->table->event_destroy(device, m.to);
    if (m.stream) {
        device->table->stream_destroy(device, m.stream);
    }
    return status;
}
