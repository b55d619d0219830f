/* SPDX-License-Identifier: Apache-2.0 */
/* Takes the options of a plan. */
#include "plan_request.h"

#include "describe.h"
#include "errors.h"

void py_plan_request_free(py_plan_request *request)
{
    PyMem_Free(request->dims);
    PyMem_Free(request->inputs);
    py_settings_free(&request->settings);
}

/* Takes inputs: None, or a list of (dtype, shape, strides or None). */
static bool take_inputs(PyObject *inputs, py_plan_request *request)
{
    if (inputs == Py_None) {
        return true;
    }
    const Py_ssize_t count = PyList_Size(inputs);
    request->inputs = PyMem_Calloc((size_t)count + 1, sizeof *request->inputs);
    if (!request->inputs) {
        PyErr_NoMemory();
        return false;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *given = PyList_GetItem(inputs, i);
        if (given != Py_None && !py_take_description(given, &request->inputs[i])) {
            return false;
        }
    }
    request->options.inputs = request->inputs;
    return true;
}

bool py_plan_request_take(py_plan_request *request, int accuracy, long long batch, PyObject *dims,
                          PyObject *inputs, PyObject *choices)
{
    if (!py_dims_take(dims, &request->dims, &request->options.dim_count) ||
        !take_inputs(inputs, request) || !py_settings_take(choices, &request->settings)) {
        return false;
    }
    request->options.dims = request->dims;
    request->options.accuracy = (rynd_accuracy)accuracy;
    request->options.batch = batch;
    request->options.settings = request->settings.all;
    request->options.setting_count = request->settings.count;
    return true;
}
