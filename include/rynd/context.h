/* SPDX-License-Identifier: Apache-2.0 */
/** @file context.h
 *  @brief A device, threads and hooks: what everything else is made with. */
#ifndef RYND_CONTEXT_H
#define RYND_CONTEXT_H

#include <rynd/status.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Opaque. May be used by many threads at once, but for what <rynd/machine.h> measures and keeps.
 * Must outlive everything made with it. */
typedef struct rynd_context rynd_context;

/** Memory hooks. `allocate` returns `size` bytes (never 0 asked) aligned to `alignment` (a power of
 * two, at most 64), or NULL; `release` takes what `allocate` returned, or NULL. Both are there, and
 * are called from any thread. */
typedef struct rynd_allocator {
    void *(*allocate)(void *user, size_t size, size_t alignment);
    void (*release)(void *user, void *memory);
    void *user;
} rynd_allocator;

/** The caller's own thread pool: calls `body(body_context, lane)` once for every lane from 0 to
 * lanes-1, on any threads, and returns when all calls have returned. `lanes` is at most `threads`
 * of the options. */
typedef void (*rynd_parallel_for)(void *user, unsigned lanes,
                                  void (*body)(void *body_context, unsigned lane),
                                  void *body_context);

/** Receives the library's messages: level 0 warnings, 1 information, 2 detail. Called from any
 * thread. */
typedef void (*rynd_log)(void *user, int level, const char *message);

/** Options. Set `size` to sizeof(rynd_context_options) and everything else that is not wanted to 0.
 */
typedef struct rynd_context_options {
    size_t size;
    /** "cpu", "opencl" or "cuda" (the first), "opencl:1" (rynd_device_get_name); NULL: RYND_DEVICE,
     * or "cpu" */
    const char *device;
    unsigned threads; /**< 0: RYND_THREADS, or as many as the process may run on */
    /** best instruction set to use ("generic", "neon", "avx2", "avx512"); NULL: RYND_ISA, or the
     * machine's best */
    const char *isa;
    const rynd_allocator *allocator; /**< copied; NULL: the C library's */
    rynd_parallel_for parallel_for;  /**< NULL: a pool of the context's own */
    void *parallel_for_user;
    rynd_log log; /**< NULL: silent */
    void *log_user;
    /** file of the machine to plan for, of any machine (rynd/machine.h); NULL: RYND_PROFILE, the
     * one that is kept, or what is built in. With one, a device that is not here can be planned
     * for: its plans and operators are looked at, and run nothing */
    const char *profile;
    /** file of measured records that choices are made by (rynd/wisdom.h), or "off"; NULL:
     * RYND_WISDOM, or rynd/wisdom.db under XDG_CACHE_HOME or HOME/.cache */
    const char *wisdom;
    /** 1: the wisdom is taken as it is when the context is made, and never written; nothing is
     * measured for it. 0: as RYND_FREEZE says, where that is 1 */
    int frozen;
} rynd_context_options;

/** How many devices there are: the CPU, every device of every OpenCL platform, every NVIDIA GPU
 * that CUDA has. Any thread. */
RYND_API size_t rynd_device_count(void);

/** Writes what rynd_context_options.device takes for a device, "cpu" or "opencl:0". Fails with
 * ARGUMENT (no such device, or too little room: 16 bytes are enough). Any thread. */
RYND_API rynd_status rynd_device_get_name(size_t index, char *name, size_t size);

/** Makes a context. options NULL: all defaults. Fails with ARGUMENT (unknown device or isa),
 * DEVICE (it is not there, or what it needs is not installed), OUT_OF_MEMORY. The caller destroys
 * it. */
RYND_API rynd_status rynd_context_create(const rynd_context_options *options,
                                         rynd_context **context);

/** Frees a context; NULL is allowed. Everything made with it must be gone. */
RYND_API void rynd_context_destroy(rynd_context *context);

/** What a context runs on. Strings live as long as the context. */
typedef struct rynd_device_info {
    size_t size;        /**< set by the caller to sizeof(rynd_device_info) */
    const char *device; /**< "cpu", "opencl", "cuda" */
    const char *name;   /**< "AMD EPYC 7763" */
    const char *isa;    /**< "avx512"; "" where it is not a CPU */
    unsigned threads;
    unsigned cores; /**< that the process may use */
    /** the file of the machine that plans are made for; NULL: there was none, built-in rates are
     * used */
    const char *profile;
    /** the machine that plans are made for, as records of wisdom name it */
    const char *fingerprint;
    const char *wisdom; /**< the file of measured records; NULL: there is none */
    int frozen;         /**< 1: it is read as it was when the context was made, and never written */
} rynd_device_info;

/** Fails with ARGUMENT. */
RYND_API rynd_status rynd_context_get_info(const rynd_context *context, rynd_device_info *info);

/** The library's version, "0.1.0". */
RYND_API const char *rynd_version(void);

#ifdef __cplusplus
}
#endif
#endif
