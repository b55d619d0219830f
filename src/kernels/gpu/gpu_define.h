/* SPDX-License-Identifier: Apache-2.0 */
/* Lines that texts of GPUs are compiled with, of what problems have in common. */
#ifndef RY_KERNELS_GPU_GPU_DEFINE_H
#define RY_KERNELS_GPU_GPU_DEFINE_H

#include "kernels/kernel.h"

/* f32, f16 or bf16: what LOAD_ and STORE_ know. */
bool ry_gpu_is_float(const ry_tensor *tensor);

/* Can offsets of its tensors pass an int? */
bool ry_gpu_is_wide(const ry_problem *problem);

void ry_gpu_define(ry_text *text, const char *name, int64_t number);

/* A number as a float's literal: devices without doubles have no other. */
enum { RY_GPU_FLOAT = 32 };
void ry_gpu_float(double number, char literal[RY_GPU_FLOAT]);
void ry_gpu_define_float(ry_text *text, const char *name, double number);

/* INDEX, of 64 bits where `wide`; TYPE_i and LOAD_i(p, at) of each input that is there, TYPE_Y and
 * STORE(p, at, v) of output 0. */
void ry_gpu_define_types(ry_text *text, const ry_problem *problem, bool wide);

/* HAS_OUT_i of each output; TYPE_Y_i and STORE_i(p, at, v) of those behind the first that are
 * there.
 */
void ry_gpu_define_outputs(ry_text *text, const ry_problem *problem);

/* NAME_axis, of one of a window's axes. */
void ry_gpu_define_axis(ry_text *text, const char *name, int axis, int64_t number);

/* Is a tensor's dim 1 stored nearer together than those behind it? */
bool ry_gpu_is_along_channels(const ry_tensor *tensor);

#endif
