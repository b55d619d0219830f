/* SPDX-License-Identifier: Apache-2.0 */
/* What the public handles hold, and how a public function ends. */
#ifndef RY_API_HANDLES_H
#define RY_API_HANDLES_H

#include "base/threads.h"
#include "device/device.h"
#include "exec/session.h"
#include "onnx/onnx.h"
#include "wisdom/profile.h"

#include <rynd/rynd.h>

struct rynd_context {
    ry_allocator allocator;
    ry_threads *threads;
    ry_device *device;
    ry_profile profile;
    char profile_path[RY_PROFILE_PATH];
    rynd_log log;
    void *log_user;
};

struct rynd_model {
    rynd_context *context;
    ry_onnx_model onnx;
    int64_t parameters;
};

struct rynd_plan {
    rynd_context *context;
    ry_plan *plan;
    const char *path; /* the model's, for messages; NULL: it came from memory */
    ry_accuracy accuracy;
    ry_arena texts;
    rynd_step_info *steps;
};

struct rynd_session {
    rynd_plan *plan;
    ry_session *session;
};

/* Keeps the message for rynd_last_error when status is a failure; returns status. */
rynd_status ry_api_end(rynd_status status, const ry_error *error);

/* Copies a caller's options, whose size says how many of today's fields it knows, over zeros. given NULL: all zeros. */
rynd_status ry_api_options(void *options, size_t size, const void *given, const char *what, ry_error *error);

/* Copies an information struct out to a caller that may know fewer fields. */
rynd_status ry_api_info(void *to, const void *info, size_t size, const char *what, ry_error *error);

void ry_api_log(const rynd_context *context, int level, const char *format, ...) __attribute__((format(printf, 3, 4)));

rynd_status ry_api_check_accuracy(rynd_accuracy accuracy, ry_error *error);
ry_accuracy ry_api_accuracy(rynd_accuracy accuracy);

/* What `rynd plan` prints of a prepared problem; texts go into the arena. */
rynd_status ry_api_describe(const ry_kernel *kernel, const ry_problem *problem, const ry_prepared *prepared, ry_arena *arena,
                            rynd_step_info *info, ry_error *error);

#endif
