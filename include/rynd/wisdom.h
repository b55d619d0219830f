/* SPDX-License-Identifier: Apache-2.0 */
/** @file wisdom.h
 *  @brief Experimental (see <rynd/rynd.h>): stored measurements, shared by runs, processes and
 *  machines.
 *
 * A context has a file of records (rynd_context_options.wisdom). A record says how long a kernel in
 * one form takes for a problem, with a number of threads, on a machine. Plans and operators take
 * the form with the least median among the records for their problem, threads and machine whose
 * kernel has unchanged code. The caller's settings (rynd_setting) go first. Tuning writes records;
 * docs/tuning.md describes the tables and exported lines.
 *
 * Any number of threads and processes may use a file at once. A damaged file, another program's, a
 * later version's, or one on a network file system is left alone: the context then keeps records in
 * memory, logs this once, and functions that write the file fail with IO. A context without wisdom
 * ("off") has no records; writing to it, or to a frozen one, fails with ARGUMENT. Any thread may
 * call these functions. */
#ifndef RYND_WISDOM_H
#define RYND_WISDOM_H

#include <rynd/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A record. Times in seconds. */
typedef struct rynd_wisdom_record {
    size_t size;
    const char *machine; /**< vendor, family, model, instruction set, cores, device, as words */
    const char *problem; /**< canonical text, accuracy included */
    unsigned constants;  /**< bit i: input i is constant */
    unsigned threads;
    const char *kernel;
    const char *form;     /**< its knobs: "mr=14 nr=32"; "" */
    uint64_t source;      /**< hash of the kernel's code and compiler */
    const char *rejected; /**< why the form is never used ("wrong: ..."); NULL: it may be used */
    int64_t samples;      /**< 0: rejected before it was timed */
    double mean, variance, median, min, max; /**< the variance is the sample's (n-1) */
    double predicted;                        /**< 0: unknown */
    int64_t time;                            /**< when it was measured: seconds since 1970 */
    int here;    /**< 1: measured on the context's machine, or on the CPU beside the device */
    int current; /**< 1: this library has the kernel with the same source */
    int cold;    /**< 1: constants came from memory in each run; 0: from the caches */
} rynd_wisdom_record;

/** Selects records; NULL fields match all. A text with '*', '?' or '[' must match the whole field
 * (fnmatch(3)); any other text must occur in it. */
typedef struct rynd_wisdom_filter {
    size_t size;
    const char *machine, *kernel, *problem;
} rynd_wisdom_filter;

/** Receives a record, whose texts are valid during the callback. It may not use the wisdom or make
 * plans. Any result but 0 ends the call (CANCELLED). */
typedef int (*rynd_wisdom_record_function)(void *user, const rynd_wisdom_record *record);

/** Calls `visit` for the records of a filter (NULL: all), sorted by machine, problem, constants,
 * threads, kernel, form and source. Fails with IO, OUT_OF_MEMORY, CANCELLED. */
RYND_API rynd_status rynd_wisdom_show(rynd_context *context, const rynd_wisdom_filter *filter,
                                      rynd_wisdom_record_function visit, void *user);

/** Writes a record as a line of rynd_wisdom_export, without the line end: at most `size` bytes, the
 * final NUL included; `to` may be NULL if size is 0. *length receives the length of the whole line
 * without the NUL. Fails with OUT_OF_MEMORY, and with ARGUMENT for a field that no record has. */
RYND_API rynd_status rynd_wisdom_format(const rynd_wisdom_record *record, char *to, size_t size,
                                        size_t *length);

/** Writes the records of a filter (NULL: all) to a JSON Lines file, sorted: the same records give
 * the same bytes. The file appears whole or not at all. *count (optional) receives their number.
 * Fails with IO, OUT_OF_MEMORY. */
RYND_API rynd_status rynd_wisdom_export(rynd_context *context, const rynd_wisdom_filter *filter,
                                        const char *path, size_t *count);

/** Numbers of imported records. */
typedef struct rynd_wisdom_count {
    size_t size;
    size_t read;    /**< records in the file */
    size_t taken;   /**< new records, and replacements of older records */
    size_t foreign; /**< part of `read` from other machines; kept too */
} rynd_wisdom_count;

/** Imports a file of rynd_wisdom_export, all records or none. If two records have the same problem,
 * constants, threads, machine, kernel, form and source, the winner is a rejected one, then the one
 * with more samples, less variance, the later one. `count` is optional. Fails with FORMAT (naming
 * file and line), IO, OUT_OF_MEMORY. */
RYND_API rynd_status rynd_wisdom_import(rynd_context *context, const char *path,
                                        rynd_wisdom_count *count);

/** Imports another wisdom file, which stays unchanged. Fails with FORMAT, IO, OUT_OF_MEMORY. */
RYND_API rynd_status rynd_wisdom_merge(rynd_context *context, const char *path,
                                       rynd_wisdom_count *count);

/** Deletes the records of a filter (NULL: all), in the file too. *cleared (optional) receives their
 * number. Fails with IO, OUT_OF_MEMORY. */
RYND_API rynd_status rynd_wisdom_clear(rynd_context *context, const rynd_wisdom_filter *filter,
                                       size_t *cleared);

/** A record compared with a new measurement. Times in seconds. */
typedef struct rynd_wisdom_drift {
    size_t size; /**< set by the library */
    const rynd_wisdom_record *record;
    int64_t samples;         /**< new samples */
    double median, min, max; /**< statistics of the new samples */
    double ratio;            /**< new median over the record's */
    size_t index, count;     /**< position among the records to measure */
} rynd_wisdom_drift;

/** Receives a record after it was measured again. Any result but 0 ends the call (CANCELLED). */
typedef int (*rynd_wisdom_drift_function)(void *user, const rynd_wisdom_drift *drift);

/** Options of rynd_wisdom_check. */
typedef struct rynd_wisdom_check_options {
    size_t size;
    size_t count;   /**< most records to measure; 0: 20 */
    double seconds; /**< least time for each; 0: 0.1 */
    uint64_t seed;  /**< selects the sample */
} rynd_wisdom_check_options;

/** Measures a sample of a filter's records (NULL: all) again, if they hold here: the context's
 * machine and threads, an unchanged kernel, not rejected. Each runs alone, on random inputs, with
 * constants in memory or in the caches as the record says. Writes nothing. Fails with UNSUPPORTED
 * (the plans are for another machine), IO, OUT_OF_MEMORY, CANCELLED. */
RYND_API rynd_status rynd_wisdom_check(rynd_context *context, const rynd_wisdom_filter *filter,
                                       const rynd_wisdom_check_options *options,
                                       rynd_wisdom_drift_function visit, void *user);

#ifdef __cplusplus
}
#endif
#endif
