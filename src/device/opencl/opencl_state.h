/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the OpenCL device share. */
#ifndef RY_DEVICE_OPENCL_OPENCL_STATE_H
#define RY_DEVICE_OPENCL_OPENCL_STATE_H

#include "device/device.h"
#include "device/opencl/opencl_list.h"
#include "device/program_files.h"

#include <pthread.h>
#include <stdatomic.h>

/* Buffers that were given back, for the next one who asks for about as much (opencl_pool.c). */
typedef struct ry_opencl_pool {
    pthread_mutex_t lock;
    ry_buffer *unused; /* the last one given back first */
    size_t unused_bytes, most_unused;
    size_t used, peak;            /* bytes of those that are in use */
    atomic_uint_fast64_t tickets; /* of launches, in the order of their start */
    ry_stream *streams;
} ry_opencl_pool;

/* Programs that are in use (opencl_program.c). */
typedef struct ry_opencl_programs {
    pthread_mutex_t lock;
    pthread_cond_t built; /* or failed */
    ry_gpu_program *first;
    ry_program_files files;
    char options[256];            /* of the compiler */
    ry_digest device;             /* what a compiled program depends on beside its source */
    atomic_size_t compiled, read; /* how many were, from source and from files */
} ry_opencl_programs;

typedef struct ry_opencl_state {
    ry_device base;
    const ry_opencl *cl;
    ry_opencl_id id;
    ry_opencl_info info;
    cl_context context;
    cl_command_queue queue; /* for copies that belong to no stream */
    ry_opencl_pool pool;
    ry_opencl_programs programs;
} ry_opencl_state;

struct ry_buffer {
    cl_mem memory;
    size_t size;                 /* what was asked for */
    size_t room;                 /* what it has */
    atomic_uint_fast64_t ticket; /* of the last launch that was given it */
    ry_buffer *next;             /* in the pool */
};

struct ry_stream {
    ry_opencl_state *device;
    cl_command_queue queue;
    /* of the first launch that need not be done; IDLE: all are */
    atomic_uint_fast64_t pending;
    unsigned unflushed; /* launches */
    ry_stream *next;    /* of the pool's */
};

#define RY_OPENCL_IDLE UINT64_MAX

struct ry_gpu_program {
    ry_gpu_program *next;
    ry_digest digest;
    int references;
    bool building;
    char name[64];
    pthread_mutex_t lock; /* from setting an entry's arguments to its launch */
    cl_program program;
    int entry_count;
    struct ry_opencl_entry {
        cl_kernel kernel;
        cl_uint arguments;
    } entry[];
};

static inline ry_opencl_state *ry_opencl_state_of(ry_device *device)
{
    return (ry_opencl_state *)device;
}

/* opencl_pool.c */
bool ry_opencl_pool_init(ry_opencl_state *device);
void ry_opencl_pool_free(ry_opencl_state *device);
rynd_status ry_opencl_take(ry_opencl_state *device, size_t size, ry_buffer **buffer,
                           ry_error *error);
void ry_opencl_give_back(ry_opencl_state *device, ry_buffer *buffer);
/* Gives the driver back what is unused, where a driver that takes memory on first use has none;
 * false: nothing was. */
bool ry_opencl_relieve(ry_opencl_state *device);
void ry_opencl_add_stream(ry_opencl_state *device, ry_stream *stream);
void ry_opencl_remove_stream(ry_opencl_state *device, ry_stream *stream);

/* opencl_program.c */
bool ry_opencl_programs_init(ry_opencl_state *device);
void ry_opencl_programs_free(ry_opencl_state *device);
rynd_status ry_opencl_program_create(ry_device *device, const ry_gpu_source *source,
                                     ry_program *program, ry_error *error);
void ry_opencl_program_destroy(ry_device *device, ry_program program);

/* opencl_launch.c */
rynd_status ry_opencl_launch(ry_stream *stream, const ry_launch *launch, ry_error *error);

#endif
