/* SPDX-License-Identifier: Apache-2.0 */
/* Exchanges of ranks: MPI's, and objects of Python with rank, ranks and all_reduce. */
#ifndef RYND_PYTHON_EXCHANGE_H
#define RYND_PYTHON_EXCHANGE_H

#include "extension.h"

/* One that a trainer was given. */
typedef struct py_exchange {
    rynd_exchange exchange;
    PyObject *object; /* kept; NULL: none */
    /* exception of its all_reduce, until the waiting call raises it again */
    PyObject *type, *value, *traceback;
} py_exchange;

/* object None: none. false: an exception is set. `to` must stay where it is as long as the exchange
 * is used. */
bool py_exchange_take(PyObject *object, py_exchange *to);
void py_exchange_drop(py_exchange *exchange);
/* Raises what all_reduce raised; false: nothing. */
bool py_exchange_raise(py_exchange *exchange);

/* mpi_ranks() */
PyObject *py_mpi_ranks(PyObject *module, PyObject *unused);

#endif
