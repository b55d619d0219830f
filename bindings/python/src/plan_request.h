/* SPDX-License-Identifier: Apache-2.0 */
/* The options of a plan, of what Python gives: for plans, and for tuning them. */
#ifndef RYND_PYTHON_PLAN_REQUEST_H
#define RYND_PYTHON_PLAN_REQUEST_H

#include "settings.h"

/* What rynd_plan_options borrows during the call. Begins as zeros but for options.size. */
typedef struct py_plan_request {
    rynd_plan_options options;
    rynd_dim *dims;
    rynd_tensor *inputs;
    py_settings settings;
} py_plan_request;

/* dims: a list of (symbol, number); inputs: a list of (dtype, shape, strides or None), or None
 * where it is not given, or None; choices: as py_settings_take. False: an exception is set. To be
 * freed in either case. */
bool py_plan_request_take(py_plan_request *request, int accuracy, long long batch, PyObject *dims,
                          PyObject *inputs, PyObject *choices);
void py_plan_request_free(py_plan_request *request);

#endif
