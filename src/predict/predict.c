/* SPDX-License-Identifier: Apache-2.0 */
/* Time as arithmetic and memory, which mostly hide each other (the roofline of Williams, Waterman
 * and Patterson, 2009), at the rates of the machine. */
#include "predict/predict.h"

#include "base/threads.h"
#include "kernels/common/work.h"
#include "kernels/costs.h"
#include "kernels/gpu/gpu_waves.h"
#include "kernels/prepared.h"
#include "machine/occupancy.h"
#include "predict/activation_price.h"
#include "predict/energy_count.h"

static ry_cost_column column_of(const ry_prepared *prepared, const ry_machine *machine)
{
    return ry_cost_column_of(machine, prepared->kernel->simd.width);
}

/* GPUs: by hand. Kernels price their moves themselves, and the rate of memory is what kernels reach.
 */
static const struct ry_prediction_costs gpu_costs = {
    .efficiency = 0.5,
    .own = 0.5,
    .shared = 0.5,
    .cache_rate = 1,
    .memory_rate = 1,
    .exposed = RY_GPU_EXPOSED,
    .streamed = 1,
    .streamed_exposed = RY_GPU_EXPOSED,
    .straddled = 1,
    .part_lines = 1,
    .region = 1,
    .conversion = 1,
    .uneven = 0,
    .packed = 1e9,
};

static const struct ry_prediction_costs *costs_of(const ry_prepared *prepared,
                                                  const ry_machine *machine)
{
    return ry_gpu_in_waves(prepared, machine)
               ? &gpu_costs
               : &ry_costs_of(column_of(prepared, machine))->prediction;
}

/* The rate of one core while `threads` cores work. */
static double per_core(rynd_rate rate, const ry_machine *machine, unsigned threads)
{
    return threads > 1 && rate.all > 0 && machine->cores > 0 ? rate.all / machine->cores : rate.one;
}

/* Do the operator's kernels count moves in the core's own caches alone? Others count what comes from
 * the shared cache beside their arithmetic, which hides most of it. */
static bool streams(const ry_prepared *prepared)
{
    static const bool ops[RY_OPS] = {
        [RY_OP_expr] = true,       [RY_OP_pool] = true,       [RY_OP_resize] = true,
        [RY_OP_softmax] = true,    [RY_OP_layer_norm] = true, [RY_OP_group_norm] = true,
        [RY_OP_batch_norm] = true, [RY_OP_concat] = true,     [RY_OP_slice] = true,
        [RY_OP_transpose] = true,  [RY_OP_pad] = true,
    };
    return ops[prepared->problem->op];
}

/* Bytes from the shared cache and from memory, and how long all threads together take for them. */
typedef struct traffic {
    double seconds, near, far;
} traffic;

static traffic sum_of(traffic a, traffic b)
{
    return (traffic){a.seconds + b.seconds, a.near + b.near, a.far + b.far};
}

/* Moves of bytes that come again after `around` others. Kernels count moves within the cores' own
 * caches as work. The price of a reference includes its bytes. */
static traffic move(const ry_prepared *prepared, const ry_machine *machine, unsigned threads,
                    double bytes, double around)
{
    const struct ry_prediction_costs *cost = costs_of(prepared, machine);
    if (prepared->kernel->reference) {
        return (traffic){0};
    }
    const bool streamed = streams(prepared), few = streamed && machine->cores > threads;
    const double cores = few ? (double)threads / machine->cores : 1,
                 l2 = cost->own * cores * (double)ry_machine_level_bytes(machine, RYND_LEVEL_L2),
                 l3 = cost->shared * (double)ry_machine_level_bytes(machine, RYND_LEVEL_L3);
    const double own = ry_machine_kept_share(around, l2),
                 shared = ry_machine_kept_share(around, l3) * (1 - own);
    const rynd_rate near = machine->level[RYND_LEVEL_L3].bandwidth,
                    far = machine->level[RYND_LEVEL_DRAM].bandwidth;
    const double cache_rate = streamed ? cost->streamed : cost->cache_rate;
    const double from_cache =
        near.one > 0 ? shared / (per_core(near, machine, threads) * cache_rate) : 0;
    const double from_memory =
        far.one > 0 ? (1 - own - shared) / (per_core(far, machine, threads) * cost->memory_rate)
                    : 0;
    return (traffic){bytes * (from_cache + from_memory) / threads, bytes * shared,
                     bytes * (1 - own - shared)};
}

/* Does a convolution store pixels, channels last, that are not whole lines? Its vectors then cross
 * lines, and each line at a pixel's end is written twice. */
static bool straddles(const ry_prepared *prepared, const ry_machine *machine)
{
    const ry_problem *p = prepared->problem;
    const ry_tensor *y = &p->out[0];
    if ((p->op != RY_OP_conv && p->op != RY_OP_convt && p->op != RY_OP_qconv &&
         p->op != RY_OP_separable_conv) ||
        prepared->kernel->reference || machine->line_bytes == 0 || ry_tensor_is_row_major(y)) {
        return false;
    }
    return y->dim[1] * (int64_t)ry_dtype_size((ry_dtype)y->dtype) % machine->line_bytes != 0;
}

static double overlapped(const ry_prepared *prepared, const ry_machine *machine, double arithmetic,
                         double memory)
{
    const struct ry_prediction_costs *cost = costs_of(prepared, machine);
    const double exposed = streams(prepared) ? cost->streamed_exposed : cost->exposed;
    return arithmetic > memory ? arithmetic + exposed * memory : memory + exposed * arithmetic;
}

static double run_seconds(const ry_prepared *prepared, const ry_machine *machine, unsigned threads);

/* The work of all phases. */
static double all_work(const ry_prepared *prepared)
{
    double work = 0;
    for (int i = 0; i < prepared->phases; i++) {
        work += prepared->work[i].all;
    }
    return work;
}

/* A phase's part of the seconds of a run on one thread. */
static double share_of(const ry_prepared *prepared, int phase)
{
    const double own = prepared->work[phase].all;
    return own > 0 ? own / all_work(prepared) : 1.0 / prepared->phases;
}

/* Threads that run a phase, as ry_threads_run decides: a single task, and work that is too short to
 * share, stay on one. */
static unsigned threads_of(const ry_prepared *prepared, const ry_machine *machine, int phase,
                           unsigned threads)
{
    if (threads <= 1 || prepared->kernel->device != RY_DEVICE_cpu) {
        return threads;
    }
    const double arithmetic = prepared->work[phase].all / machine->f32.one;
    return prepared->tasks[phase] <= 1 ||
                   (arithmetic < RY_MIN_SHARED_SECONDS &&
                    run_seconds(prepared, machine, 1) * share_of(prepared, phase) <
                        RY_MIN_SHARED_SECONDS)
               ? 1
               : threads;
}

/* Seconds of a phase's arithmetic. */
static double phase_seconds(const ry_prepared *prepared, const ry_machine *machine, int phase,
                            const ry_work *work, unsigned threads)
{
    const unsigned some = threads_of(prepared, machine, phase, threads),
                   slots = ry_machine_slots(machine, some);
    return ry_spread_work(work, prepared->tasks[phase], slots, column_of(prepared, machine)) /
           (per_core(machine->f32, machine, some) * some);
}

/* Seconds of all phases' arithmetic. */
static double counted_seconds(const ry_prepared *prepared, const ry_machine *machine,
                              unsigned threads)
{
    if (all_work(prepared) <= 0) {
        const ry_work counted = {prepared->counts.flop / costs_of(prepared, machine)->efficiency,
                                 0};
        return phase_seconds(prepared, machine, 0, &counted, threads);
    }
    double seconds = 0;
    for (int i = 0; i < prepared->phases; i++) {
        seconds += phase_seconds(prepared, machine, i, &prepared->work[i], threads);
    }
    return seconds;
}

/* Arithmetic time of all phases except packing. Threads are all units of a GPU. */
static double arithmetic_seconds(const ry_prepared *prepared, const ry_machine *machine,
                                 unsigned threads)
{
    const struct ry_prediction_costs *cost = costs_of(prepared, machine);
    if (ry_gpu_in_waves(prepared, machine)) {
        double seconds = 0;
        for (int i = 0; i < prepared->phases; i++) {
            seconds += ry_gpu_phase_seconds(prepared, machine, i);
        }
        return seconds;
    }
    const double share = straddles(prepared, machine) ? 1 / cost->straddled : 1,
                 activation =
                     prepared->kernel->reference || prepared->kernel->simd.width == 0
                         ? 0
                         : ry_activation_work(prepared->problem, column_of(prepared, machine));
    const unsigned last = prepared->phases > 0
                              ? threads_of(prepared, machine, prepared->phases - 1, threads)
                              : threads;
    return counted_seconds(prepared, machine, threads) / share +
           activation / (per_core(machine->f32, machine, last) * last);
}

/* Bytes of the constants as the model has them, and as the kernel reads them. */
static void count_constants(const ry_prepared *prepared, unsigned constants, double *raw,
                            double *read)
{
    const double packed = (double)ry_prepared_packed(prepared);
    const unsigned packs = packed > 0 ? ry_kernel_packs(prepared->kernel, prepared->problem) : 0;
    *raw = 0;
    *read = packed;
    for (int i = 0; i < prepared->problem->inputs && i < 32; i++) {
        const double bytes = constants >> i & 1u && ry_problem_has_input(prepared->problem, i)
                                 ? (double)ry_tensor_bytes(&prepared->problem->in[i])
                                 : 0;
        *raw += bytes;
        *read += packs >> i & 1u ? 0 : bytes;
    }
}

/* Bytes that are read and written. */
static double counted_bytes(const ry_prepared *prepared, const ry_machine *machine)
{
    const double again = straddles(prepared, machine)
                             ? (costs_of(prepared, machine)->part_lines - 1) *
                                   (double)ry_tensor_bytes(&prepared->problem->out[0])
                             : 0;
    return prepared->counts.bytes + again;
}

/* What comes again in each run of a network comes after all else that the network touches. */
static traffic move_operands(const ry_prepared *prepared, const ry_machine *machine,
                             unsigned threads, unsigned constants, double network_bytes)
{
    const double bytes = counted_bytes(prepared, machine);
    double raw, read;
    count_constants(prepared, constants, &raw, &read);
    if (network_bytes <= bytes || raw <= 0) {
        return move(prepared, machine, threads, bytes, bytes);
    }
    const double own = bytes > raw ? bytes - raw : 0;
    return sum_of(move(prepared, machine, threads, own, bytes),
                  move(prepared, machine, threads, read, network_bytes));
}

static double run_seconds(const ry_prepared *prepared, const ry_machine *machine, unsigned threads)
{
    return overlapped(prepared, machine, arithmetic_seconds(prepared, machine, threads),
                      move_operands(prepared, machine, threads, 0, 0).seconds);
}

/* Bytes that packing before each run reads and writes. */
static double pack_bytes(const ry_prepared *prepared)
{
    double bytes = (double)prepared->packed;
    const unsigned packs = ry_kernel_packs(prepared->kernel, prepared->problem);
    for (int i = 0; packs >> i; i++) {
        bytes += packs >> i & 1u ? (double)ry_tensor_bytes(&prepared->problem->in[i]) : 0;
    }
    return prepared->packs ? bytes : 0;
}

static double pack_arithmetic(const ry_prepared *prepared, const ry_machine *machine,
                              unsigned threads)
{
    const ry_work packing = {prepared->pack_work, 0};
    const double work =
        ry_spread_work(&packing, prepared->pack_tasks, threads, column_of(prepared, machine));
    return prepared->packs ? work / (per_core(machine->f32, machine, threads) * threads) : 0;
}

static double pack_seconds(const ry_prepared *prepared, const ry_machine *machine, unsigned threads)
{
    const double bytes = pack_bytes(prepared);
    return overlapped(prepared, machine, pack_arithmetic(prepared, machine, threads),
                      move(prepared, machine, threads, bytes, bytes).seconds);
}

static double region_seconds(const ry_prepared *prepared, const ry_machine *machine,
                             unsigned threads, bool network)
{
    if (ry_gpu_in_waves(prepared, machine)) {
        return (prepared->phases + prepared->packs) * ry_machine_launch(machine, network);
    }
    int shared = threads > 1 && prepared->packs && prepared->pack_tasks > 1;
    for (int i = 0; i < prepared->phases; i++) {
        shared += threads_of(prepared, machine, i, threads) > 1;
    }
    return shared * costs_of(prepared, machine)->region * machine->region_seconds;
}

double ry_predict_time(const ry_prepared *prepared, const ry_machine *machine, unsigned threads)
{
    return pack_seconds(prepared, machine, threads) + run_seconds(prepared, machine, threads) +
           region_seconds(prepared, machine, threads, false);
}

ry_parts ry_predict_count(const ry_prepared *prepared, const ry_machine *machine, unsigned threads,
                          unsigned constants)
{
    ry_parts parts = {
        .arithmetic = arithmetic_seconds(prepared, machine, threads),
        .overhead = region_seconds(prepared, machine, threads, true),
        .pack = pack_arithmetic(prepared, machine, threads),
        .packed = pack_bytes(prepared),
        .bytes = counted_bytes(prepared, machine),
    };
    count_constants(prepared, constants, &parts.raw, &parts.read);
    ry_energy_count(prepared, machine, threads, parts.arithmetic + parts.pack, parts.does);
    return parts;
}

void ry_parts_reuse(ry_parts *parts, double bytes, double since)
{
    if (bytes <= 0) {
        return;
    }
    if (parts->reused_count < RY_PARTS_REUSED) {
        parts->reused[parts->reused_count++] = (ry_reused){bytes, since};
        return;
    }
    ry_reused *last = &parts->reused[RY_PARTS_REUSED - 1];
    last->since = (last->since * last->bytes + since * bytes) / (last->bytes + bytes);
    last->bytes += bytes;
}

ry_time ry_predict_parts(const ry_prepared *prepared, const ry_machine *machine, unsigned threads,
                         unsigned constants, double network_bytes, double factor)
{
    const double counted = arithmetic_seconds(prepared, machine, threads),
                 packed = pack_bytes(prepared);
    const traffic operands = move_operands(prepared, machine, threads, constants, network_bytes);
    const traffic moved = sum_of(operands, move(prepared, machine, threads, packed, packed));
    ry_time time = {
        .arithmetic = counted * factor,
        .memory = operands.seconds,
        .overhead = region_seconds(prepared, machine, threads, network_bytes > 0),
    };
    ry_energy_count(prepared, machine, threads,
                    counted + pack_arithmetic(prepared, machine, threads), time.does);
    time.does[RYND_ENERGY_CACHE] = moved.near;
    time.does[RYND_ENERGY_MEMORY] = moved.far;
    time.all = pack_seconds(prepared, machine, threads) +
               overlapped(prepared, machine, time.arithmetic, time.memory) + time.overhead;
    return time;
}

void ry_predict_phases(const ry_prepared *prepared, const ry_machine *machine,
                       double seconds[RY_MAX_PHASES + 1])
{
    seconds[0] = pack_seconds(prepared, machine, 1);
    if (ry_gpu_in_waves(prepared, machine)) {
        for (int i = 0; i < prepared->phases; i++) {
            seconds[i + prepared->packs] = ry_gpu_phase_seconds(prepared, machine, i);
        }
        return;
    }
    const double all = run_seconds(prepared, machine, 1);
    for (int i = 0; i < prepared->phases; i++) {
        seconds[i + prepared->packs] = all * share_of(prepared, i);
    }
}

/* Lower bounds for a device that nobody measured: a PCI Express 3 link of eight lanes, and a copy
 * that the host waits for. */
#define LINK_BYTES_PER_SECOND 8e9
#define COPY_SECONDS          20e-6

static double copy_seconds(const ry_tensor *tensor, double rate, const ry_machine *device)
{
    return (device->copy_seconds > 0 ? device->copy_seconds : COPY_SECONDS) +
           (double)ry_tensor_bytes(tensor) / (rate > 0 ? rate : LINK_BYTES_PER_SECOND);
}

double ry_predict_copies(const ry_problem *problem, unsigned constants, const ry_machine *device)
{
    double seconds = 0;
    for (int i = 0; i < problem->inputs; i++) {
        if (ry_problem_has_input(problem, i) && !(i < 32 && constants >> i & 1u)) {
            seconds += copy_seconds(&problem->in[i], device->download_rate, device);
        }
    }
    for (int i = 0; i < problem->outputs; i++) {
        if (ry_problem_has_output(problem, i)) {
            seconds += copy_seconds(&problem->out[i], device->upload_rate, device);
        }
    }
    return seconds;
}
