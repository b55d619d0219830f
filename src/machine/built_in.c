/* SPDX-License-Identifier: Apache-2.0 */
/* A machine that nobody measured: the row of its micro-architecture. */
#include "machine/machine.h"

#include <stdio.h>
#include <string.h>

typedef struct microarchitecture {
    const char *name, *vendor; /* vendor "": of any that has `isa` */
    int family, first_model, last_model;
    ry_isa isa;
    double clock; /* GHz */
    double f32, bf16, int8;
    double bytes[RYND_LEVEL_DRAM];
    double cycles[RYND_LEVEL_DRAM];
    double memory_ns, memory_one, memory_each;
} microarchitecture;

static const microarchitecture rows[] = {
#define RY_MICROARCHITECTURE(name, vendor, family, first, last, clock, f32, bf16, int8, l1, l2, \
                             l3, c1, c2, c3, ns, one, each)                                     \
    {name,         vendor,       family, first, last, RY_ISA_generic, clock, f32, bf16, int8,   \
     {l1, l2, l3}, {c1, c2, c3}, ns,     one,   each},
#define RY_UNKNOWN(name, isa, clock, f32, bf16, int8, l1, l2, l3, c1, c2, c3, ns, one, each) \
    {name,         "",           0,  0,   0,   RY_ISA_##isa, clock, f32, bf16, int8,         \
     {l1, l2, l3}, {c1, c2, c3}, ns, one, each},
#include "machine/microarchitectures.inc"
#undef RY_MICROARCHITECTURE
#undef RY_UNKNOWN
};

/* Cycles of an operation of each kind; 0: no source says. */
typedef struct kind_cycles {
    const char *architecture;
    unsigned vector_bytes;
    double cycles[RYND_KINDS];
} kind_cycles;

static const kind_cycles kinds[] = {
#define RY_KIND_CYCLES(architecture, bytes, add, divide, load, split, gather, store, masked, \
                       permute, convert, scalar, chain, call)                                \
    {architecture,                                                                           \
     bytes,                                                                                  \
     {add, divide, load, split, gather, store, masked, permute, convert, scalar, chain, call}},
#include "machine/kind_cycles.inc"
#undef RY_KIND_CYCLES
};

/* What an instruction set's registers are, and the most that two vector units do with them a cycle.
 */
typedef struct registers {
    const char *isa;
    unsigned vector_bytes, count;
    double f32, bf16, int8; /* operations a cycle at most */
} registers;

static const registers isas[] = {
    /* plain C: what compilers make of it without fused multiply-adds */
    {"generic", 16, 16, 4, 0, 4},        {"neon", 16, 32, 32, 0, 64},
    {"neon_dot", 16, 32, 32, 0, 128},    {"avx2", 32, 16, 32, 0, 64},
    {"avx_vnni", 32, 16, 32, 0, 128},    {"avx512", 64, 32, 64, 0, 128},
    {"avx512_vnni", 64, 32, 64, 0, 256}, {"avx512_bf16", 64, 32, 64, 128, 256},
    {"amx", 64, 32, 64, 1024, 2048},
};

static bool is_of(const microarchitecture *row, const ry_cpu_info *cpu)
{
    return *row->vendor ? strcmp(row->vendor, cpu->vendor) == 0 && row->family == cpu->family &&
                              cpu->model >= row->first_model && cpu->model <= row->last_model
                        : row->isa == RY_ISA_generic || row->isa == cpu->isa;
}

/* The last takes every processor. */
static const microarchitecture *row_of(const ry_cpu_info *cpu)
{
    const microarchitecture *row = rows;
    while (!is_of(row, cpu)) {
        row++;
    }
    return row;
}

static const registers *registers_of(ry_isa isa)
{
    const registers *r = isas;
    while (strcmp(r->isa, ry_isa_name(isa)) != 0) {
        r++;
    }
    return r;
}

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

static rynd_rate scaled(double one, unsigned cores)
{
    return (rynd_rate){one, one * cores};
}

static void set_levels(const microarchitecture *row, const registers *r, const ry_cpu_info *cpu,
                       ry_machine *machine)
{
    const size_t bytes[RYND_LEVELS] = {cpu->l1d, cpu->l2, cpu->l3, 0};
    const unsigned shared[RYND_LEVELS] = {1, cpu->l2_shared, cpu->l3_shared, cpu->machine_cores};
    for (int i = 0; i < RYND_LEVELS; i++) {
        rynd_memory_level *level = &machine->level[i];
        *level = (rynd_memory_level){.bytes = bytes[i], .shared_by = shared[i]};
        if (i == RYND_LEVEL_DRAM) {
            level->bandwidth = (rynd_rate){row->memory_one * 1e9, 0};
            level->bandwidth.all = cpu->machine_cores > 1
                                       ? row->memory_each * 1e9 * cpu->machine_cores
                                       : level->bandwidth.one;
            level->bandwidth.all = level->bandwidth.all > level->bandwidth.one
                                       ? level->bandwidth.all
                                       : level->bandwidth.one;
            level->latency = (rynd_rate){row->memory_ns * 1e-9, row->memory_ns * 1e-9};
        } else if (bytes[i]) {
            /* two loads of a vector a cycle at most */
            level->bandwidth =
                scaled(smaller(row->bytes[i], 2.0 * r->vector_bytes) * row->clock * 1e9,
                       cpu->machine_cores);
            level->latency =
                (rynd_rate){row->cycles[i] / row->clock * 1e-9, row->cycles[i] / row->clock * 1e-9};
        }
    }
}

static void set_kinds(const microarchitecture *row, unsigned cores, ry_machine *machine)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const kind_cycles *k = &kinds[i];
        if (strcmp(k->architecture, row->name) == 0 && k->vector_bytes == machine->vector_bytes) {
            for (int kind = 0; kind < RYND_KINDS; kind++) {
                machine->kind[kind] =
                    scaled(k->cycles[kind] > 0 ? row->clock * 1e9 / k->cycles[kind] : 0, cores);
            }
            return;
        }
    }
}

static void fill(const microarchitecture *row, const ry_cpu_info *cpu, ry_isa isa,
                 ry_machine *machine)
{
    const registers *r = registers_of(isa);
    *machine = RYND_SIZED(
        ry_machine, .origin = RYND_MACHINE_BUILT_IN, .family = cpu->family, .model = cpu->model,
        .cores = cpu->machine_cores, .vector_bytes = r->vector_bytes, .vector_registers = r->count,
        .line_bytes = cpu->line, .huge_page_bytes = cpu->huge_page,
        .f32 = scaled(smaller(row->f32, r->f32) * row->clock * 1e9, cpu->machine_cores),
        .bf16 = scaled(smaller(row->bf16, r->bf16) * row->clock * 1e9, cpu->machine_cores),
        .int8 = scaled(smaller(row->int8, r->int8) * row->clock * 1e9, cpu->machine_cores),
        .task_seconds = 50e-9, .region_seconds = 2e-6);
    snprintf(machine->vendor, sizeof machine->vendor, "%s", cpu->vendor);
    snprintf(machine->name, sizeof machine->name, "%s", cpu->name);
    snprintf(machine->architecture, sizeof machine->architecture, "%s", row->name);
    snprintf(machine->isa, sizeof machine->isa, "%s", ry_isa_name(isa));
    set_levels(row, r, cpu, machine);
}

void ry_machine_built_in(const ry_cpu_info *cpu, ry_isa isa, ry_machine *machine)
{
    fill(row_of(cpu), cpu, isa, machine);
}

void ry_machine_reference(const char *architecture, ry_isa isa, ry_machine *machine)
{
    /* caches of any size: rates and latencies do not depend on it */
    const ry_cpu_info one = {.machine_cores = 1,
                             .l1d = 1 << 15,
                             .l2 = 1 << 20,
                             .l3 = 1 << 24,
                             .l2_shared = 1,
                             .l3_shared = 1};
    const microarchitecture *row = rows;
    while (strcmp(row->name, architecture) != 0) {
        row++;
    }
    fill(row, &one, isa, machine);
    set_kinds(row, one.machine_cores, machine);
}
