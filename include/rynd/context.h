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

/** Opaque. May be used by many threads at once, but for rynd_context_keep_peaks. Must outlive everything made with it. */
typedef struct rynd_context rynd_context;

/** Memory hooks. `allocate` returns `size` bytes (never 0 asked) aligned to `alignment` (a power of two, at most 64), or NULL; `release` takes what `allocate`
 *  returned, or NULL. Both are there, and are called from any thread. */
typedef struct rynd_allocator {
    void *(*allocate)(void *user, size_t size, size_t alignment);
    void (*release)(void *user, void *memory);
    void *user;
} rynd_allocator;

/** The caller's own thread pool: calls `body(body_context, lane)` once for every lane from 0 to lanes-1, on any threads, and returns when all calls
 *  have returned. `lanes` is at most `threads` of the options. */
typedef void (*rynd_parallel_for)(void *user, unsigned lanes, void (*body)(void *body_context, unsigned lane), void *body_context);

/** Receives the library's messages: level 0 warnings, 1 information, 2 detail. Called from any thread. */
typedef void (*rynd_log)(void *user, int level, const char *message);

/** Options. Set `size` to sizeof(rynd_context_options) and everything else that is not wanted to 0. */
typedef struct rynd_context_options {
    size_t size;
    const char *device; /**< "cpu"; NULL: "cpu" */
    unsigned threads;   /**< 0: RYND_THREADS, or as many as the process may run on */
    const char *isa;    /**< best instruction set to use ("generic", "neon", "avx2", "avx512"); NULL: RYND_ISA, or the machine's best */
    const rynd_allocator *allocator; /**< copied; NULL: the C library's */
    rynd_parallel_for parallel_for;  /**< NULL: a pool of the context's own */
    void *parallel_for_user;
    rynd_log log; /**< NULL: silent */
    void *log_user;
} rynd_context_options;

/** Makes a context. options NULL: all defaults. Fails with ARGUMENT (unknown device or isa), DEVICE, OUT_OF_MEMORY. The caller destroys it. */
RYND_API rynd_status rynd_context_create(const rynd_context_options *options, rynd_context **context);

/** Frees a context; NULL is allowed. Everything made with it must be gone. */
RYND_API void rynd_context_destroy(rynd_context *context);

/** What a context runs on. Strings live as long as the context. */
typedef struct rynd_device_info {
    size_t size;        /**< set by the caller to sizeof(rynd_device_info) */
    const char *device; /**< "cpu" */
    const char *name;   /**< "AMD EPYC 7763" */
    const char *isa;    /**< "avx512" */
    unsigned threads;
    unsigned cores;      /**< that the process may use */
    const char *profile; /**< the file whose measured rates predictions use; NULL: there was none, they use built-in rates */
} rynd_device_info;

/** Fails with ARGUMENT. */
RYND_API rynd_status rynd_context_info(const rynd_context *context, rynd_device_info *info);

/** What a device reaches, measured: operations and bytes a second, best of several short runs. The cache sizes are a core's for l1 and l2, and the whole for l3; a level that
 *  the machine does not have (or does not tell of) has 0 for its size and its bandwidth. */
typedef struct rynd_device_peaks {
    size_t size;                       /**< set by the caller to sizeof(rynd_device_peaks) */
    double f32_one_thread, f32;        /**< float32 multiply-adds, counted as two, on one and on all of the context's threads */
    size_t l1, l2, l3;                 /**< bytes of cache */
    double bandwidth_l1, bandwidth_l2; /**< reading, all threads, each its own share */
    double bandwidth_l3, bandwidth_dram;
    double bf16_one_thread,
        bf16; /**< bfloat16 products summed in float32, a product and a sum counted as two, by the kernels that this machine gets */
    double bandwidth_l1_one_thread, bandwidth_l2_one_thread, bandwidth_l3_one_thread, bandwidth_dram_one_thread;
} rynd_device_peaks;

/** Measures the device on the context's threads; takes about two seconds, in which nothing else should run. Fails with ARGUMENT, OUT_OF_MEMORY, UNSUPPORTED. */
RYND_API rynd_status rynd_context_measure(rynd_context *context, rynd_device_peaks *peaks);

/** Keeps what was measured, for the predictions of contexts that are made later on a processor of this name with this instruction set and number of cores (of the machine: those that the process may use do not matter). The
 *  file is RYND_PROFILE ("off": none), or lies in rynd/ under XDG_CACHE_HOME or HOME/.cache; it is written whole or not at all. *path (may be
 *  NULL) receives its name, which lives as long as the context. One thread at a time. Fails with ARGUMENT (the context has not as many threads as there are cores that the process may use; RYND_PROFILE is
 *  off; a rate is no number, or 0 for f32 or dram), IO. */
RYND_API rynd_status rynd_context_keep_peaks(rynd_context *context, const rynd_device_peaks *peaks, const char **path);

/** The library's version, "0.1.0". */
RYND_API const char *rynd_version(void);

#ifdef __cplusplus
}
#endif
#endif
