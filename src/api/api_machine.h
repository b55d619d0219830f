/* SPDX-License-Identifier: Apache-2.0 */
/* The machine of a context. */
#ifndef RY_API_API_MACHINE_H
#define RY_API_API_MACHINE_H

#include "machine/machine.h"

#include <rynd/rynd.h>

/* Finds the machine of a new context: the file `given`, the kept file, or the built-in one. */
rynd_status ry_api_load_machine(rynd_context *context, const char *given, ry_error *error);

/* Reads the machine of the context's device from its driver; the device is not the CPU. */
rynd_status ry_api_driver_machine(const rynd_context *context, ry_machine *machine,
                                  ry_error *error);

/* Measures the rates of the context's device (rynd_context_measure). */
rynd_status ry_api_measure(const rynd_context *context, const rynd_measure_options *options,
                           ry_machine *machine, ry_error *error);

#endif
