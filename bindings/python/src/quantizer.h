/* SPDX-License-Identifier: Apache-2.0 */
/* Quantisation of models: the method of Model. */
#ifndef RYND_PYTHON_QUANTIZER_H
#define RYND_PYTHON_QUANTIZER_H

#include "extension.h"

/* (form, layers, quantized, per_channel, weights, activations), or None for a float32 model. */
PyObject *py_model_quantization(PyObject *self, PyObject *unused);

#endif
