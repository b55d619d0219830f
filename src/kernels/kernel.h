/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel: one method for a kind of problem on a kind of device.
 *
 * What is asked of it, in this order:
 *   applicable   is this problem (shapes, dtypes, layouts, accuracy) one that it computes? No side
 *                effects.
 *   runs_on      has the machine what it takes?
 *   values       the legal values of a knob for a problem on a machine (form.h lists forms from
 *                them).
 *   prepare      fixes everything that does not depend on data, for a form: tasks, sizes of state,
 *                packed weights, workspace and scratch; it completes the form, by least work. It
 *                may take memory from ry_system_allocator until it returns, and says so when there
 *                is none.
 *   initialise   fills the state for a complete form (offset tables, tile counts:
 *                position-independent plain data, no pointers).
 *   pack         fills the packed form of weights, task by task: once where they are constant, else
 *                before every run.
 *   run          computes one task. Any tasks may run at once, in any order: they write disjoint
 *                parts of the outputs, and what a task computes does not depend on the worker or on
 *                the number of workers.
 *
 * The first four are given the machine and are the same code on every machine: a plan for an
 * instruction set that this one lacks can be made here. Data is not trusted: a kernel that takes
 * indices or lengths from an input checks each, and notes the one that is illegal (fault.h).
 *
 * CPU kernels read and write through the pointers of ry_cpu_launch. Scratch belongs to a worker and
 * is garbage at the start of each task; workspace is shared by the tasks of one phase sequence: a
 * kernel with several phases states them, and all tasks of a phase end before the next begins.
 * Everything is aligned to RY_ALIGNMENT. */
#ifndef RY_KERNELS_KERNEL_H
#define RY_KERNELS_KERNEL_H

#include "base/cpuid.h"
#include "base/text.h"
#include "device/device.h"
#include "kernels/fault.h"
#include "problem/problem.h"

#define RY_MAX_KNOBS       8
#define RY_MAX_KNOB_VALUES 64
#define RY_MAX_PHASES      4
#define RY_MAX_OVER        4

/* The value of a knob that the kernel chooses itself. */
#define RY_KNOB_FREE INT64_MIN

struct ry_kernel;

/* What may be set about a kernel, beside the problem. */
typedef struct ry_knob {
    const char *name;
    const char *const *words; /* words for the values 0, 1, ...; NULL: numbers */
    /* forms differ in it; the others follow from these, the problem and the machine, unless they
     * are set */
    bool main;
    /* the packed weights depend on it (packing.h) */
    bool packs;
} ry_knob;

/* The values of a kernel's knobs, in its order. A form whose knobs are all set is complete. */
typedef struct ry_form {
    int64_t value[RY_MAX_KNOBS];
} ry_form;

/* The legal values of a knob, ascending. */
typedef struct ry_knob_values {
    int count;
    int64_t value[RY_MAX_KNOB_VALUES];
} ry_knob_values;

/* What a kernel is to run on. */
typedef struct ry_target {
    ry_device_kind device;
    ry_isa isa; /* CPU: the best instruction set allowed */
    const struct rynd_machine *machine;
    /* bytes that the network around a kernel touches between two of its runs, after which its
     * constants come again from wherever the machine keeps so many; 0: there is none, the same
     * memory is used again and again */
    double network_bytes;
    const struct ry_refusals *refusals; /* refused kernels; NULL: none */
} ry_target;

/* The target that plans on a device are made for; as long as the device. */
static inline ry_target ry_target_of(const ry_device *device)
{
    return (ry_target){device->table->kind, (ry_isa)device->planned_isa, device->machine, 0,
                       device->refusals};
}

/* The same for what runs while a plan is made: no better instruction set than the device has. */
static inline ry_target ry_target_here(const ry_device *device)
{
    return (ry_target){device->table->kind,
                       ry_isa_common((ry_isa)device->isa, (ry_isa)device->planned_isa),
                       device->machine, 0, device->refusals};
}

/* What a kernel is asked about. */
typedef struct ry_query {
    const struct ry_kernel *kernel;
    const ry_problem *problem;
    const ry_target *target;
    const ry_form *form; /* NULL: all knobs are free */
} ry_query;

typedef struct ry_counts {
    double flop;  /* operations of this kernel, padding of tiles included */
    double bytes; /* to and from memory */
} ry_counts;

/* What a phase takes of a core, in operations at its peak that take as long as its arithmetic and
 * its moves within the caches. */
typedef struct ry_work {
    double all;     /* all tasks together; idle cores do not count */
    double largest; /* the largest task; 0: all tasks are equal */
} ry_work;

/* Needs of a GPU's phase beside its work; all 0: the kernel does not say. */
typedef struct ry_gpu_use {
    unsigned registers; /* 32-bit registers of a work-item, estimated */
    size_t local;       /* bytes of local memory of a group */
    bool many_sums;     /* are there many of an item, none waiting for another? */
    double latency;     /* a group's waits, in seconds; other groups of its unit fill them */
    double near;        /* bytes that all groups read and write behind their units: second cache */
} ry_gpu_use;

/* A kernel with problem and form fixed (prepared.h makes, binds and launches it). */
typedef struct ry_prepared {
    const struct ry_kernel *kernel;
    const ry_problem *problem;
    bool packs; /* before every run: not all that it packs is constant */
    int phases;
    size_t tasks[RY_MAX_PHASES];
    size_t state_size; /* bytes */
    const void *state; /* NULL until ry_prepared_initialise */
    size_t packed;     /* bytes */
    size_t pack_tasks;
    size_t workspace;            /* bytes */
    size_t scratch;              /* bytes a worker */
    ry_work work[RY_MAX_PHASES]; /* all 0: not counted */
    double pack_work;            /* packing, without reading and writing each element once */
    ry_counts counts;            /* 0: the problem's own flop and bytes */
    ry_form form;                /* complete */
    /* GPU: work-items of a task; the compiled program, valid after ry_prepared_initialise */
    unsigned group[RY_MAX_PHASES], pack_group;
    ry_gpu_use use[RY_MAX_PHASES];
    ry_program program;
} ry_prepared;

/* What a launch of a kernel carries beside its memory. The arguments of the launch are the
 * problem's inputs, its outputs, then packed weights, workspace, scratch and, on a GPU, the fault's
 * record, in this order. */
typedef struct ry_kernel_call {
    const ry_prepared *prepared;
    /* BOUNDED operators write the outputs' real dims here; NULL otherwise */
    int64_t (*actual)[RY_MAX_RANK];
    ry_fault *fault; /* zero before the launch; NULL: nobody asks */
} ry_kernel_call;

/* What a CPU kernel sees of a task. */
typedef struct ry_cpu_launch {
    const ry_problem *problem;
    const ry_prepared *prepared;
    const void *state;     /* prepared->state */
    const void *const *in; /* NULL where absent */
    void *const *out;
    const void *packed;
    void *packed_out; /* during pack */
    void *workspace;
    void *scratch; /* the worker's own, aligned; never NULL */
    int phase;
    int64_t (*actual)[RY_MAX_RANK];
    ry_fault *fault;
} ry_cpu_launch;

/* What a lane of 32 bits holds, and how it is multiplied. */
typedef enum ry_lane {
    RY_LANE_NUMBER,
    RY_LANE_QUAD,        /* four bytes */
    RY_LANE_SIGNED_QUAD, /* four bytes, x counting 128 less */
    RY_LANE_TILE,        /* four bytes, in tiles of AMX */
    RY_LANE_PAIR         /* two numbers of 16 bits */
} ry_lane;

/* What products take off each byte of x. */
static inline int64_t ry_lane_offset(ry_lane lane)
{
    return lane == RY_LANE_SIGNED_QUAD ? 128 : 0;
}

/* What the text of a CPU kernel was compiled for (cpu/simd/simd.h). */
typedef struct ry_simd {
    int width;         /* floats of a vector */
    int lane_multiple; /* a tile's last vector costs lanes in multiples of this */
    int rows, vectors; /* the largest tile of sums that fits in registers */
    ry_lane lane;
} ry_simd;

/* What a kernel of a GPU is: a text, compiled for each problem and form. Its entries are called
 * with ARGUMENTS, which is defined for it (gpu/gpu_program.h). */
typedef struct ry_gpu_kernel {
    const char *text;
    /* the packing entry, if the kernel packs, then one per phase */
    const char *const *entries;
    int entry_count;
    /* adds lines: numbers of the problem and of the form, and functions that are made of them */
    void (*define)(const ry_query *query, const ry_prepared *prepared, ry_text *defines);
} ry_gpu_kernel;

typedef struct ry_kernel {
    /* conv_fwd_f32_igemm_avx512: symbol, wisdom key, test name and bench label at once */
    const char *name;
    const char *family; /* conv_fwd_f32_igemm: the same method, whatever the instruction set */
    const char *file;   /* the source that has the row: "conv_igemm_isa.c" (kernel_source.h) */
    ry_op op;
    ry_device_kind device;
    ry_isa isa;
    ry_accuracy accuracy;
    /* the definition, element by element: taken where nothing else takes the problem */
    bool reference;
    ry_simd simd;
    const ry_knob *knobs;
    int knob_count;
    bool (*applicable)(const ry_problem *problem);
    /* has the machine what the kernel needs for an applicable problem: arithmetic, room in a
     * work-group? NULL: every machine has */
    bool (*runs_on)(const ry_problem *problem, const struct rynd_machine *machine);
    /* NULL where there are no knobs */
    void (*values)(const ry_query *query, int knob, ry_knob_values *values);
    rynd_status (*prepare)(const ry_query *query, ry_prepared *prepared, ry_error *error);
    /* makes the state of a complete form; NULL: no state */
    void (*initialise)(const ry_query *query, void *state);
    void (*pack)(const ry_cpu_launch *launch, size_t task); /* NULL: nothing is packed */
    void (*run)(const ry_cpu_launch *launch, size_t task);
    bool matrix_units;        /* GPU: needs matrix units */
    const ry_gpu_kernel *gpu; /* in the place of initialise, pack and run; NULL: a CPU's */
    unsigned packed_inputs;   /* bit i: input i is packed */
    /* Adds to `key` what packed weights depend on, except weights, attributes and kernel: equal
     * keys mean equal bytes (packing.h). The state exists on a CPU. NULL: problems share no packed
     * weights */
    void (*packing)(const struct ry_prepared *prepared, ry_text *key);
    unsigned kept_inputs; /* packed inputs that `run` also reads, rarely */
    /* bit i of over[o]: output o may be where input i is, if both are stored in the same way. An
     * element of such an input is read, for the last time, before any such output's element of that
     * place is written, by the same task */
    unsigned over[RY_MAX_OVER];
} ry_kernel;

/* The name of the file that a row is in, without its folder, which is the builder's own. */
#ifdef __FILE_NAME__
#define RY_KERNEL_FILE __FILE_NAME__
#else
#define RY_KERNEL_FILE __FILE__
#endif

/* The strict kernel SYMBOL of a family of its own in plain C, for one operator of the CPU; then
 * come the other fields. */
#define RY_PLAIN_KERNEL(symbol, operator, ...)              \
    const ry_kernel ry_##symbol = {.name = #symbol,         \
                                   .family = #symbol,       \
                                   .file = RY_KERNEL_FILE,  \
                                   .op = RY_OP_##operator,  \
                                   .device = RY_DEVICE_cpu, \
                                   .isa = RY_ISA_generic,   \
                                   __VA_ARGS__}

/* THE list (kernels.inc): every kernel of this build, in order: of two that are as fast, the first
 * is taken. */
extern const ry_kernel *const ry_kernels[];
extern const size_t ry_kernel_count;

/* Does the kernel run on the target's device, instruction set and machine, is it accurate enough
 * and applicable, and did no check refuse it? */
bool ry_kernel_takes(const ry_kernel *kernel, const ry_problem *problem, const ry_target *target);

/* The first kernel that takes the problem but for a refusal of the target; NULL: none.
 */
const ry_kernel *ry_kernel_refused(const ry_problem *problem, const ry_target *target);

/* The inputs that a kernel packs (bit i: input i), absent ones left out. */
unsigned ry_kernel_packs(const ry_kernel *kernel, const ry_problem *problem);

/* Walks the kernels that take a problem, in order, without those whose family has one for a better
 * instruction set, and without references where anything else takes it. Begin with at = 0; NULL: no
 * more. */
const ry_kernel *ry_kernel_next(const ry_problem *problem, const ry_target *target, size_t *at);

/* The best kernel of the family for the target among the rows before `index`, or NULL. A family's
 * rows begin with its best instruction set. */
const ry_kernel *ry_kernel_better(size_t index, const ry_target *target);

const ry_kernel *ry_kernel_find(const char *name);

/* The `program` of a launch on the CPU: `call` is a ry_kernel_call. Where weights are packed before
 * every run, phase 0 does it. */
void ry_kernel_cpu_program(const void *call, void *const *arguments, int phase, size_t task,
                           unsigned worker);

/* The same for packing alone: one phase of pack_tasks tasks; arguments: the problem's inputs (those
 * that are packed; others absent), then the packed memory. */
void ry_kernel_cpu_pack_program(const void *call, void *const *arguments, int phase, size_t task,
                                unsigned worker);

#endif
