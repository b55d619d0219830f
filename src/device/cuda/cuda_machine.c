/* SPDX-License-Identifier: Apache-2.0 */
/* The machine of a CUDA device that nobody measured: what follows from its compute capability, its
 * clocks and the width of its bus, and of the rest what such devices have in common. */
#include "device/cuda/cuda_list.h"
#include "device/gpu/gpu_device.h"

#include <stdio.h>

/* Floats that a unit multiplies and adds a cycle, by capability: of each row that of its first and
 * of those up to the next row's (CUDA C++ Programming Guide, "Arithmetic Instructions"). */
static const struct {
    int capability;
    unsigned lanes;
} units[] = {{0, 128}, {60, 64}, {61, 128}, {70, 64}, {86, 128}};

/* Most work-items of a unit at once (CUDA C++ Programming Guide, "Technical Specifications per
 * Compute Capability"), and bytes that a unit reads from the cache behind all units in a cycle, as
 * in `units`. 7.0 and 7.5: measured (Z. Jia et al., "Dissecting the NVIDIA Volta GPU Architecture
 * via Microbenchmarking", 2018, and "Dissecting the NVIDIA Turing T4 GPU via Microbenchmarking",
 * 2019: 2155 and 1270 GB/s). 8.0 and 9.0: 0.7 of the A100 whitepaper's 5120 bytes a cycle. Others:
 * as 7.5, an estimate. */
static const struct {
    int capability;
    unsigned items, near;
} unit_limits[] = {{0, 2048, 20},  {70, 2048, 18}, {75, 1024, 20}, {80, 2048, 33},
                   {86, 1536, 20}, {90, 2048, 27}, {120, 1536, 20}};

/* Instructions of work-items that a unit begins in a cycle: four warps', from 5.0 on. */
#define ISSUED 128

/* The same of products of f16 or bf16 with sums of floats that tensor cores do for mma.sync,
 * likewise (of the whitepapers' rates for dense matrices; from 9.0 on what mma.sync reaches of them
 * is estimated): from 8.0 on, which bf16 and tf32 begin with. */
static const struct {
    int capability;
    unsigned products;
} matrix_units[] = {{80, 1024}, {86, 512}, {90, 1024}, {120, 512}};

/* The first capability that multiplies and adds four bytes at once (dp4a), at the rate of floats.
 * Tensor cores have twice their rate of f16. */
#define DOTS_BYTES 61

#define GROUPS         4      /* work-groups of 256 items that fit a unit's registers */
#define REACHED        0.85   /* share of the memory's rate that copying kernels reach */
#define GUESSED_DRAM   300e9  /* bytes a second, where the device does not say */
#define GUESSED_SHARED 50e9   /* the same where the memory is the host's */
#define LOCAL_BYTES    128    /* a cycle and unit: local memory, */
#define LATENCY        500e-9 /* seconds: a read from memory, */
#define TASK           20e-9  /* handing out a work-group, */
/* A launch behind others, alone and recorded: a launch of an empty kernel takes 2 us and more (A.
 * Gray, "Getting Started with CUDA Graphs", NVIDIA, 2019: 0.9 and 0.5 us beside the kernel). */
#define REGION 3e-6
#define REPLAY 1.5e-6

static rynd_rate of_units(double one, unsigned count)
{
    return (rynd_rate){one, one * count};
}

static double lanes_of(int capability)
{
    unsigned lanes = 0;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        lanes = capability >= units[i].capability ? units[i].lanes : lanes;
    }
    return lanes;
}

static double matrix_products_of(int capability)
{
    unsigned products = 0;
    for (size_t i = 0; i < sizeof matrix_units / sizeof *matrix_units; i++) {
        products = capability >= matrix_units[i].capability ? matrix_units[i].products : products;
    }
    return products;
}

/* Memory sends twice a cycle. */
static double dram_of(const ry_cuda_info *info)
{
    const double rate = 2e3 * info->memory_clock * info->bus / 8 * REACHED;
    return rate > 0 ? rate : info->unified ? GUESSED_SHARED : GUESSED_DRAM;
}

/* The row of unit_limits. */
static size_t limits_of(int capability)
{
    size_t row = 0;
    for (size_t i = 0; i < sizeof unit_limits / sizeof *unit_limits; i++) {
        row = capability >= unit_limits[i].capability ? i : row;
    }
    return row;
}

static void set_levels(const ry_cuda_info *info, double clock, rynd_machine *machine)
{
    const unsigned count = machine->cores;
    const double dram = dram_of(info);
    machine->level[RYND_LEVEL_L1] = (rynd_memory_level){
        info->local_memory, 1, of_units(LOCAL_BYTES * clock, count), {30 / clock, 30 / clock}};
    machine->level[RYND_LEVEL_L2] =
        (rynd_memory_level){info->cache,
                            count,
                            of_units(unit_limits[limits_of(info->capability)].near * clock, count),
                            {250 / clock, 250 / clock}};
    machine->level[RYND_LEVEL_L3] = (rynd_memory_level){.shared_by = count};
    /* a unit alone has a tenth of it, or its share */
    machine->level[RYND_LEVEL_DRAM] = (rynd_memory_level){
        0, count, {count > 10 ? dram / 10 : dram / count, dram}, {LATENCY, LATENCY}};
}

static void describe(const ry_cuda_info *info, rynd_machine *machine)
{
    const double clock = info->clock ? info->clock * 1e3 : 1.5e9;
    const unsigned count = info->units ? info->units : 1;
    /* a product and a sum; what nothing else multiplies is converted to floats */
    const double products = matrix_products_of(info->capability);
    const double lanes = lanes_of(info->capability);
    const double bytes = products > 0                     ? 2 * products
                         : info->capability >= DOTS_BYTES ? 4 * lanes
                                                          : lanes;
    const rynd_rate f32 = of_units(2 * lanes * clock, count);
    *machine =
        RYND_SIZED(rynd_machine, .origin = RYND_MACHINE_BUILT_IN, .isa = "cuda", .vendor = "NVIDIA",
                   .cores = count, .vector_bytes = 128, .vector_registers = 64, .line_bytes = 128,
                   .f32 = f32, .bf16 = products > 0 ? of_units(2 * products * clock, count) : f32,
                   .int8 = of_units(2 * bytes * clock, count), .task_seconds = TASK,
                   .region_seconds = REGION, .group_items = info->group, .step_items = 32,
                   .unit_groups = GROUPS, .local_bytes = info->group_memory, .fp16 = 1, .fp64 = 1,
                   .subgroups = 1, .matrix_units = products > 0, .unit_registers = info->registers,
                   .unit_items = unit_limits[limits_of(info->capability)].items,
                   .issue = of_units(ISSUED * clock, count), .replay_seconds = REPLAY,
                   .launch_limit = info->watched ? RY_GPU_WATCHED : 0);
    snprintf(machine->architecture, sizeof machine->architecture, "sm_%d%s", info->capability,
             ry_cuda_has_wide_units(info) ? "a" : "");
    snprintf(machine->name, sizeof machine->name, "%s", info->name);
    set_levels(info, clock, machine);
}

rynd_status ry_cuda_machine(unsigned index, rynd_machine *machine, ry_error *error)
{
    ry_cuda_info info;
    RY_TRY(ry_cuda_device_describe(index, &info, error));
    describe(&info, machine);
    return RYND_OK;
}

/* Work-items and local memory of a group are the same for all. */
static const struct {
    const char *name, *text;
    int capability;
    unsigned units, clock, memory_clock, bus; /* clocks in MHz */
    size_t cache, local;                      /* KiB */
} cards[] = {
#define RY_CUDA_CARD(name, text, capability, units, clock, memory, bus, cache, local) \
    {name, text, capability, units, clock, memory, bus, cache, local},
#include "device/cuda/cuda_cards.inc"
#undef RY_CUDA_CARD
};

const char *ry_cuda_card_name(size_t index)
{
    return index < sizeof cards / sizeof *cards ? cards[index].name : NULL;
}

void ry_cuda_card(size_t index, rynd_machine *machine)
{
    ry_cuda_info info = {.capability = cards[index].capability,
                         .units = cards[index].units,
                         .clock = cards[index].clock * 1000,
                         .memory_clock = cards[index].memory_clock * 1000,
                         .bus = cards[index].bus,
                         .cache = cards[index].cache << 10,
                         .local_memory = cards[index].local << 10,
                         .group_memory = 48 << 10,
                         .registers = 65536,
                         .group = 1024,
                         .compiler = 13};
    snprintf(info.name, sizeof info.name, "%s", cards[index].text);
    describe(&info, machine);
}
