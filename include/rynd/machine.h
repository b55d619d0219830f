/* SPDX-License-Identifier: Apache-2.0 */
/** @file machine.h
 *  @brief What a device offers, as numbers: what predictions and choices are made from.
 *
 *  A machine is plain data. It is measured here, built in for known micro-architectures, or read
 *  from a file that another machine wrote; a context carries one (rynd_context_get_machine). */
#ifndef RYND_MACHINE_H
#define RYND_MACHINE_H

#include <rynd/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A rate of one thread, and of all cores together; 0: not known. */
typedef struct rynd_rate {
    double one, all;
} rynd_rate;

/** The levels of the memory, from the core outwards. */
typedef enum rynd_level {
    RYND_LEVEL_L1,
    RYND_LEVEL_L2,
    RYND_LEVEL_L3,
    RYND_LEVEL_DRAM,
    RYND_LEVELS
} rynd_level;

/** A cache, or the memory behind all of them. */
typedef struct rynd_memory_level {
    size_t bytes; /**< of one cache; 0: there is none, or nothing is known of it; 0 for memory */
    unsigned shared_by;  /**< how many of the machine's cores share one cache */
    rynd_rate bandwidth; /**< bytes a second, read in order; all: each core its own share */
    rynd_rate latency;   /**< seconds of a load whose address the load before it gave */
} rynd_memory_level;

/** Where a machine's rates come from. */
typedef enum rynd_machine_origin {
    RYND_MACHINE_BUILT_IN, /**< public data of its micro-architecture, or of its instruction set */
    RYND_MACHINE_MEASURED, /**< measured on this machine */
    RYND_MACHINE_IMPORTED, /**< read from a file that need not be this machine's */
    RYND_MACHINE_ORIGINS
} rynd_machine_origin;

/** A machine. Set `size` to sizeof(rynd_machine) before it is given to a function that fills it. */
typedef struct rynd_machine {
    size_t size;
    rynd_machine_origin origin;
    char vendor[16];           /**< "AuthenticAMD"; "" where it is not known */
    char name[64];             /**< as the processor gives it: "AMD EPYC" is several of them */
    char architecture[32];     /**< "Zen 4"; "unknown" */
    char isa[16];              /**< the best instruction set that kernels may use: "avx512" */
    int family, model;         /**< of x86; the implementer and the part of Arm */
    unsigned cores;            /**< of the machine, whichever of them a process may use */
    unsigned vector_bytes;     /**< of a vector of `isa` */
    unsigned vector_registers; /**< of `isa` */
    unsigned line_bytes;       /**< of a cache line */
    /** of a page that large blocks are given when they ask for it; 0: none */
    size_t huge_page_bytes;
    /** operations a second, a product and a sum counted as two; bf16, int8: summed in float32,
     * int32 */
    rynd_rate f32, bf16, int8;
    rynd_memory_level level[RYND_LEVELS];
    double task_seconds; /**< of taking a task */
    /** of sending all threads into a step and waiting for the last of them */
    double region_seconds;
    double disturbance; /**< of a measurement: the share of its time that other work took, 0 to 1 */
    unsigned group_items; /**< of a GPU: work-items of a work-group at most; 0: no GPU */
    unsigned step_items;  /**< of a GPU: work-items that take each step together; 1: a processor */
    unsigned unit_groups; /**< of a GPU: work-groups that a compute unit works at at once */
    size_t local_bytes;   /**< of a GPU: of a work-group's local memory at most */
    int fp16, fp64, subgroups; /**< of a GPU: has it such arithmetic, and sub-groups? 1 or 0 */
    /** of a GPU: has it units that multiply matrices of f16, bf16 and tf32 (tensor cores), which
     * `bf16` is then the rate of? 1 or 0 */
    int matrix_units;
    /** what measured `watts`: "rapl"; "": there is no meter, and nothing is known of energy */
    char meter[16];
    /** of the whole processor while one thread, or all, multiply and add; 0: not known */
    rynd_rate watts;
} rynd_machine;

/** Above this disturbance a measurement says nothing: rynd_context_keep_machine refuses it. */
#define RYND_DISTURBANCE_LIMIT 0.1

/** The machine that a context's plans are made for. Any thread. Fails with ARGUMENT. */
RYND_API rynd_status rynd_context_get_machine(const rynd_context *context, rynd_machine *machine);

/** Is told what share of a measurement is done, 0 to 1, from the thread that measures. */
typedef void (*rynd_progress)(void *user, double done);

/** How to measure. Set `size` to sizeof(rynd_measure_options) and everything else that is not
 * wanted to 0. */
typedef struct rynd_measure_options {
    size_t size;
    /** to take at most; one round of all figures, a second or two, is taken in any case. 0: 28 */
    double seconds;
    rynd_progress progress; /**< NULL: nobody is told */
    void *user;
} rynd_measure_options;

/** Measures the context's device: the CPU on the context's threads, another by kernels of its own.
 * Five rounds of all figures, and more where other work is in the way, as long as there is time.
 * `disturbance` says how much of it there was. options NULL: all defaults. One thread at a time.
 * Fails with ARGUMENT, OUT_OF_MEMORY, UNSUPPORTED. */
RYND_API rynd_status rynd_context_measure(rynd_context *context,
                                          const rynd_measure_options *options,
                                          rynd_machine *machine);

/** Keeps what was measured for contexts that are made later on a processor of this vendor, family
 * and model with this instruction set and number of cores, or on a device of this name and number
 * of units, in the file that RYND_PROFILE names, or
 * in rynd/ under XDG_CACHE_HOME or HOME/.cache. *path (may be NULL) receives its name, which lives
 * as long as the context. One thread at a time. Fails with ARGUMENT (disturbed; not as many threads
 * as cores; RYND_PROFILE is off; a rate is no number), IO. */
RYND_API rynd_status rynd_context_keep_machine(rynd_context *context, const rynd_machine *machine,
                                               const char **path);

/** Writes a machine to a file, whole or not at all: text, a name and whole numbers a line. Any
 * thread. Fails with ARGUMENT, IO. */
RYND_API rynd_status rynd_machine_save(const rynd_machine *machine, const char *path);

/** Reads one. Fails with ARGUMENT, IO, FORMAT (naming the file and the line). Any thread. */
RYND_API rynd_status rynd_machine_load(const char *path, rynd_machine *machine);

#ifdef __cplusplus
}
#endif
#endif
