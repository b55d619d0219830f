/* SPDX-License-Identifier: Apache-2.0 */
/* A digest of memory, to see whether somebody wrote to it. */
#ifndef RYND_PYTHON_DIGEST_H
#define RYND_PYTHON_DIGEST_H

#include "extension.h"

/* digest(buffers): an integer of 64 bits over the bytes of objects with the buffer protocol. Other
 * bytes give another digest, but for a chance of about 2^-64; one changed word always does. Runs
 * without the GIL. */
PyObject *py_digest(PyObject *module, PyObject *buffers);

#endif
