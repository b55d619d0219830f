/* SPDX-License-Identifier: Apache-2.0 */
#include "errors.h"

#include <stdarg.h>

/* By status; then those of the extension's own. */
enum { TYPE = RYND_ERROR_CANCELLED + 1, BUSY, ERRORS };

static const char *const names[ERRORS] = {
    [RYND_ERROR_ARGUMENT] = "ArgumentError",
    [RYND_ERROR_OUT_OF_MEMORY] = "OutOfMemoryError",
    [RYND_ERROR_IO] = "FileError",
    [RYND_ERROR_FORMAT] = "FormatError",
    [RYND_ERROR_UNSUPPORTED] = "UnsupportedError",
    [RYND_ERROR_SHAPE] = "ShapeError",
    [RYND_ERROR_NOT_FOUND] = "NotFoundError",
    [RYND_ERROR_DEVICE] = "DeviceError",
    [RYND_ERROR_CANCELLED] = "CancelledError",
    [TYPE] = "ArgumentTypeError",
    [BUSY] = "BusyError",
};

static PyObject *errors[ERRORS];

bool py_find_errors(void)
{
    PyObject *module = PyImport_ImportModule("rynd.errors");
    for (int i = 0; module && i < ERRORS; i++) {
        if (names[i]) {
            errors[i] = PyObject_GetAttrString(module, names[i]);
            if (!errors[i]) {
                Py_CLEAR(module);
            }
        }
    }
    Py_XDECREF(module);
    return module != NULL;
}

int py_progress(void *user, const rynd_progress *progress)
{
    const PyGILState_STATE state = PyGILState_Ensure();
    bool go_on = PyErr_CheckSignals() == 0;
    if (go_on && user) {
        PyObject *answer = PyObject_CallFunction(user, "nn", (Py_ssize_t)progress->done,
                                                 (Py_ssize_t)progress->all);
        go_on = answer != NULL;
        Py_XDECREF(answer);
    }
    PyGILState_Release(state);
    return !go_on;
}

PyObject *py_raise(rynd_status status)
{
    if (!PyErr_Occurred()) {
        const char *message = rynd_last_error();
        const bool known = status > RYND_OK && status <= RYND_ERROR_CANCELLED;
        PyErr_SetString(known ? errors[status] : PyExc_RuntimeError,
                        *message ? message : rynd_status_text(status));
    }
    return NULL;
}

#define FAIL(function, error)                            \
    PyObject *function(const char *format, ...)          \
    {                                                    \
        va_list arguments;                               \
        va_start(arguments, format);                     \
        PyErr_FormatV(errors[error], format, arguments); \
        va_end(arguments);                               \
        return NULL;                                     \
    }

FAIL(py_fail_type, TYPE)
FAIL(py_fail_value, RYND_ERROR_ARGUMENT)
FAIL(py_fail_shape, RYND_ERROR_SHAPE)
FAIL(py_fail_name, RYND_ERROR_NOT_FOUND)
FAIL(py_fail_unsupported, RYND_ERROR_UNSUPPORTED)
FAIL(py_fail_busy, BUSY)
