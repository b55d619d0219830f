/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a GPU's kernel once on host memory, on the first device that has a driver; kernel_case.h
 * does so with a case. */
#ifndef GPU_RUN_H
#define GPU_RUN_H

#include "kernels/prepared.h"

/* Is there a device? RYND_TEST_GPU names another than the first of OpenCL: "opencl:1", "cuda". */
bool gpu_run_possible(void);
/* Skips the test, with a reason, without a GPU device. */
void gpu_run_need(void);

/* It is opened once, and stays. */
ry_device *gpu_run_device(void);
const ry_target *gpu_run_target(void);

/* From now on a phase takes a second by prediction, and a launch at most so many; 0: no limit. */
void gpu_run_set_limit(double seconds);

/* A group of so many work-items, or of as many as the device has. */
int64_t gpu_run_group(int64_t wanted);

/* Host memory of an operand; `data` is element 0, which need not be the first. NULL: absent. */
typedef struct gpu_operand {
    void *memory;
    size_t size;
    void *data;
} gpu_operand;

/* Uploads all operands, outputs too (one whose memory is an input's shares its place), runs every
 * phase, downloads the outputs. Workspace and packed memory begin as garbage; bytes around them and
 * around every operand are watched (cmocka's failures). Fails where the content of an input is
 * illegal, as outputs are there. */
rynd_status gpu_run(const ry_query *query, const gpu_operand *in, const gpu_operand *out,
                    ry_error *error);

#endif
