/* SPDX-License-Identifier: Apache-2.0 */
/* The wisdom of a context. */
#ifndef RY_API_API_WISDOM_H
#define RY_API_API_WISDOM_H

#include "kernels/prepared.h"
#include "predict/advice.h"

#include <rynd/rynd.h>

/* The kernel's name in records of a network's plan. */
#define RY_PLAN_KERNEL "plan"

/* Opens the wisdom of a context that has its machine: as the options say, or RYND_WISDOM and
 * RYND_FREEZE. */
rynd_status ry_api_open_wisdom(rynd_context *context, const rynd_context_options *options,
                               ry_error *error);

/* The adviser that reads the context's wisdom; NULL: the context has none. */
const ry_adviser *ry_api_adviser(const rynd_context *context);

/* The fingerprint in records of `machine`: the device's, or that of the CPU beside it. */
const char *ry_api_fingerprint(const rynd_context *context, const ry_machine *machine);

/* Measured seconds of a kernel in its form on this machine; 0: not measured. */
double ry_api_measured(const rynd_context *context, const ry_prepared *prepared, unsigned constants,
                       const ry_machine *machine);

#endif
