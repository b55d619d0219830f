/* SPDX-License-Identifier: Apache-2.0 */
/* Wisdom: what was measured, kept across runs and processes in one SQLite file (wisdom_schema.c has
 * its tables).
 *
 * A record says how long a kernel in one form takes for a key: a problem, which of its inputs keep
 * their values, a number of threads, a machine. Kernels and forms are texts here; what they mean is
 * the caller's to know. A wisdom may be used by any number of threads at once, and a file by any
 * number of processes. NULL in the place of a wisdom: nothing is known, nothing is kept.
 *
 * A file is opened when it is first needed, and made by the first record that is put. One that
 * cannot be used (damaged, not a wisdom, of a later version, on a network's file system) or not
 * written (read-only, disk full, locked for long) is not touched: from then on records are kept in
 * memory only, beside those that could be read, and one warning says so. What a file holds is not
 * trusted: a row that is not as ry_wisdom_put would have written it is as good as none. */
#ifndef RY_WISDOM_WISDOM_H
#define RY_WISDOM_WISDOM_H

#include "base/memory.h"
#include "base/status.h"
#include "machine/machine.h"

/* Bytes, each with its NUL. Texts are printable ASCII. */
enum {
    RY_WISDOM_FINGERPRINT = 192,
    RY_WISDOM_PATH = 1024,
    RY_WISDOM_PROBLEM = 16384,
    RY_WISDOM_KERNEL = 128,
    RY_WISDOM_FORM = 512,
    RY_WISDOM_REJECTED = 256,
};

/* Seconds after which a lookup that finds something looks again whether the file has changed; one
 * that finds nothing always looks. */
#define RY_WISDOM_REFRESH 0.05

typedef struct ry_wisdom ry_wisdom;

typedef struct ry_wisdom_key {
    const char *problem; /* ry_problem_print, accuracy included */
    unsigned constants;  /* bit i: input i keeps its value */
    unsigned threads;
    const char *machine; /* ry_wisdom_fingerprint */
} ry_wisdom_key;

typedef struct ry_wisdom_record {
    const char *kernel;
    const char *form;     /* complete, as ry_form_print */
    uint64_t source;      /* what the kernel was compiled from: ry_kernel_source */
    const char *rejected; /* NULL, or why it is never to be taken: "wrong: ..." */
    int64_t samples;      /* 0 only where it is rejected */
    double mean, variance, median, min, max; /* seconds */
    double predicted;                        /* seconds; 0: not known */
    int64_t time;                            /* seconds since 1970 */
    unsigned cold; /* 1: constants came from memory in each run; 0: from the caches, if they fit */
} ry_wisdom_record;

/* Writes a machine's fingerprint: vendor, family, model, instruction set, cores and the kind or
 * name of the device, as ASCII words. Machines with equal fingerprints share their records. */
void ry_wisdom_fingerprint(const ry_machine *machine, char text[RY_WISDOM_FINGERPRINT]);

/* Where wisdom is kept: `given`, or where that is NULL RYND_WISDOM, or rynd/wisdom.db under
 * XDG_CACHE_HOME or HOME/.cache. false: nowhere, as with "off"; path is "" then. */
bool ry_wisdom_path(const char *given, char path[RY_WISDOM_PATH]);

/* path NULL: in memory only. frozen: what the file holds when it is opened is all that is ever
 * known, and nothing is put. Fails with OUT_OF_MEMORY and ARGUMENT (too long a path) only. */
rynd_status ry_wisdom_open(const char *path, bool frozen, const ry_allocator *allocator,
                           ry_wisdom **wisdom, ry_error *error);
void ry_wisdom_close(ry_wisdom *wisdom);

/* Who is told, once, that records are kept in memory only, and why. From any thread that uses the
 * wisdom, which the function may not do. Set before it is used. */
void ry_wisdom_on_warning(ry_wisdom *wisdom, void (*warn)(void *user, const char *message),
                          void *user);

/* Why the file is not used, found out now; NULL: it is, or there is none. Lives as long as the
 * wisdom. */
const char *ry_wisdom_failure(ry_wisdom *wisdom);

/* Opens the file now: a frozen wisdom knows what it holds then. */
void ry_wisdom_load(ry_wisdom *wisdom);

/* The record of least median that is not rejected and for which `known(user, record)` says that
 * this build has kernel and source; false: none. `known` may not use the wisdom. Texts go into the
 * arena. Records of other processes are seen RY_WISDOM_REFRESH seconds later at most. */
bool ry_wisdom_best(ry_wisdom *wisdom, const ry_wisdom_key *key,
                    bool (*known)(void *user, const ry_wisdom_record *record), void *user,
                    ry_arena *arena, ry_wisdom_record *record);

/* Keeps records, those of one call all or none; they replace those of the same key, kernel, form
 * and source. Fails with ARGUMENT (a text or a number that no record may have; a frozen wisdom),
 * OUT_OF_MEMORY. */
rynd_status ry_wisdom_put(ry_wisdom *wisdom, const ry_wisdom_key *key,
                          const ry_wisdom_record *records, size_t count, ry_error *error);

/* A kernel whose records are forgotten. */
typedef struct ry_wisdom_kernel {
    const char *kernel;
    uint64_t source; /* hash of the kernel's source; 0: any */
} ry_wisdom_kernel;

/* The same, but what the key has of these kernels is forgotten with it: what was measured at
 * another time, beside other load, is not compared with what is measured now. */
rynd_status ry_wisdom_replace(ry_wisdom *wisdom, const ry_wisdom_key *key,
                              const ry_wisdom_kernel *kernels, size_t kernel_count,
                              const ry_wisdom_record *records, size_t count, ry_error *error);

/* Takes the lease of a key for so many seconds, so that two do not measure the same thing; false:
 * another has it (a thread of this process, too), or the wisdom is frozen. A lease ends by
 * ry_wisdom_disclaim, when its time is over, and when the process that took it on this host is
 * gone. NULL, and where leases cannot be kept: true. */
bool ry_wisdom_claim(ry_wisdom *wisdom, const ry_wisdom_key *key, int64_t seconds);
void ry_wisdom_disclaim(ry_wisdom *wisdom, const ry_wisdom_key *key);

/* Which records: texts that must be found within machine, kernel and problem, or be matched by them
 * as a whole where they have a '*', '?' or '[' (as fnmatch(3) has it). NULL: any. */
typedef struct ry_wisdom_filter {
    const char *machine, *kernel, *problem;
} ry_wisdom_filter;

/* Calls `visit` for each record, in the order of machine, problem, constants, threads, kernel,
 * form, source, until one call does not return OK: its status is returned. Texts live during the
 * call, in which the wisdom may not be used. filter NULL: all. Fails with OUT_OF_MEMORY, too, and
 * with IO for a file of which nothing can be read. */
typedef rynd_status (*ry_wisdom_visitor)(void *user, const ry_wisdom_key *key,
                                         const ry_wisdom_record *record, ry_error *error);
rynd_status ry_wisdom_visit(ry_wisdom *wisdom, const ry_wisdom_filter *filter,
                            ry_wisdom_visitor visit, void *user, ry_error *error);

/* Forgets records. Fails with ARGUMENT (frozen), IO (the file cannot be written: nothing is
 * forgotten), OUT_OF_MEMORY. */
rynd_status ry_wisdom_clear(ry_wisdom *wisdom, const ry_wisdom_filter *filter, size_t *cleared,
                            ry_error *error);

/* A record from elsewhere. */
typedef struct ry_wisdom_row {
    ry_wisdom_key key;
    ry_wisdom_record record;
} ry_wisdom_row;

/* Keep `a` rather than `b`, two records of one key, kernel, form and source? Rejected records win,
 * then more samples, less variance, later records, smaller medians. */
bool ry_wisdom_prefers(const ry_wisdom_record *a, const ry_wisdom_record *b);

/* Keeps each row that is preferred to what is there; *taken counts them. All or none. Fails with
 * ARGUMENT (frozen), IO (the file cannot be written: nothing is taken), OUT_OF_MEMORY. */
rynd_status ry_wisdom_merge(ry_wisdom *wisdom, const ry_wisdom_row *rows, size_t count,
                            size_t *taken, ry_error *error);

/* What is wrong with a key and a record, as a text; NULL: nothing. */
const char *ry_wisdom_complaint(const ry_wisdom_key *key, const ry_wisdom_record *record);

#endif
