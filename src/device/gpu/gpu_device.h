/* SPDX-License-Identifier: Apache-2.0 */
/* What devices beside the CPU have in common, whatever their driver: memory that is kept for the
 * next one who asks for as much (gpu_memory.c), and programs that are compiled once
 * (gpu_programs.c).
 *
 * A device begins with a ry_gpu_device, and its driver is a table of a few functions. */
#ifndef RY_DEVICE_GPU_GPU_DEVICE_H
#define RY_DEVICE_GPU_GPU_DEVICE_H

#include "device/device.h"
#include "device/program_files.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct ry_gpu_device ry_gpu_device;

struct ry_buffer {
    union {
        void *object;     /* OpenCL's */
        uint64_t address; /* CUDA's */
    } memory;
    size_t size;                 /* what was asked for */
    size_t room;                 /* what it has */
    bool imported;               /* the caller's memory: never kept */
    atomic_uint_fast64_t ticket; /* ticket of the buffer's last launch or copy */
    ry_buffer *next;             /* in the pool */
};

/* A device's ry_stream begins with it. */
typedef struct ry_gpu_stream ry_gpu_stream;
struct ry_gpu_stream {
    /* ticket of the first launch or copy that may still run; IDLE: all are done */
    atomic_uint_fast64_t pending;
    ry_gpu_stream *next; /* in the pool's list */
};

#define RY_GPU_IDLE UINT64_MAX

struct ry_gpu_program {
    ry_gpu_program *next;
    ry_digest digest;
    int references;
    bool building;
    char name[64];
    pthread_mutex_t lock; /* for the driver's use at launches */
    void *module;         /* the driver's program */
    bool in_parts;        /* its entries have a PART_ARGUMENT: a launch may be split */
    int entry_count;
    struct ry_gpu_entry {
        void *function;
        unsigned arguments; /* number of arguments, if the driver reports it */
        unsigned items;     /* most items of a group, as built; 0: unknown */
        unsigned given;     /* bytes of local memory that launches give a group */
    } entry[];
};

/* What a program is compiled from, in order; each part begins with a line that names it. */
enum { RY_GPU_PARTS = 6 };

typedef struct ry_gpu_text {
    const char *part[RY_GPU_PARTS];
    char text_line[160];
} ry_gpu_text;

typedef struct ry_gpu_binary {
    void *data; /* from the device's allocator; NULL: no binary */
    size_t size;
} ry_gpu_binary;

typedef struct ry_gpu_driver {
    /* Takes buffer->room bytes from the driver. *full: it has no more, or says so. */
    rynd_status (*take)(ry_gpu_device *device, ry_buffer *buffer, bool *full, ry_error *error);
    /* busy: launches or copies may be queued that use it. An imported one is let go. */
    void (*release)(ry_gpu_device *device, ry_buffer *buffer, bool busy);
    /* Copies buffer->size bytes, which are not 0, to a buffer that nothing uses; every stream may
     * use it when this returns. */
    rynd_status (*fill)(ry_gpu_device *device, ry_buffer *buffer, const void *host,
                        ry_error *error);

    /* The module and the function of every entry: from source, of which the binary comes back where
     * it is wanted (not NULL), or from such a binary. What a failed call leaves is unloaded. */
    rynd_status (*compile)(ry_gpu_device *device, const ry_gpu_source *source,
                           const ry_gpu_text *text, ry_gpu_program *program, ry_gpu_binary *binary,
                           ry_error *error);
    rynd_status (*load)(ry_gpu_device *device, const ry_gpu_source *source,
                        const ry_gpu_binary *binary, ry_gpu_program *program, ry_error *error);
    void (*unload)(ry_gpu_device *device, ry_gpu_program *program);
} ry_gpu_driver;

struct ry_gpu_device {
    ry_device base;
    const ry_gpu_driver *driver;
    size_t memory, most_memory; /* bytes: of all buffers, of one */
    const char *full_advice; /* follows what a full device says of `most_memory`; NULL: nothing */

    struct ry_gpu_pool {
        pthread_mutex_t lock;
        ry_buffer *unused; /* the last one given back first */
        size_t unused_bytes, most_unused;
        size_t used, peak;            /* bytes of those that are in use */
        atomic_uint_fast64_t tickets; /* launches and copies, numbered in the order of start */
        ry_gpu_stream *streams;
    } pool;

    struct ry_gpu_programs {
        pthread_mutex_t lock;
        pthread_cond_t built; /* or failed */
        ry_gpu_program *first;
        ry_program_files files;
        const char *dialect;
        ry_digest device;             /* version, device and driver, for each program's key */
        atomic_size_t compiled, read; /* how many were, from source and from files */
    } programs;
};

static inline ry_gpu_device *ry_gpu_device_of(ry_device *device)
{
    return (ry_gpu_device *)device;
}

/* ---- memory ---- */

/* After `memory` and `most_memory` are set. false: out of memory for a lock. */
bool ry_gpu_pool_init(ry_gpu_device *device);
void ry_gpu_pool_free(ry_gpu_device *device);

rynd_status ry_gpu_take(ry_gpu_device *device, size_t size, ry_buffer **buffer, ry_error *error);
void ry_gpu_give_back(ry_gpu_device *device, ry_buffer *buffer);
/* A buffer for memory that the caller has from the driver, which sets `memory`. */
rynd_status ry_gpu_import(ry_device *device, size_t size, ry_buffer **buffer, ry_error *error);
/* Returns unused buffers to a driver that takes memory on first use and has run out. False: no
 * buffer was unused. */
bool ry_gpu_relieve(ry_gpu_device *device);

void ry_gpu_add_stream(ry_gpu_device *device, ry_gpu_stream *stream);
void ry_gpu_remove_stream(ry_gpu_device *device, ry_gpu_stream *stream);
/* From here on buffers of a launch or a copy are in use; until the stream is found to be idle. */
void ry_gpu_begin_use(ry_gpu_device *device, ry_gpu_stream *stream, const ry_pointer *pointers,
                      int count);
/* Everything that was put into the stream is done. */
void ry_gpu_set_idle(ry_gpu_stream *stream);

/* ---- programs ---- */

/* kind: the folder of their files, or NULL for no files; depends: the words that tell devices and
 * compilers apart. */
bool ry_gpu_programs_init(ry_gpu_device *device, const char *kind, const char *dialect,
                          const char *const *depends, size_t count);
void ry_gpu_programs_free(ry_gpu_device *device);
rynd_status ry_gpu_program_create(ry_device *device, const ry_gpu_source *source,
                                  ry_program *program, ry_error *error);
void ry_gpu_program_destroy(ry_device *device, ry_program program);
unsigned ry_gpu_program_items(ry_program program, int entry);

/* Groups that a part of a phase has, by its predicted seconds and the machine's launch_limit: all
 * where no watchdog would end them. */
size_t ry_gpu_part(const ry_gpu_device *device, const ry_launch *launch, int phase);

/* Seconds of a launch where a watchdog looks: drivers end launches of a display's GPU after 2 s
 * (Windows) or some seconds (Linux). */
#define RY_GPU_WATCHED 0.25

/* "kernel 'conv_f32_gpu' does not compile for GPU (REASON): " and what the compiler says, as much
 * as a message holds. */
rynd_status ry_gpu_fail_build(const ry_gpu_device *device, const ry_gpu_program *program,
                              const char *reason, const char *log, ry_error *error);

/* ---- functions of a ry_device_table ---- */

void ry_gpu_figures(ry_device *device, ry_device_figures *figures);
void ry_gpu_trim(ry_device *device, size_t keep);
rynd_status ry_gpu_buffer_create(ry_device *device, size_t size, ry_buffer **buffer,
                                 ry_error *error);
rynd_status ry_gpu_buffer_wrap(ry_device *device, const void *host, size_t size, ry_buffer **buffer,
                               ry_error *error);
rynd_status ry_gpu_buffer_rewrap(ry_device *device, const void *host, ry_buffer *buffer,
                                 ry_error *error);
void ry_gpu_buffer_destroy(ry_device *device, ry_buffer *buffer);

#endif
