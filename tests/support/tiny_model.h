/* SPDX-License-Identifier: Apache-2.0 */
/* A small convolutional network as ONNX bytes, made field by field, for tests that must not depend
 * on files or on Python.
 *
 *   x [batch, 3, 8, 8] -> Conv 3x3 -> Relu -> MaxPool -> Conv 1x1 -> Add (to MaxPool's) ->
 * GlobalAveragePool -> Flatten -> Gemm -> Softmax -> y [batch, 5] */
#ifndef TESTS_TINY_MODEL_H
#define TESTS_TINY_MODEL_H

#include <stddef.h>
#include <stdint.h>

enum { TINY_CHANNELS = 3, TINY_SIDE = 8, TINY_CLASSES = 5, TINY_MODEL_CAPACITY = 16384 };

/* Writes the model into `bytes` (TINY_MODEL_CAPACITY of them) and returns its size. */
size_t tiny_model(uint8_t *bytes);

/* Fills `count` values between -1 and 1, the same for the same seed on every machine. */
void tiny_values(float *values, size_t count, uint32_t seed);

#endif
