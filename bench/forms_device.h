/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of a device whose memory is its own, timed by its events: no copies, no host. */
#ifndef FORMS_DEVICE_H
#define FORMS_DEVICE_H

#include "kernels/prepared.h"

enum { FORMS_OPERANDS = 16 };

typedef struct device_operands {
    ry_device *device;
    ry_stream *stream;
    ry_event *from, *to;
    const ry_problem *problem;
    const void *const *in; /* host memory of all inputs, all but the first constant */
    ry_buffer *buffer[FORMS_OPERANDS];
} device_operands;

typedef struct device_form {
    ry_prepared prepared;
    ry_arena arena;
    ry_buffer *packed, *workspace, *fault;
    ry_bound bound;
} device_form;

rynd_status device_operands_make(device_operands *operands, ry_device *device,
                                 const ry_problem *problem, const void *const *in, ry_error *error);
void device_operands_free(device_operands *operands);

/* `form` must stay where it is. */
rynd_status device_form_make(device_form *form, device_operands *operands, const ry_query *query,
                             ry_error *error);
void device_form_free(device_form *form, device_operands *operands);

/* Seconds of each of so many runs. */
rynd_status device_form_run(device_form *form, device_operands *operands, int runs, double *seconds,
                            ry_error *error);

#endif
