/* SPDX-License-Identifier: Apache-2.0 */
/** @file wisdom.h
 *  @brief What was measured, kept across runs, processes and machines.
 *
 *  A context has a file of records (rynd_context_options.wisdom). A record says how long a kernel
 * in one form takes for a problem, with a number of threads, on a machine. Plans and operators that
 *  are made with the context take the kernel and form of least median among the records of their
 *  problem, threads and machine whose kernel this library has, compiled from the same source; what
 *  the caller sets (rynd_setting) goes before. Tuning writes records, and so do the functions here;
 *  docs/tuning.md has the file's tables and the lines that are exported.
 *
 *  Any number of threads and processes may use a file at once. One that cannot be used (damaged,
 *  another program's, of a later version, on a network's file system) or written is not touched:
 *  the context then keeps records in memory, says so once through its log, and functions that would
 *  write the file fail with IO. Of a context without wisdom ("off") there are no records, and those
 *  that would write fail with ARGUMENT, as those of a frozen one do. Any thread may call these
 *  functions. */
#ifndef RYND_WISDOM_H
#define RYND_WISDOM_H

#include <rynd/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A record. */
typedef struct rynd_wisdom_record {
    size_t size;         /**< sizeof(rynd_wisdom_record) */
    const char *machine; /**< vendor, family, model, instruction set, cores, device, as words */
    const char *problem; /**< canonical text, accuracy included */
    unsigned constants;  /**< bit i: input i keeps its value */
    unsigned threads;
    const char *kernel;
    const char *form;     /**< its knobs: "mr=14 nr=32"; "" where it has none */
    uint64_t source;      /**< a hash of what the kernel was compiled from, and how */
    const char *rejected; /**< why the form is never to be taken ("wrong: ..."); NULL: it may be */
    int64_t samples;      /**< 0 where it was rejected before it was timed */
    double mean, variance, median, min, max; /**< seconds; the variance is the sample's (n-1) */
    double predicted;                        /**< seconds; 0: not known */
    int64_t time;                            /**< when it was measured: seconds since 1970 */
    int here;    /**< 1: it is of the context's machine (of the CPU's beside a device, too) */
    int current; /**< 1: this library has the kernel, compiled from the same source */
    int cold;    /**< 1: constants (weights) came from memory in each run; 0: from the caches */
} rynd_wisdom_record;

/** Which records. Set `size` to sizeof(rynd_wisdom_filter) and what is not wanted to NULL. A text
 * with a '*', '?' or '[' must match the whole (fnmatch(3)), any other must be found in it. */
typedef struct rynd_wisdom_filter {
    size_t size;
    const char *machine, *kernel, *problem;
} rynd_wisdom_filter;

/** Is given each record; its texts live during the call, in which the context's wisdom may not be
 * used and nothing planned. What is not 0 ends it. */
typedef int (*rynd_wisdom_visitor)(void *user, const rynd_wisdom_record *record);

/** Visits the records of a filter (NULL: all), sorted by machine, problem, constants, threads,
 * kernel, form and source. Fails with ARGUMENT, IO, OUT_OF_MEMORY, CANCELLED (the visitor ended
 * it).
 */
RYND_API rynd_status rynd_wisdom_show(rynd_context *context, const rynd_wisdom_filter *filter,
                                      rynd_wisdom_visitor visit, void *user);

/** Writes a record as the line that rynd_wisdom_export writes, without the line's end: at most
 * `size` bytes with the final NUL; `to` may be NULL where size is 0. *length receives the length of
 * the whole, without the NUL. Fails with ARGUMENT (a field that no record may have), OUT_OF_MEMORY.
 */
RYND_API rynd_status rynd_wisdom_format(const rynd_wisdom_record *record, char *to, size_t size,
                                        size_t *length);

/** Writes the records of a filter (NULL: all) to a file of JSON Lines, sorted: the same records
 * give the same bytes. Whole or not at all. *count (may be NULL) receives how many. Fails with
 * ARGUMENT, IO, OUT_OF_MEMORY. */
RYND_API rynd_status rynd_wisdom_export(rynd_context *context, const rynd_wisdom_filter *filter,
                                        const char *path, size_t *count);

/** What came of records from elsewhere. */
typedef struct rynd_wisdom_count {
    size_t size;    /**< set by the caller to sizeof(rynd_wisdom_count) */
    size_t read;    /**< records of the file */
    size_t taken;   /**< that were not there, or are preferred to what was */
    size_t foreign; /**< of those read: of other machines than the context's; they are kept, too */
} rynd_wisdom_count;

/** Takes in the records of a file that rynd_wisdom_export wrote, all or none. Of two records of the
 * same problem, constants, threads, machine, kernel, form and source one is kept: that which is
 * rejected, then that of more samples, of less variance, the later one. *count may be NULL. Fails
 * with ARGUMENT, FORMAT (naming the file and the line), IO, OUT_OF_MEMORY. */
RYND_API rynd_status rynd_wisdom_import(rynd_context *context, const char *path,
                                        rynd_wisdom_count *count);

/** The same of another wisdom's file, which is only read. Fails with ARGUMENT, FORMAT,
 * IO, OUT_OF_MEMORY. */
RYND_API rynd_status rynd_wisdom_merge(rynd_context *context, const char *path,
                                       rynd_wisdom_count *count);

/** Forgets the records of a filter (NULL: all), of the file, too. *cleared (may be NULL) receives
 * how many. Fails with ARGUMENT, IO, OUT_OF_MEMORY. */
RYND_API rynd_status rynd_wisdom_clear(rynd_context *context, const rynd_wisdom_filter *filter,
                                       size_t *cleared);

/** What a record says, and what is measured now. */
typedef struct rynd_wisdom_drift {
    size_t size; /**< sizeof(rynd_wisdom_drift) */
    const rynd_wisdom_record *record;
    int64_t samples;         /**< taken now */
    double median, min, max; /**< of them, seconds */
    double ratio;            /**< median now by median then */
    size_t index, count;     /**< of all that are measured */
} rynd_wisdom_drift;

/** Is given each record that was measured again; what is not 0 ends it. */
typedef int (*rynd_wisdom_drift_visitor)(void *user, const rynd_wisdom_drift *drift);

/** How to check. Set `size` to sizeof(rynd_wisdom_check_options) and everything else that is not
 * wanted to 0. */
typedef struct rynd_wisdom_check_options {
    size_t size;
    size_t count;   /**< records to measure at most; 0: 20 */
    double seconds; /**< for each, at least; 0: 0.1 */
    uint64_t seed;  /**< of which are taken; the same give the same */
} rynd_wisdom_check_options;

/** Measures a sample of the records of a filter (NULL: all) again that hold here: of the context's
 * machine and number of threads, of kernels that this library has from the same source, not
 * rejected. Each runs alone, on random inputs, with its constants in memory or in the
 * caches as its record says. Nothing is written. Fails with
 * ARGUMENT, UNSUPPORTED (plans for another machine: nothing can run), IO, OUT_OF_MEMORY, CANCELLED.
 */
RYND_API rynd_status rynd_wisdom_check(rynd_context *context, const rynd_wisdom_filter *filter,
                                       const rynd_wisdom_check_options *options,
                                       rynd_wisdom_drift_visitor visit, void *user);

#ifdef __cplusplus
}
#endif
#endif
