/* SPDX-License-Identifier: Apache-2.0 */
/* Knobs of kernels and of plans. */
#ifndef RY_API_API_KNOBS_H
#define RY_API_API_KNOBS_H

#include "kernels/prepared.h"

#include <rynd/rynd.h>

/* Checks that every setting has a knob and a value; steps: and the step's name. `what` names the
 * options in messages. */
rynd_status ry_api_check_settings(const rynd_setting *settings, size_t count, bool steps,
                                  const char *what, ry_error *error);

/* The caller's room for a text. */
typedef struct ry_text_room {
    char *text;
    size_t size;
} ry_text_room;

/* Describes a knob of a prepared kernel, or writes a legal value, to the caller's memory. */
rynd_status ry_api_knob(const ry_prepared *prepared, const ry_device *device, size_t index,
                        rynd_knob *knob, ry_error *error);
rynd_status ry_api_knob_value(const ry_prepared *prepared, const ry_device *device, size_t knob,
                              size_t index, ry_text_room room, ry_error *error);

/* Fills plan->form, the plan's own knobs as the caller sees them. */
rynd_status ry_api_describe_form(rynd_plan *plan, ry_error *error);

#endif
