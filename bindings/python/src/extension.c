/* SPDX-License-Identifier: Apache-2.0 */
/* The extension's types, which the module fills in. */
#include "extension.h"

#define TYPE(name) PyTypeObject *py_##name##_type;
#include "types.inc"
#undef TYPE
PyTypeObject *py_result_type;

void py_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    const freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF((PyObject *)type);
}
