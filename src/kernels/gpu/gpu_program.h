/* SPDX-License-Identifier: Apache-2.0 */
/* The program of a GPU's kernel: its text behind what the problem and the form define.
 *
 * Defined for every text, before its own lines:
 *
 *   ARGUMENTS        the parameters of an entry: for each input, output, packed weights, workspace,
 *                    scratch and the fault's record a buffer and an offset in bytes
 *   IN(T, i)         input i as a pointer to constant T, OUT(T, i) output i as a pointer to T
 *   PACKED(T), WORKSPACE(T), FAULT(T)
 *   GROUP_OF_<entry> how many items the groups of its launches have
 *   GIVEN_OF_<entry> bytes of local memory that its launches give a group (CUDA, beyond 48 KiB)
 *   INPUTS, OUTPUTS  how many the problem has; HAS_IN_i (0 or 1): is it there? */
#ifndef RY_KERNELS_GPU_GPU_PROGRAM_H
#define RY_KERNELS_GPU_GPU_PROGRAM_H

#include "kernels/kernel.h"

/* Compiles the program of a complete form into prepared->program. *admitted is 0, or the
 * work-items that the driver says the program admits in a group, if the form has more. Fails with
 * OUT_OF_MEMORY, and with DEVICE (the driver's words) where the driver refuses the text. */
rynd_status ry_gpu_program_make(ry_prepared *prepared, ry_device *device, const ry_target *target,
                                unsigned *admitted, ry_error *error);

#endif
