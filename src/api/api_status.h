/* SPDX-License-Identifier: Apache-2.0 */
/* How a public function ends, takes options and gives information. */
#ifndef RY_API_API_STATUS_H
#define RY_API_API_STATUS_H

#include "base/status.h"
#include "graph/graph.h"
#include "problem/accuracy.h"

#include <rynd/rynd.h>

/* Keeps the message of a failure for rynd_last_error; returns status. */
rynd_status ry_api_end(rynd_status status, const ry_error *error);

/* Copies a caller's options over zeros. The first field of `given`, its size, says how many of
 * today's fields the caller knows; fields of a later version must be 0. given NULL: all zeros. */
rynd_status ry_api_options(void *options, size_t size, const void *given, const char *what,
                           ry_error *error);

/* Copies an information struct to a caller that may know fewer fields, or more: those become 0. */
rynd_status ry_api_info(void *to, const void *info, size_t size, const char *what, ry_error *error);

void ry_api_log(const rynd_context *context, int level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Logs the warnings of a graph of the model (ry_graph_warn). */
void ry_api_tell_warnings(const rynd_model *model, const ry_graph *graph);

rynd_status ry_api_check_accuracy(rynd_accuracy accuracy, ry_error *error);
ry_accuracy ry_api_accuracy(rynd_accuracy accuracy);

#endif
