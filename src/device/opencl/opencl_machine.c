/* SPDX-License-Identifier: Apache-2.0 */
/* The machine of an OpenCL device that nobody measured.
 *
 * OpenCL tells units, clock, sizes; not how many floats a unit multiplies a cycle, nor how fast
 * memory is. Those are guesses by the type of the device: what cards of a desktop, processors with
 * a graphics unit and processors of the years from 2015 on have in common, right within a factor of
 * two or three. */
#include "device/gpu/gpu_device.h"
#include "device/opencl/opencl_list.h"

#include <stdio.h>
#include <string.h>

#define REACHED 0.85 /* share of a card's memory rate that copying kernels reach */

typedef struct guess {
    double lanes;               /* floats that a unit multiplies and adds a cycle */
    double dram, shared_dram;   /* bytes a second; where the memory is the host's */
    double cache, local;        /* bytes a cycle and unit */
    double latency, clock;      /* seconds of a read from memory; Hz, if the device reports 0 */
    double task, region;        /* seconds of handing out a work-group, of a launch */
    unsigned vector, registers; /* bytes of what works in step; of an item */
    unsigned step, groups;      /* work-items that work in step; work-groups of a unit */
    double issued;              /* instructions of work-items that a unit begins in a cycle */
    unsigned unit_registers, unit_items, group_units; /* as in rynd_machine */
} guess;

static const guess guesses[RY_OPENCL_TYPES] = {
    [RY_OPENCL_GPU] = {64, 300e9, 50e9, 16, 128, 500e-9, 1.2e9, 50e-9, 5e-6, 128, 64, 32, 4, 64,
                       65536, 1024, 1},
    [RY_OPENCL_CPU] = {16, 20e9, 20e9, 16, 64, 100e-9, 2.5e9, 500e-9, 10e-6, 32, 16, 1, 1, 0, 0, 0,
                       0},
    [RY_OPENCL_OTHER] = {16, 30e9, 20e9, 16, 64, 300e-9, 1e9, 500e-9, 20e-6, 64, 32, 16, 2, 0, 0, 0,
                         0},
};

/* A unit of Intel's GPUs is a vector engine, eight of which share local memory at least. */
static guess guess_of(const ry_opencl_info *info)
{
    guess g = guesses[info->type];
    if (info->type == RY_OPENCL_GPU && strstr(info->vendor, "Intel")) {
        g.lanes = 8;
        g.issued = 16;
        g.step = 16;
        g.unit_registers = 7168;
        g.unit_items = 112;
        g.group_units = 8;
        g.local /= g.group_units;
    }
    return g;
}

static rynd_rate of_units(double one, unsigned units)
{
    return (rynd_rate){one, one * units};
}

static void set_levels(const ry_opencl_info *info, const guess *g, double clock,
                       rynd_machine *machine)
{
    const unsigned units = machine->cores;
    const double dram = info->unified ? g->shared_dram : g->dram;
    machine->level[RYND_LEVEL_L1] = (rynd_memory_level){
        info->local_memory, 1, of_units(g->local * clock, units), {30 / clock, 30 / clock}};
    machine->level[RYND_LEVEL_L2] = (rynd_memory_level){
        info->cache, units, of_units(g->cache * clock, units), {200 / clock, 200 / clock}};
    machine->level[RYND_LEVEL_L3] = (rynd_memory_level){.shared_by = units};
    /* a unit alone has a tenth of it, or its share */
    machine->level[RYND_LEVEL_DRAM] = (rynd_memory_level){
        0, units, {units > 10 ? dram / 10 : dram / units, dram}, {g->latency, g->latency}};
}

/* Drivers on processors that kernels have costs of their own for (kernels/gpu/gpu_costs.inc). */
static const char *architecture(const ry_opencl_info *info)
{
    return info->type != RY_OPENCL_CPU                      ? "unknown"
           : strcmp(info->platform, RY_OPENCL_POCL) == 0    ? "PoCL"
           : strcmp(info->platform, "Intel(R) OpenCL") == 0 ? "Intel OpenCL"
                                                            : "unknown";
}

static void describe(const ry_opencl_info *info, const guess *g, rynd_machine *machine)
{
    const double clock = info->clock ? info->clock * 1e6 : g->clock;
    const unsigned units = info->units ? info->units : 1;
    /* a product and a sum; of bf16 no more than of floats: the kernels convert them */
    const rynd_rate f32 = of_units(2 * g->lanes * clock, units),
                    int8 = of_units(f32.one * (info->dots_bytes ? 4 : 1), units);
    *machine =
        RYND_SIZED(rynd_machine, .origin = RYND_MACHINE_BUILT_IN, .isa = "opencl", .cores = units,
                   .vector_bytes = g->vector, .vector_registers = g->registers,
                   .line_bytes = info->cache_line ? info->cache_line : 64, .f32 = f32, .bf16 = f32,
                   .int8 = int8, .task_seconds = g->task, .region_seconds = g->region,
                   .group_items = (unsigned)info->group, .step_items = g->step,
                   .unit_groups = g->groups, .local_bytes = info->local_memory, .fp16 = info->fp16,
                   .fp64 = info->fp64, .subgroups = info->subgroups,
                   .unit_registers = g->unit_registers, .unit_items = g->unit_items,
                   .group_units = g->group_units, .issue = of_units(g->issued * clock, units),
                   .launch_limit = info->type == RY_OPENCL_GPU ? RY_GPU_WATCHED : 0);
    snprintf(machine->vendor, sizeof machine->vendor, "%.15s", info->vendor);
    snprintf(machine->architecture, sizeof machine->architecture, "%s", architecture(info));
    snprintf(machine->name, sizeof machine->name, "%s", info->name);
    set_levels(info, g, clock, machine);
}

rynd_status ry_opencl_machine(unsigned index, rynd_machine *machine, ry_error *error)
{
    ry_opencl_info info;
    RY_TRY(ry_opencl_device_describe(index, &info, error));
    const guess g = guess_of(&info);
    describe(&info, &g, machine);
    return RYND_OK;
}

static const struct {
    const char *name, *vendor, *text;
    unsigned units, clock;      /* MHz */
    double lanes, issued, dram; /* GB a second */
    size_t cache;               /* KiB */
    double near;                /* bytes a cycle */
    size_t local;               /* KiB */
    unsigned registers, items, group_units, group, step;
    bool fp64;
} cards[] = {
#define RY_OPENCL_CARD(...) {__VA_ARGS__},
#include "device/opencl/opencl_cards.inc"
#undef RY_OPENCL_CARD
};

const char *ry_opencl_card_name(size_t index)
{
    return index < sizeof cards / sizeof *cards ? cards[index].name : NULL;
}

void ry_opencl_card(size_t index, rynd_machine *machine)
{
    guess g = guesses[RY_OPENCL_GPU];
    ry_opencl_info info = {.type = RY_OPENCL_GPU,
                           .units = cards[index].units,
                           .clock = cards[index].clock,
                           .local_memory = cards[index].local << 10,
                           .cache = cards[index].cache << 10,
                           .group = cards[index].group,
                           .fp16 = true,
                           .fp64 = cards[index].fp64,
                           .subgroups = strcmp(cards[index].vendor, "Intel") == 0};
    g.lanes = cards[index].lanes;
    g.dram = cards[index].dram * 1e9 * REACHED;
    g.step = cards[index].step;
    g.cache = cards[index].near / cards[index].units;
    g.issued = cards[index].issued;
    g.unit_registers = cards[index].registers;
    g.unit_items = cards[index].items;
    g.group_units = cards[index].group_units;
    g.local /= g.group_units;
    snprintf(info.name, sizeof info.name, "%s", cards[index].text);
    snprintf(info.vendor, sizeof info.vendor, "%s", cards[index].vendor);
    describe(&info, &g, machine);
}
