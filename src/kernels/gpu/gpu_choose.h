/* SPDX-License-Identifier: Apache-2.0 */
/* The search over the forms of a GPU kernel: the least work, spread over the device. */
#ifndef RY_KERNELS_GPU_GPU_CHOOSE_H
#define RY_KERNELS_GPU_GPU_CHOOSE_H

#include "kernels/form_least.h"
#include "kernels/prepared.h"

typedef struct ry_gpu_search {
    const ry_form_axis *axis;
    int axes;
    /* adds the legal values of a knob */
    void (*values)(const ry_query *query, const void *user, int knob, ry_knob_values *values);
    /* fills phases, tasks, groups, work and sizes for prepared->form; false: not legal */
    bool (*fill)(const ry_query *query, const void *user, ry_prepared *prepared);
} ry_gpu_search;

/* Fills the form of least work into `prepared`. ARGUMENT: no form is legal. `user` goes to the
 * callbacks. */
rynd_status ry_gpu_choose(const ry_gpu_search *search, const ry_query *query, const void *user,
                          ry_prepared *prepared, ry_error *error);

#endif
