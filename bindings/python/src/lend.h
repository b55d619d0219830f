/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays of others, lent for a call: Array, whatever has Python's buffer protocol (numpy, array,
 * memoryview), whatever speaks DLPack (PyTorch, JAX, CuPy's host arrays), and arrays of a dtype
 * that the buffer protocol does not have (ml_dtypes' bfloat16). Nothing is copied. */
#ifndef RYND_PYTHON_LEND_H
#define RYND_PYTHON_LEND_H

#include "extension.h"

typedef struct py_lent {
    rynd_tensor tensor;
    PyObject *owner; /* kept alive; NULL: none */
    PyObject *capsule;
    Py_buffer view; /* .obj NULL: none */
} py_lent;

/* `what` begins messages: "input 'x'". False: an exception is set, and nothing is held. */
bool py_lend(PyObject *object, const char *what, bool write, py_lent *to);

/* The same of the host's side of a copy: a row-major array of `size` bytes. */
bool py_lend_flat(PyObject *object, bool write, py_lent *to, size_t *size);
void py_give_back(py_lent *lent);

/* "f32 [1, 3, 224, 224]" into `text`; returns it. */
const char *py_tensor_text(const rynd_tensor *tensor, char *text, size_t size);

#endif
