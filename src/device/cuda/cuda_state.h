/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the CUDA device share. */
#ifndef RY_DEVICE_CUDA_CUDA_STATE_H
#define RY_DEVICE_CUDA_CUDA_STATE_H

#include "device/cuda/cuda_list.h"
#include "device/cuda/nvml.h"
#include "device/gpu/gpu_device.h"

/* Pinned memory of the host that a stream's copies go through, which the device reads and writes by
 * itself: parts of it take turns. */
enum { RY_CUDA_PARTS = 4, RY_CUDA_PART_BYTES = 1 << 20 };

typedef struct ry_cuda_staging {
    unsigned char *memory; /* NULL: none yet */
    bool refused;          /* the system has none: copies wait */
    unsigned next;
    struct ry_cuda_part {
        void *done; /* an event: the last copy from or to it */
        bool used;
    } part[RY_CUDA_PARTS];
} ry_cuda_staging;

enum { RY_CUDA_OPTIONS = 16 };

typedef struct ry_cuda_state {
    ry_gpu_device gpu;
    const ry_cuda *cu;
    const ry_nvrtc *nvrtc;
    int id;
    ry_cuda_info info;
    bool graphs; /* launches are recorded */
    void *context;
    ry_stream *copies; /* copies wrapped memory */
    pthread_mutex_t copies_lock;
    ry_nvml_meter meter;
    bool metered; /* is `meter` open? */
    /* how programs are compiled: to the device's machine code, or to PTX, which the driver compiles
     * for a device that is newer than NVRTC */
    bool machine_code;
    int option_count;
    const char *option[RY_CUDA_OPTIONS];
    char option_text[512];
} ry_cuda_state;

struct ry_stream {
    ry_gpu_stream gpu;
    ry_cuda_state *device;
    void *stream;
    ry_cuda_staging staging;
};

static inline ry_cuda_state *ry_cuda_state_of(ry_device *device)
{
    return (ry_cuda_state *)device;
}

static inline rynd_status ry_cuda_fail_on(const ry_cuda_state *device, const char *call, int code,
                                          ry_error *error)
{
    return ry_cuda_fail(device->cu, device->gpu.base.name, call, code, error);
}

/* cuda_context.c: ry_cuda_enter makes the device's context the thread's, ry_cuda_leave restores the
 * application's. Call ry_cuda_leave once for each ry_cuda_enter that succeeded. */
rynd_status ry_cuda_enter(const ry_cuda_state *device, ry_error *error);
void ry_cuda_leave(const ry_cuda_state *device);

/* cuda_copy.c; the last one within the context. */
rynd_status ry_cuda_upload(ry_stream *stream, ry_pointer to, const void *host, size_t size,
                           ry_error *error);
rynd_status ry_cuda_download(ry_stream *stream, void *host, ry_pointer from, size_t size,
                             ry_error *error);
rynd_status ry_cuda_copy(ry_stream *stream, ry_pointer to, ry_pointer from, size_t size,
                         ry_error *error);
rynd_status ry_cuda_repeat(ry_stream *stream, ry_pointer to, ry_pattern pattern, size_t size,
                           ry_error *error);
rynd_status ry_cuda_host_take(ry_device *device, size_t size, void **memory, ry_error *error);
void ry_cuda_host_give_back(ry_device *device, void *memory);
void ry_cuda_staging_free(ry_stream *stream);

/* cuda_event.c */
rynd_status ry_cuda_event_create(ry_device *device, ry_event **event, ry_error *error);
void ry_cuda_event_destroy(ry_device *device, ry_event *event);
rynd_status ry_cuda_event_record(ry_stream *stream, ry_event *event, ry_error *error);
rynd_status ry_cuda_event_await(ry_stream *stream, const ry_event *event, ry_error *error);
rynd_status ry_cuda_event_synchronize(const ry_event *event, ry_error *error);
rynd_status ry_cuda_event_done(const ry_event *event, bool *done, ry_error *error);
rynd_status ry_cuda_event_elapsed(const ry_event *from, const ry_event *to, double *seconds,
                                  ry_error *error);

/* cuda_program.c: functions of a ry_gpu_driver. */
rynd_status ry_cuda_programs_init(ry_cuda_state *device, ry_error *error);
rynd_status ry_cuda_compile(ry_gpu_device *device, const ry_gpu_source *source,
                            const ry_gpu_text *text, ry_gpu_program *program, ry_gpu_binary *binary,
                            ry_error *error);
rynd_status ry_cuda_load_binary(ry_gpu_device *device, const ry_gpu_source *source,
                                const ry_gpu_binary *binary, ry_gpu_program *program,
                                ry_error *error);
void ry_cuda_unload(ry_gpu_device *device, ry_gpu_program *program);

/* cuda_graph.c */
bool ry_cuda_wants_graphs(const ry_cuda *cu); /* RYND_CUDA_GRAPHS=0: no */
bool ry_cuda_records(ry_device *device);
rynd_status ry_cuda_record_begin(ry_stream *stream, ry_error *error);
rynd_status ry_cuda_record_end(ry_stream *stream, ry_recording **recording, ry_error *error);
rynd_status ry_cuda_replay(ry_stream *stream, const ry_recording *recording,
                           const ry_pointer *pointers, int count, ry_error *error);
void ry_cuda_recording_destroy(ry_device *device, ry_recording *recording);

/* cuda_launch.c */
rynd_status ry_cuda_launch(ry_stream *stream, const ry_launch *launch, ry_error *error);

#endif
