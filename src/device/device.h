/* SPDX-License-Identifier: Apache-2.0 */
/* A device: what exec/ and plan/ know of the machine that computes. Memory may be the device's own:
 * nothing above this header dereferences a ry_buffer's content.
 *
 * A buffer is a range of device memory; a ry_pointer is a location in one. A stream runs launches and
 * copies in order, and functions that put something into one may return before it is done: host
 * memory that is copied is the stream's until `synchronize`, or an event behind the copy, has
 * returned. The CPU's stream does everything before the function returns, on the context's threads.
 */
#ifndef RY_DEVICE_DEVICE_H
#define RY_DEVICE_DEVICE_H

#include "base/memory.h"
#include "base/status.h"

/* The kinds of devices; a kernel is for one of them. OpenCL's and CUDA's kernels are one text. */
typedef enum ry_device_kind { RY_DEVICE_cpu, RY_DEVICE_gpu, RY_DEVICE_KINDS } ry_device_kind;

typedef struct ry_device ry_device;
typedef struct ry_buffer ry_buffer;
typedef struct ry_stream ry_stream;
typedef struct ry_event ry_event;
typedef struct ry_recording ry_recording;
typedef struct ry_gpu_program ry_gpu_program;
typedef struct ry_trace ry_trace;

typedef struct ry_pointer {
    ry_buffer *buffer; /* NULL: absent */
    size_t offset;     /* bytes */
} ry_pointer;

/* Bytes to be repeated in memory that is aligned to them. */
typedef struct ry_pattern {
    unsigned char byte[8];
    unsigned size; /* 1, 2, 4 or 8 */
} ry_pattern;

/* What a launch runs, of the device's kind: on the CPU a function, called once for every task with
 * the launch's `call` as it is and the arguments as pointers; on a GPU compiled entries, one for
 * each phase, given for each argument its buffer and its offset in bytes (0 for one that is
 * absent). */
typedef union ry_program {
    void (*cpu)(const void *call, void *const *arguments, int phase, size_t task, unsigned worker);
    const ry_gpu_program *gpu; /* made by program_create */
} ry_program;

/* What a program of a GPU is compiled from: the dialect of the device, then `defines`, then `text`.
 */
typedef struct ry_gpu_source {
    const char *name;           /* the kernel's, for messages */
    const char *defines, *text; /* `defines`: lines, and functions that are made for the problem */
    int entry_count;
    const char *const *entries; /* the functions that launches run */
} ry_gpu_source;

/* One launch: `phases` rounds of tasks, each round complete before the next begins. */
typedef struct ry_launch {
    const void *call;
    ry_program program;
    int phases;
    const size_t *tasks;
    /* GPU: work-items of a task (a work-group), for each phase; the entry of the first phase, whose
     * successors are those of the next phases */
    const unsigned *group;
    int first_entry;
    /* seconds of each phase on one worker; 0 or NULL: not known */
    const double *seconds;
    int argument_count;
    const ry_pointer *arguments;
    void **resolved; /* room for argument_count pointers, for the device's use during the launch */
} ry_launch;

/* Memory and programs of a device. */
typedef struct ry_device_figures {
    size_t used;           /* bytes of buffers */
    size_t held;           /* used, plus bytes of buffers kept for reuse */
    size_t peak;           /* the most that were used at once */
    size_t total;          /* bytes that the device has; 0: not known */
    size_t compiled, read; /* programs: from source, from files */
} ry_device_figures;

typedef struct ry_device_table {
    ry_device_kind kind;
    const char *name; /* "cpu", "opencl", "cuda" */
    void (*destroy)(ry_device *device);
    /* What the caller's own buffers are made with: cl_context, CUcontext; NULL: a CPU. */
    void *(*native)(ry_device *device);
    /* These two on any thread. */
    void (*figures)(ry_device *device, ry_device_figures *figures);
    /* Gives back what is kept beyond so many bytes. */
    void (*trim)(ry_device *device, size_t keep);

    /* Joules since the last call; the first call gives 0. false: there is no meter, or it cannot be
     * read any more. NULL: no meter (a CPU's: machine/meter.h). One thread at a time. */
    bool (*take_energy)(ry_device *device, double *joules);

    rynd_status (*buffer_create)(ry_device *device, size_t size, ry_buffer **buffer,
                                 ry_error *error);
    /* Host memory as a buffer: the CPU uses it where it is stored; others copy it (read-only for
     * the device), and have done so when this returns. */
    rynd_status (*buffer_wrap)(ry_device *device, const void *host, size_t size, ry_buffer **buffer,
                               ry_error *error);
    /* The same, of other host memory of the same size, for a buffer that buffer_wrap made: it takes
     * no memory. */
    rynd_status (*buffer_rewrap)(ry_device *device, const void *host, ry_buffer *buffer,
                                 ry_error *error);
    /* The caller's memory on the device, as the device's own interface names it (cl_mem,
     * CUdeviceptr, a pointer), and which it keeps; `size`: bytes that are used. */
    rynd_status (*buffer_import)(ry_device *device, void *native, size_t size, ry_buffer **buffer,
                                 ry_error *error);
    void *(*buffer_native)(ry_buffer *buffer);                    /* the same name */
    void (*buffer_destroy)(ry_device *device, ry_buffer *buffer); /* NULL is allowed */
    void *(*buffer_address)(ry_buffer *buffer);                   /* host_memory only */

    /* Host memory, aligned to RY_ALIGNMENT, that the device copies from and to without a detour. */
    rynd_status (*host_take)(ry_device *device, size_t size, void **memory, ry_error *error);
    void (*host_give_back)(ry_device *device, void *memory); /* NULL is allowed */

    /* Compiles, or finds what was compiled from the same source. NULL: the device runs functions.
     */
    rynd_status (*program_create)(ry_device *device, const ry_gpu_source *source,
                                  ry_program *program, ry_error *error);
    void (*program_destroy)(ry_device *device, ry_program program); /* no program is allowed */
    /* How many work-items a group of the entry may have, as the driver built it; 0: not known. */
    unsigned (*program_items)(ry_program program, int entry);

    rynd_status (*stream_create)(ry_device *device, ry_stream **stream, ry_error *error);
    void (*stream_destroy)(ry_device *device, ry_stream *stream);
    /* Events that are recorded from now on have the device's time, or no longer; the stream is off
     * when it is made, for time slows some drivers down. Waits for the stream. NULL: they have it
     * always. */
    rynd_status (*stream_time)(ry_stream *stream, bool on, ry_error *error);
    /* Launches add their workers' spans to `trace` (device/trace.h) until it is NULL. NULL: the
     * device does not know its workers. */
    void (*stream_trace)(ry_stream *stream, ry_trace *trace);
    rynd_status (*upload)(ry_stream *stream, ry_pointer to, const void *host, size_t size,
                          ry_error *error);
    rynd_status (*download)(ry_stream *stream, void *host, ry_pointer from, size_t size,
                            ry_error *error);
    rynd_status (*copy)(ry_stream *stream, ry_pointer to, ry_pointer from, size_t size,
                        ry_error *error); /* that do not overlap */
    /* Repeats a pattern, which is read before this returns, over `size` bytes: a multiple of it. */
    rynd_status (*fill)(ry_stream *stream, ry_pointer to, ry_pattern pattern, size_t size,
                        ry_error *error);
    rynd_status (*launch)(ry_stream *stream, const ry_launch *launch, ry_error *error);
    rynd_status (*synchronize)(ry_stream *stream, ry_error *error);

    /* Launches as one thing that is put into a stream again and again, with the addresses that they
     * had. NULL, all of them: the device has no such thing; `records` false: not this one. Between
     * begin and end, on one thread, launches of the stream are kept and not run, and nothing else
     * may be put into it; each begin that was well has its end, which gives no recording where it
     * fails. */
    bool (*records)(ry_device *device);
    rynd_status (*record_begin)(ry_stream *stream, ry_error *error);
    rynd_status (*record_end)(ry_stream *stream, ry_recording **recording, ry_error *error);
    /* places: all the memory that the launches use. */
    rynd_status (*replay)(ry_stream *stream, const ry_recording *recording,
                          const ry_pointer *pointers, int count, ry_error *error);
    /* No stream may still run the recording; NULL is allowed. */
    void (*recording_destroy)(ry_device *device, ry_recording *recording);

    rynd_status (*event_create)(ry_device *device, ry_event **event, ry_error *error);
    void (*event_destroy)(ry_device *device, ry_event *event);
    rynd_status (*event_record)(ry_stream *stream, ry_event *event, ry_error *error);
    /* What is put into the stream from now on begins when the event has come. One that was not
     * recorded is not waited for; ARGUMENT where it is another device's. */
    rynd_status (*event_await)(ry_stream *stream, const ry_event *event, ry_error *error);
    rynd_status (*event_synchronize)(const ry_event *event, ry_error *error); /* the caller waits */
    rynd_status (*event_done)(const ry_event *event, bool *done, ry_error *error);
    /* Between two that were recorded while their streams had the time; waits for both. ARGUMENT
     * where one was not. */
    rynd_status (*event_elapsed)(const ry_event *from, const ry_event *to, double *seconds,
                                 ry_error *error);
} ry_device_table;

struct ry_device {
    const ry_device_table *table;
    const ry_allocator *allocator;
    /* the CPU beside it, which folds constants and runs what the device cannot; a CPU's own */
    ry_device *host;
    unsigned isa; /* cpu: the best ry_isa of the CPU */
    /* ISA of plans. A better one than `isa` plans for another machine: such plans never run. */
    unsigned planned_isa;
    /* buffers are host memory: buffer_wrap does not copy, and buffer_address gives pointers */
    bool host_memory;
    const struct rynd_machine *machine; /* rates and costs; lives as long as the device */
    /* kernels that a check refused here (kernels/refusals.h); NULL: none. As long as the device */
    const struct ry_refusals *refusals;
    unsigned workers; /* how many workers a launch may use at once: scratch is sized by it */
    char name[64];
};

/* Fills memory with zeros. */
static inline rynd_status ry_device_clear(const ry_device *device, ry_stream *stream, ry_pointer to,
                                          size_t size, ry_error *error)
{
    return device->table->fill(stream, to, (ry_pattern){{0}, 1}, size, error);
}

#endif
