/* SPDX-License-Identifier: Apache-2.0 */
/** @file context.h
 *  @brief A device with threads, memory hooks and a log; everything else is made with it. */
#ifndef RYND_CONTEXT_H
#define RYND_CONTEXT_H

#include <rynd/status.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Opaque. Many threads may use it at once, except for the measurements and checks of
 * <rynd/machine.h> and <rynd/check.h>. It must outlive everything made with it. */
typedef struct rynd_context rynd_context;

/** Memory hooks; both are required, and are called from any thread. */
typedef struct rynd_allocator {
    /** Returns `size` bytes (at least 1) aligned to `alignment` (a power of two, at most 64), or
     * NULL. */
    void *(*allocate)(void *user, size_t size, size_t alignment);
    /** Frees a result of `allocate`, or nothing for NULL. */
    void (*release)(void *user, void *memory);
    void *user;
} rynd_allocator;

/** The caller's own thread pool: calls `body(body_context, lane)` once for every lane from 0 to
 * lanes - 1, on any threads, and returns after all calls returned. `lanes` is at most `threads` of
 * the options. */
typedef void (*rynd_parallel_for_function)(void *user, unsigned lanes,
                                           void (*body)(void *body_context, unsigned lane),
                                           void *body_context);

/** Receives the library's messages: level 0 warnings, 1 information, 2 detail. Called from any
 * thread. */
typedef void (*rynd_log_function)(void *user, int level, const char *message);

/** Options of rynd_context_create. */
typedef struct rynd_context_options {
    size_t size;
    /** "cpu", "opencl" or "cuda" (its first device), "opencl:1" (rynd_device_get_name). NULL: the
     * environment's RYND_DEVICE, or "cpu". */
    const char *device;
    unsigned threads; /**< 0: RYND_THREADS, or one for each core that the process may use */
    /** Best instruction set to use ("generic", "neon", "avx2", "avx512"). NULL: RYND_ISA, or the
     * machine's best. */
    const char *isa;
    const rynd_allocator *allocator;         /**< copied; NULL: the C library's */
    rynd_parallel_for_function parallel_for; /**< NULL: the context starts its own threads */
    void *parallel_for_user;
    rynd_log_function log; /**< NULL: silent */
    void *log_user;
    /** Machine file to plan for, also of another machine (<rynd/machine.h>), or the name of a card
     * (rynd_card_get), where no file has this name. NULL: RYND_MACHINE,
     * the file kept for this machine, or built-in rates. With a file, plans and operators for a
     * missing device can be made and inspected, but not run. */
    const char *machine;
    /** File of measured kernel times (<rynd/wisdom.h>), or "off". NULL: RYND_WISDOM, or
     * rynd/wisdom.db under XDG_CACHE_HOME or HOME/.cache. */
    const char *wisdom;
    /** 1: reads the wisdom once, when the context is made, and never writes or measures. 0: as
     * RYND_FREEZE says (1: frozen). */
    int frozen;
} rynd_context_options;

/** Number of devices: the CPU, each device of each OpenCL platform, each NVIDIA GPU that CUDA
 * finds. Any thread. */
RYND_API size_t rynd_device_count(void);

/** Writes the name of a device for rynd_context_options.device: "cpu", "opencl:0". `size` is the
 * room in bytes; 16 are enough. Any thread. */
RYND_API rynd_status rynd_device_get_name(size_t index, char *name, size_t size);

/** Makes a context; the caller destroys it. options NULL: all defaults. Fails with DEVICE (the
 * device or its driver is missing), OUT_OF_MEMORY. Any thread. */
RYND_API rynd_status rynd_context_create(const rynd_context_options *options,
                                         rynd_context **context);

/** Frees a context. Everything made with it must be gone. */
RYND_API void rynd_context_destroy(rynd_context *context);

/** The device and settings of a context. */
typedef struct rynd_device_info {
    size_t size;
    const char *device; /**< "cpu", "opencl", "cuda" */
    const char *name;   /**< "AMD EPYC 7763" */
    const char *isa;    /**< "avx512"; "" for a GPU */
    unsigned threads;
    unsigned cores;          /**< cores that the process may use */
    const char *machine;     /**< machine file that plans are made for; NULL: built-in rates */
    const char *fingerprint; /**< this machine's name in wisdom records */
    const char *wisdom;      /**< file of measured times; NULL: none */
    int frozen;              /**< 1: the wisdom was read once and is never written */
} rynd_device_info;

/** Describes a context. Any thread. */
RYND_API rynd_status rynd_context_get_info(const rynd_context *context, rynd_device_info *info);

/** Frees memory that the library gave to the caller, such as rynd_model_save_memory's. memory NULL:
 * nothing happens. Any thread. */
RYND_API void rynd_memory_free(rynd_context *context, void *memory);

#ifdef __cplusplus
}
#endif
#endif
