/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of the handles that most of the API reads: context, model and plan. */
#ifndef RY_API_HANDLES_H
#define RY_API_HANDLES_H

#include "api/op_cache.h"
#include "base/threads.h"
#include "kernels/refusals.h"
#include "machine/machine_file.h"
#include "onnx/onnx.h"
#include "plan/plan.h"
#include "plan/weights.h"
#include "predict/advice.h"
#include "tune/calibrate_fit.h"
#include "tune/check_kernels.h"
#include "wisdom/wisdom.h"

#include <rynd/rynd.h>

struct rynd_context {
    ry_allocator allocator;
    ry_threads *threads;
    ry_device *device;
    ry_device *host;         /* the CPU beside the device; the device itself where it is the CPU */
    ry_machine host_machine; /* machine of the CPU beside another device */
    unsigned device_index;   /* among those of its kind */
    ry_machine machine;
    unsigned predicted_threads; /* that a run is predicted for: the caller's, or all cores */
    char machine_path[RY_MACHINE_PATH]; /* file of `machine`; "": built in */
    char kept_path[RY_MACHINE_PATH];    /* where rynd_context_keep_machine wrote */
    rynd_log_function log;
    void *log_user;
    ry_wisdom *wisdom; /* NULL: off */
    char wisdom_path[RY_WISDOM_PATH];
    bool frozen;
    /* fingerprints of the device's machine, and of the CPU's beside the device */
    char fingerprint[RY_WISDOM_FINGERPRINT], host_fingerprint[RY_WISDOM_FINGERPRINT];
    ry_adviser adviser;
    ry_refusals refusals; /* refused kernels of the device, by the last check */
    ry_checked checked;   /* by rynd_context_check, in `checks` */
    ry_arena checks;
    char checks_path[RY_MACHINE_PATH]; /* where it wrote */
    ry_op_cache *ops;                  /* operators kept by problem */
    ry_calibration calibration;        /* by rynd_context_calibrate */
};

struct rynd_model {
    rynd_context *context;
    ry_onnx_model onnx;
    int64_t parameters;
    ry_weights *weights; /* that its plans share */
};

struct rynd_plan {
    rynd_context *context;
    const ry_plan *plan;
    const char *path; /* the model's, for messages; NULL: it came from memory */
    ry_arena texts;
    rynd_step_info *steps;
    rynd_plan_form form;
    const char *units[RY_PLAN_KNOBS]; /* units of the plan's own knobs */
};

#endif
