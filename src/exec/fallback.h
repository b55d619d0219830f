/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that the CPU beside a device runs: what they read comes from the device before each, what
 * they write goes back behind it. Only for plans of a device whose memory is its own. */
#ifndef RY_EXEC_FALLBACK_H
#define RY_EXEC_FALLBACK_H

#include "plan/plan.h"

typedef struct ry_fallback {
    const ry_plan *plan;
    ry_device *host;
    ry_stream *stream;  /* the host's */
    ry_buffer *staging; /* host memory for one step at a time: operands, workspace, scratch */
    size_t size;        /* bytes of staging; 0: no step falls back */
} ry_fallback;

/* Room for the hungriest of the plan's steps that fall back. */
rynd_status ry_fallback_create(const ry_plan *plan, ry_fallback *fallback, ry_error *error);
void ry_fallback_destroy(ry_fallback *fallback);

/* Gives a bound step all its memory, once. */
void ry_fallback_bind(const ry_fallback *fallback, const ry_step *step, ry_bound *bound);

/* Waits for `stream`, the device's, and runs a step. operands: on the device, its inputs, then its
 * outputs. */
rynd_status ry_fallback_run(ry_fallback *fallback, ry_stream *stream, const ry_step *step,
                            ry_bound *bound, const ry_pointer *operands, ry_error *error);

#endif
