/* SPDX-License-Identifier: Apache-2.0 */
/* How long a kernel takes, from what it counts, and the kernel that takes least. */
#ifndef RY_PREDICT_PREDICT_H
#define RY_PREDICT_PREDICT_H

#include "kernels/kernel.h"
#include "machine/machine.h"

/* Seconds that a step takes beside its kernel, however small: the threads meet. */
#define RY_STEP_SECONDS 2e-6

/* Seconds of a kernel on one worker. */
double ry_predict_seconds(const ry_kernel *kernel, const ry_problem *problem, const ry_prepared *prepared, const ry_machine *machine);

/* The same, phase by phase. */
void ry_predict_phases(const ry_kernel *kernel, const ry_problem *problem, const ry_prepared *prepared, const ry_machine *machine,
                       double seconds[RY_MAX_PHASES]);

typedef struct ry_choice {
    const ry_kernel *kernel; /* NULL: no kernel takes the problem */
    ry_prepared prepared;
    double seconds;        /* predicted, on one worker */
    const ry_kernel *next; /* the best of another method, and its time; NULL: there is none but references */
    double next_seconds;
} ry_choice;

/* The kernel of least predicted time among those that take the problem (ry_kernel_takes). Fails when memory is out. */
rynd_status ry_predict_choose(const ry_problem *problem, ry_isa isa, unsigned constants, const ry_machine *machine, ry_choice *choice,
                              ry_error *error);

enum { RY_REASON_LENGTH = 160 };

/* Why: "predicted 48.2 us; conv_fwd_f32_igemm_avx512 103 us". */
void ry_choice_reason(const ry_choice *choice, char *text, size_t size);

#endif
