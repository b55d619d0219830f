/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel: one implementation of a kind of problem on a kind of device.
 *
 * Life of a kernel in a plan:
 *   applicable   is this problem (shapes, dtypes, layouts, accuracy) one that it computes? No side effects.
 *   prepare      fixes everything that does not depend on data: number of tasks, sizes of state, packed weights, workspace and scratch. It may
 *                take memory from ry_system_allocator until it returns, and says so when there is none.
 *   initialise   fills `state` (offset tables, tile counts: position-independent plain data, no pointers), once, when the plan is made.
 *   pack         fills the packed form of constant inputs, task by task, once, when the plan is made (NULL: nothing to pack).
 *   run          computes one task. Any tasks may run at once, in any order: they write disjoint parts of the outputs, and what a task
 *                computes does not depend on the worker or on the number of workers. Called for every task of every run.
 *
 * Data is not trusted: a kernel that takes indices or lengths from an input checks each, and notes the one that is illegal (fault.h).
 *
 * CPU kernels read and write through the pointers of ry_cpu_launch.
 * Scratch belongs to a worker and is garbage at the start of each task; workspace is shared by the tasks of one phase sequence: a kernel with several
 * phases states them, and all tasks of a phase end before the next begins. Everything is aligned to RY_ALIGNMENT. */
#ifndef RY_KERNELS_KERNEL_H
#define RY_KERNELS_KERNEL_H

#include "base/cpuid.h"
#include "device/device.h"
#include "kernels/fault.h"
#include "problem/problem.h"

#define RY_MAX_KNOBS  8
#define RY_MAX_PHASES 4

typedef struct ry_knob {
    const char *name;
    int64_t value;
} ry_knob;

typedef struct ry_prepared {
    int phases;
    size_t tasks[RY_MAX_PHASES];
    size_t state;  /* bytes */
    size_t packed; /* bytes */
    size_t pack_tasks;
    size_t workspace; /* bytes */
    size_t scratch;   /* bytes a worker */
    double work;      /* operations at a core's peak that take as long as the arithmetic and the moves within the caches; 0: not counted */
    int knob_count;
    ry_knob knobs[RY_MAX_KNOBS]; /* as chosen, for printing */
} ry_prepared;

struct ry_kernel;

/* What a launch of a kernel carries beside its memory. The arguments of the launch are the problem's inputs, its outputs, then packed
 * weights, workspace and scratch, in this order. */
typedef struct ry_kernel_call {
    const struct ry_kernel *kernel;
    const ry_problem *problem;
    const ry_prepared *prepared;
    const void *state;
    int64_t (*actual)[RY_MAX_RANK]; /* BOUNDED operators write the outputs' real dims here; NULL otherwise */
    ry_fault *fault;                /* zero before the launch; NULL: nobody asks */
} ry_kernel_call;

/* What a CPU kernel sees. */
typedef struct ry_cpu_launch {
    const ry_problem *problem;
    const ry_prepared *prepared;
    const void *state;
    const void *const *in; /* NULL where absent */
    void *const *out;
    const void *packed; /* during pack: writable through packed_out */
    void *packed_out;
    void *workspace;
    char *scratch; /* worker w's: scratch + w * prepared->scratch (which is a multiple of RY_ALIGNMENT); aligned, never NULL */
    int64_t (*actual)[RY_MAX_RANK];
    ry_fault *fault;
} ry_cpu_launch;

typedef struct ry_counts {
    double flop;  /* that this kernel does, padding of tiles included */
    double bytes; /* to and from memory */
} ry_counts;

typedef struct ry_kernel {
    const char *name; /* conv_fwd_f32_igemm_14x32_avx512: symbol, wisdom key, test name and bench label at once */
    ry_op op;
    const char *device; /* "cpu" */
    ry_isa isa;
    ry_accuracy accuracy;
    int rank; /* 0: the reference; a higher rank is more specialised, and preferred among kernels of the same predicted time */
    bool (*applicable)(const ry_problem *problem);
    rynd_status (*prepare)(const ry_problem *problem, ry_prepared *prepared, ry_error *error);
    void (*initialise)(const ry_problem *problem, const ry_prepared *prepared, void *state); /* NULL when state is 0 bytes */
    void (*pack)(const ry_cpu_launch *launch, size_t task); /* in[] holds the constant inputs, NULL for others */
    void (*run)(const ry_cpu_launch *launch, int phase, size_t task, unsigned worker);
    ry_counts (*counts)(const ry_problem *problem, const ry_prepared *prepared); /* NULL: the problem's own flop and bytes */
    unsigned
        constant_inputs;  /* bit i: input i must be a constant (it is packed); the kernel is not applicable otherwise: the planner checks */
    unsigned kept_inputs; /* those of them that run reads, too, though rarely */
} ry_kernel;

/* THE list (kernels.inc): every kernel of this build, in order. */
extern const ry_kernel *const ry_kernels[];
extern const size_t ry_kernel_count;

/* Does it need no more than `isa`, is it at least as accurate as the problem asks, are its packed inputs among `constants` (bit i: input i is constant), and
 * is it applicable? */
bool ry_kernel_takes(const ry_kernel *kernel, const ry_problem *problem, ry_isa isa, unsigned constants);
/* The most specialised kernel that takes a problem: for what runs once. predict/ chooses by time. The reference is always applicable: NULL means that the
 * operator's dtypes are not supported. */
const ry_kernel *ry_kernel_choose(const ry_problem *problem, ry_isa isa, unsigned constants);
const ry_kernel *ry_kernel_find(const char *name);

/* The `program` of a launch on the CPU: `call` is a ry_kernel_call. */
void ry_kernel_cpu_program(const void *call, void *const *arguments, int phase, size_t task, unsigned worker);

/* The same for packing: one phase of pack_tasks tasks; arguments: the problem's inputs (absent ones where not constant), then the packed memory. */
void ry_kernel_cpu_pack_program(const void *call, void *const *arguments, int phase, size_t task, unsigned worker);

/* Runs a problem on the calling thread, host memory in and out, for constant folding, tests and tools. in[]/out[] carry data. actual may be NULL.
 * Fails where the content of an input is illegal (fault.h). */
rynd_status ry_kernel_execute(const ry_kernel *kernel, const ry_problem *problem, const void *const *in, void *const *out,
                              int64_t (*actual)[RY_MAX_RANK], const ry_allocator *allocator, ry_error *error);

#endif
