/* SPDX-License-Identifier: Apache-2.0 */
/* Weight gradients by contexts of several threads. Include it behind cmocka.h. */
#ifndef TESTS_SUPPORT_WGRAD_THREADS_H
#define TESTS_SUPPORT_WGRAD_THREADS_H

#include "tensor/tensor.h"

#include <rynd/rynd.h>

/* Computes dw, then db if present, on `threads` threads by a kernel; NULL: the chosen kernel. */
static inline void wgrad_of_threads(const char *problem, const char *kernel, unsigned threads,
                                    float *result)
{
    rynd_context *context = NULL;
    rynd_op *op = NULL;
    const rynd_op_options how = RYND_SIZED(rynd_op_options, .kernel = kernel);
    const rynd_context_options options = RYND_SIZED(rynd_context_options, .threads = threads);
    assert_int_equal(rynd_context_create(&options, &context), RYND_OK);
    assert_int_equal(rynd_op_create(context, problem, &how, &op), RYND_OK);
    float *in[2];
    void *out[2] = {result, NULL};
    for (size_t i = 0; i < 2; i++) {
        rynd_tensor tensor;
        assert_int_equal(rynd_op_get_input(op, i, &tensor), RYND_OK);
        const int64_t count = ry_tensor_count(&tensor);
        in[i] = test_malloc((size_t)count * sizeof(float));
        for (int64_t j = 0; j < count; j++) {
            in[i][j] = (float)(j * 7 % 1013) / 1013.0f - 0.4f;
        }
    }
    rynd_tensor dw;
    assert_int_equal(rynd_op_get_output(op, 0, &dw), RYND_OK);
    out[1] = result + ry_tensor_count(&dw);
    assert_int_equal(rynd_op_execute(op, (const void *const *)in, out), RYND_OK);
    test_free(in[0]);
    test_free(in[1]);
    rynd_op_destroy(op);
    rynd_context_destroy(context);
}

#endif
