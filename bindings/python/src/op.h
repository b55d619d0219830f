/* SPDX-License-Identifier: Apache-2.0 */
/* Op, and its runs on device memory in a stream. */
#ifndef RYND_PYTHON_OP_H
#define RYND_PYTHON_OP_H

#include "extension.h"
#include "memory.h"

enum { OP_MOST_INPUTS = 16, OP_MOST_OUTPUTS = 8 };

typedef struct op_object {
    PyObject_HEAD context_object *context;
    rynd_op *op;
    bool running;
    int inputs, outputs;
    rynd_tensor *in, *out;
    py_pool **pools; /* one per output */
} op_object;

/* (stream, inputs, outputs, workspace): puts a run into a stream. Operands as py_take_operand. */
PyObject *py_op_run_async(PyObject *object, PyObject *args);
PyObject *py_op_wait(PyObject *object, PyObject *unused);
PyObject *py_op_in_place(PyObject *object, PyObject *args);
PyObject *py_op_result(PyObject *object, PyObject *index);

/* Descriptions of inputs and outputs, None where one is absent; bytes of the workspace. */
PyObject *py_op_inputs(PyObject *object, void *unused);
PyObject *py_op_outputs(PyObject *object, void *unused);
PyObject *py_op_workspace(PyObject *object, void *unused);

#endif
