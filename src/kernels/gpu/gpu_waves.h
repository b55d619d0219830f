/* SPDX-License-Identifier: Apache-2.0 */
/* Time of a GPU's phases: waves of work-groups on all units, and the second cache's traffic. */
#ifndef RY_KERNELS_GPU_GPU_WAVES_H
#define RY_KERNELS_GPU_GPU_WAVES_H

#include "kernels/kernel.h"
#include "machine/machine.h"

/* Are phases timed by waves? Only on GPUs whose limits the machine states (machine/occupancy.h). */
bool ry_gpu_in_waves(const ry_prepared *prepared, const ry_machine *machine);

/* Groups of a phase that a unit runs at once. */
unsigned ry_gpu_resident(const ry_prepared *prepared, const ry_machine *machine, int phase);

/* Seconds of a phase on all units, without its launch and without the device's memory. */
double ry_gpu_phase_seconds(const ry_prepared *prepared, const ry_machine *machine, int phase);

/* Seconds of all phases and of memory that does not hide behind them, launches included: what forms
 * of a kernel are compared by. `recorded`: in a network, whose launches are replayed. */
double ry_gpu_form_seconds(const ry_prepared *prepared, const ry_machine *machine, bool recorded);

/* Bytes of the second cache that stay between the phases of a step. */
double ry_gpu_kept_bytes(const ry_machine *machine);

/* The part of the shorter of arithmetic's and memory's time that does not overlap: an estimate. */
#define RY_GPU_EXPOSED 0.2

#endif
