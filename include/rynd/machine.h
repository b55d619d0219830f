/* SPDX-License-Identifier: Apache-2.0 */
/** @file machine.h
 *  @brief Experimental (see <rynd/rynd.h>): a device's rates, from which plans are predicted.
 *
 * A machine is plain data: measured here, built in for known micro-architectures, or read from
 * another machine's file. Each context has one (rynd_context_get_machine). */
#ifndef RYND_MACHINE_H
#define RYND_MACHINE_H

#include <rynd/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A rate with one thread, and with all cores; 0: unknown. */
typedef struct rynd_rate {
    double one, all;
} rynd_rate;

/** Levels of the memory, from the core outwards. */
typedef enum rynd_level {
    RYND_LEVEL_L1,
    RYND_LEVEL_L2,
    RYND_LEVEL_L3,
    RYND_LEVEL_DRAM,
    RYND_LEVELS
} rynd_level;

/** A cache level, or main memory. */
typedef struct rynd_memory_level {
    size_t bytes;        /**< size of one cache; 0: absent, unknown, or main memory */
    unsigned shared_by;  /**< cores that share one cache */
    rynd_rate bandwidth; /**< bytes per second in sequential reads; all: each core its own share */
    rynd_rate latency;   /**< seconds per dependent load */
} rynd_memory_level;

/** Source of a machine's rates. */
typedef enum rynd_machine_origin {
    RYND_MACHINE_BUILT_IN, /**< public data of the micro-architecture or instruction set */
    RYND_MACHINE_MEASURED, /**< measured on this machine */
    RYND_MACHINE_IMPORTED, /**< read from a file, perhaps another machine's */
    RYND_MACHINE_ORIGINS
} rynd_machine_origin;

/** Kinds of operations that kernels spend time on beside multiply-adds and bytes. A vector kind
 * counts one operation for each vector. */
typedef enum rynd_kind {
    RYND_KIND_ADD,     /**< any other vector arithmetic: sums, maxima, logic */
    RYND_KIND_DIVIDE,  /**< divisions and roots */
    RYND_KIND_LOAD,    /**< vector loads within a cache line */
    RYND_KIND_SPLIT,   /**< vector loads one float off alignment, which cross cache lines */
    RYND_KIND_GATHER,  /**< single elements loaded into a vector's lanes */
    RYND_KIND_STORE,   /**< vector stores within a cache line */
    RYND_KIND_MASKED,  /**< stores of a vector's first lanes */
    RYND_KIND_PERMUTE, /**< permutations of a vector's lanes */
    RYND_KIND_CONVERT, /**< vectors converted from float16 */
    RYND_KIND_SCALAR,  /**< steps of a loop over a table of integers: load, address, branch */
    RYND_KIND_CHAIN,   /**< multiply-adds that wait for the one before */
    RYND_KIND_CALL,    /**< calls through a pointer */
    RYND_KINDS
} rynd_kind;

/** What energy is counted by, beside time (rynd_machine.energy): operations, a multiply-add counts
 * as two, and bytes. */
typedef enum rynd_energy_kind {
    RYND_ENERGY_F32,    /**< operations on float32 or float64 */
    RYND_ENERGY_BF16,   /**< operations on bfloat16 or float16 */
    RYND_ENERGY_INT8,   /**< operations on bytes */
    RYND_ENERGY_OTHER,  /**< all other work, in float32 operations that take as long */
    RYND_ENERGY_CACHE,  /**< bytes from the shared cache */
    RYND_ENERGY_MEMORY, /**< bytes from memory */
    RYND_ENERGY_KINDS
} rynd_energy_kind;

/** How far the predictions of a family of kernels are off on a machine (rynd_context_calibrate). */
typedef struct rynd_family_error {
    char family[36];   /**< "conv_fwd_f32_winograd": a method at all its instruction sets */
    float factor;      /**< measured over counted time of its arithmetic */
    float spread;      /**< standard deviation of the logarithm of measured over predicted time */
    unsigned problems; /**< problems that both were fitted to */
} rynd_family_error;

enum { RYND_MACHINE_FAMILIES = 64 };

/** A machine. GPU fields are 0 for a CPU. */
typedef struct rynd_machine {
    size_t size;
    rynd_machine_origin origin;
    char vendor[16];           /**< "AuthenticAMD"; "": unknown */
    char name[64];             /**< the processor's own name, which several models may share */
    char architecture[32];     /**< "Zen 4"; "unknown" */
    char isa[16];              /**< best instruction set for kernels: "avx512" */
    int family, model;         /**< x86: family and model; Arm: implementer and part */
    unsigned cores;            /**< all cores, whichever the process may use */
    unsigned vector_bytes;     /**< vector size in `isa` */
    unsigned vector_registers; /**< vector registers in `isa` */
    unsigned line_bytes;       /**< cache line size */
    size_t huge_page_bytes;    /**< size of huge pages for large blocks; 0: unsupported */
    /** Operations per second; a multiply-add counts as two. bf16 sums in float32, int8 in int32. */
    rynd_rate f32, bf16, int8;
    rynd_rate kind[RYND_KINDS]; /**< operations of each kind per second; 0: unknown, taken to grow
                                 * with `f32` */
    rynd_memory_level level[RYND_LEVELS];
    double task_seconds;   /**< time to fetch one task */
    double region_seconds; /**< time to start all threads on a step and wait for the last */
    /** Within a network, by rynd_context_calibrate; 0: built-in coefficients. */
    double network_step; /**< start of a step: code, tables and data that are cold; seconds */
    double network_kept; /**< share of the cores' own caches that still has the last step's data */
    double network_exposed; /**< part of the shorter of arithmetic and memory time that does not
                             * overlap */
    double network_rate;    /**< share of memory's read bandwidth that steps reach */
    /** how disturbed the measurement was, 0 to 1: the larger of the canary's loss (mean over best
     * time of a repeated run) and the share of other work (rynd_competition_since) */
    double disturbance;
    unsigned group_items;      /**< GPU: largest work-group, in work-items */
    unsigned step_items;       /**< GPU: work-items per SIMD step (warp size); 1: a CPU */
    unsigned unit_groups;      /**< GPU: work-groups that a compute unit runs at once */
    size_t local_bytes;        /**< GPU: local memory of a work-group */
    int fp16, fp64, subgroups; /**< GPU: 1 if it supports the arithmetic, or Intel's sub-groups */
    int matrix_units; /**< GPU: 1 if it multiplies matrices of f16, bf16, tf32; `bf16` is then the
                       * rate of these units */
    /** GPU: copies between its memory and the host's; 0: unknown. */
    double upload_rate, download_rate; /**< bytes per second, to the device and from it */
    double copy_seconds;               /**< time of a small copy that the host waits for */
    char meter[16];                    /**< energy meter that measured `watts`: "rapl"; "": none */
    rynd_rate watts;        /**< power of the whole processor during multiply-adds; 0: unknown */
    rynd_rate memory_watts; /**< the same while it reads memory; 0: as `watts` */
    unsigned family_count;  /**< calibrated families; 0: the machine was not calibrated */
    rynd_family_error families[RYND_MACHINE_FAMILIES];
    /** GPU: which work-groups a compute unit runs at once; 0: unknown. */
    unsigned unit_registers; /**< 32-bit registers of a compute unit */
    unsigned unit_items;     /**< most work-items of a compute unit at once */
    unsigned group_units;    /**< compute units of a work-group; 0: one */
    rynd_rate issue;         /**< GPU: instructions of work-items begun per second; 0: unknown */
    double replay_seconds;   /**< GPU: one launch of a recording (CUDA graph); 0: region_seconds */
    double launch_limit;     /**< GPU: longest predicted time of one launch, in seconds; longer
                              * ones are split, so that no watchdog ends them; 0: no limit */
    /** Energy by kind, by rynd_context_calibrate where there is a meter; energy_spread 0: unknown,
     * and energy is `watts` times time. */
    rynd_rate static_watts;           /**< power that no operation or byte changes */
    double energy[RYND_ENERGY_KINDS]; /**< joules per operation or byte, added to it */
    double
        energy_spread; /**< standard deviation of the logarithm of measured over predicted energy */
    double transfer_seconds; /**< time to read a cache line that another core wrote, beyond that of
                              * an own one; 0: unknown */
    double network_region;   /**< by rynd_context_calibrate: time to start all threads within a
                              * network, over `region_seconds`; 0: built-in coefficient */
    double variation; /**< how far the machine's own speed varied while it was calibrated, 0 to 1:
                       * what the canary's mean lost against its first quartile; processors of a
                       * virtual machine share cores with others', which no `disturbance` shows */
} rynd_machine;

/** The largest disturbance that rynd_context_keep_machine accepts. */
#define RYND_DISTURBANCE_LIMIT 0.1

/** Gives the machine that a context plans for. Any thread. */
RYND_API rynd_status rynd_context_get_machine(const rynd_context *context, rynd_machine *machine);

/** Processor seconds since the system's start, for rynd_competition_since; 0: the system does not
 * tell. */
typedef struct rynd_competition {
    size_t size;
    double all;    /**< time of all processors, idle or not */
    double others; /**< taken by other processes, or stolen by a virtual machine's host */
} rynd_competition;

/** Begins to watch how much of the machine other work takes; Linux only, else zeros. Any thread.
 * Fails with ARGUMENT. */
RYND_API rynd_status rynd_competition_begin(rynd_competition *begin);

/** The share of all processors' time since `begin` that other work took, 0 to 1. The system counts
 * in ticks of 10 ms, so watch for a tenth of a second at least. Any thread. */
RYND_API double rynd_competition_since(const rynd_competition *begin);

/** How disturbed repeated runs since `begin` were, 0 to 1: the larger of rynd_competition_since and
 * of what their mean time lost against their best. `rynd bench`, `profile`, `tune`, `devices
 * --measure` and `--calibrate` say it so. Any thread. */
RYND_API double rynd_disturbance_since(const rynd_competition *begin, double best, double mean);

/** Options of rynd_context_measure. */
typedef struct rynd_measure_options {
    size_t size;
    double seconds; /**< time limit; 0: 28. One round of one or two seconds always runs. */
    rynd_progress_function progress; /**< NULL: none */
    void *progress_user;
} rynd_measure_options;

/** Measures the context's device: a CPU with the context's threads, another with its own kernels.
 * Takes five rounds, and more while other work disturbs it and time is left; `disturbance` says how
 * much remained. options NULL: all defaults. One thread at a time. Fails with OUT_OF_MEMORY,
 * UNSUPPORTED, CANCELLED. */
RYND_API rynd_status rynd_context_measure(rynd_context *context,
                                          const rynd_measure_options *options,
                                          rynd_machine *machine);

/** Options of rynd_context_calibrate. */
typedef struct rynd_calibrate_options {
    size_t size;
    double
        seconds; /**< time limit; 0: 90. On a CPU each problem runs at least once; on a device that
                  * compiles programs families take turns until the time is over. */
    rynd_progress_function progress; /**< NULL: none */
    void *progress_user;
} rynd_calibrate_options;

/** A calibrated family. Errors are means of |predicted / measured - 1| over problems that the fit
 * did not see: each third of the problems is predicted by a fit to the other two. */
typedef struct rynd_calibrated_family {
    size_t size;
    const char *family; /**< lives until the context's next calibration */
    unsigned problems;  /**< number of problems */
    unsigned times;     /**< measured times: several kernels and memory states a problem */
    double factor, spread;
    double error_before; /**< with the factor that was known before */
    double error_after;  /**< with the fitted factor */
} rynd_calibrated_family;

/** The fit of energy by kind (rynd_machine.energy). Errors are means of |predicted / measured - 1|
 * over problems that the fit did not see, at their measured time. */
typedef struct rynd_calibrated_energy {
    size_t size;
    const char *meter;   /**< "rapl", "nvml"; "": no meter, all else is 0. Static. */
    unsigned problems;   /**< number of problems whose energy was measured */
    double spread;       /**< standard deviation of the logarithm; 0: the fit was not kept */
    double error_before; /**< error by watts times time */
    double error_after;  /**< error by the fit */
} rynd_calibrated_energy;

/** Times a fixed set of problems of every family of kernels on the context's device, and fits a
 * factor and a spread for each family. Few problems move a factor less than many (shrinkage towards
 * the factor known before). *machine receives the context's machine with these families; keep it
 * with rynd_context_keep_machine. A machine with built-in rates is measured first
 * (rynd_context_measure). `disturbance` covers both. If it is ended, the next one goes on with its
 * times, which are kept beside the machine's file. options NULL: all defaults. One thread at a
 * time, while nothing else runs. Fails with OUT_OF_MEMORY, UNSUPPORTED, DEVICE, CANCELLED. */
RYND_API rynd_status rynd_context_calibrate(rynd_context *context,
                                            const rynd_calibrate_options *options,
                                            rynd_machine *machine);

/** Number of families in the context's last calibration; 0 before it. */
RYND_API size_t rynd_context_calibrated_count(const rynd_context *context);

/** Describes a calibrated family. Any thread, except during a calibration. */
RYND_API rynd_status rynd_context_get_calibrated(const rynd_context *context, size_t index,
                                                 rynd_calibrated_family *family);

/** Describes the fit of energy of the context's last calibration. The fit is kept if it is closer to
 * problems that it did not see than watts times time, and at least eight were metered. Any thread,
 * except during a calibration. */
RYND_API rynd_status rynd_context_get_calibrated_energy(const rynd_context *context,
                                                        rynd_calibrated_energy *energy);

/** Keeps a measured machine for later contexts on the same kind of machine: a processor with equal
 * vendor, family, model, instruction set and cores, or a device with equal name and units. Writes
 * the file that RYND_MACHINE names, or one in rynd/ under XDG_CACHE_HOME or HOME/.cache. *path
 * (optional) receives its name, which lives as long as the context. One thread at a time. Fails
 * with IO, and with ARGUMENT if the machine was disturbed, the threads were fewer than the cores, a
 * rate is no number, or RYND_MACHINE is "off". */
RYND_API rynd_status rynd_context_keep_machine(rynd_context *context, const rynd_machine *machine,
                                               const char **path);

/** Writes a machine to a text file, a name and whole numbers per line. The file appears whole or
 * not at all. Any thread. Fails with IO. */
RYND_API rynd_status rynd_machine_save(const rynd_machine *machine, const char *path);

/** Reads a machine. Any thread. Fails with IO, FORMAT (naming file and line). */
RYND_API rynd_status rynd_machine_load(const char *path, rynd_machine *machine);

/** Gives the index-th card whose machine is built in from public figures: its *name, which
 * rynd_context_options.machine takes ("h100"), the kind of *device that drives it ("cuda",
 * "opencl"), and its machine. Names live for ever. Any thread. Fails with NOT_FOUND past the last
 * card. */
RYND_API rynd_status rynd_card_get(size_t index, const char **name, const char **device,
                                   rynd_machine *machine);

#ifdef __cplusplus
}
#endif
#endif
