/* SPDX-License-Identifier: Apache-2.0 */
/* A matrix product as the convolution of one tap that it is: a row is a pixel, a column of the left
 * operand a channel. */
#ifndef RY_KERNELS_CPU_MATMUL_MATMUL_AS_CONV_H
#define RY_KERNELS_CPU_MATMUL_MATMUL_AS_CONV_H

#include "base/integer.h"
#include "kernels/kernel.h"

typedef struct matmul_as_conv {
    ry_problem problem; /* inputs as the product's: x, w, bias, residual */
    ry_tensor in[4], out[1];
} matmul_as_conv;

/* false: a batch of products that is not one of rows or images, factors other than 1, or a sum that
 * no bias is. Types are as they are. */
bool ry_matmul_as_conv_of(const ry_problem *matmul, matmul_as_conv *conv);

/* Fills `asked` with the query of that convolution. `asked` points into `conv`. */
bool ry_matmul_as_conv_query(const ry_query *query, matmul_as_conv *conv, ry_query *asked);

/* What kernels of products are asked before they run is what a kernel of convolutions, whose
 * functions come last, is asked of that one. Their state is the convolution, then that kernel's
 * own. */
bool ry_matmul_as_conv_takes(const ry_problem *matmul, bool (*takes)(const ry_problem *conv));
void ry_matmul_as_conv_values(const ry_query *query, int knob, ry_knob_values *values,
                              void (*of_conv)(const ry_query *query, int knob,
                                              ry_knob_values *values));
rynd_status ry_matmul_as_conv_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error,
                                      rynd_status (*of_conv)(const ry_query *query,
                                                             ry_prepared *prepared,
                                                             ry_error *error));
void ry_matmul_as_conv_initialise(const ry_query *query, void *state,
                                  void (*of_conv)(const ry_query *query, void *state));

/* The convolution's own state. */
const void *ry_matmul_as_conv_state(const void *state);

/* The convolution's launch, whose problem is put into `conv`. */
ry_cpu_launch ry_matmul_as_conv_launch(const ry_cpu_launch *launch, ry_problem *conv);

/* A product's pack or run, which is the convolution's. */
#define MATMUL_AS_CONV(entry, of_conv)                                         \
    static void entry(const ry_cpu_launch *launch, size_t task)                \
    {                                                                          \
        ry_problem conv;                                                       \
        const ry_cpu_launch as_conv = ry_matmul_as_conv_launch(launch, &conv); \
        of_conv(&as_conv, task);                                               \
    }

#endif
