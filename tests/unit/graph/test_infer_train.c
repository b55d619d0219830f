/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of what only training computes, and what is refused. */
#include "infer_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* clang-format off */
#define FOUR "3:f32 3:f32 3:f32 3:f32"
static const infer_case norms[] = {
    {"batch_norm_train", "2x3x4x5:f32 " FOUR, "2x3x4x5:f32 3:f32 3:f32 3:f32 3:f32", NULL},
    {"batch_norm_train activation=relu", "Nx3x4:bf16 " FOUR " Nx3x4:bf16", "Nx3x4:bf16 3:f32 3:f32 3:f32 3:f32", NULL},
    {"batch_norm_train", "2x3:f64 3:f64 3:f64 3:f64 3:f64", "2x3:f64 3:f64 3:f64", NULL},
    {"batch_norm_train", "1x3x1x1:f32 " FOUR, "!one element a channel", NULL},
    {"batch_norm_train", "2x4x5:f32 " FOUR, "!channels of the input", NULL},
    {"batch_norm_train", "2x3x5:f32 " FOUR " 2x3x1:f32", "!the residual has the input's shape", NULL},
    {"batch_norm_train", "2x3x5:f32 " FOUR " 2x3x5:f16", "!", NULL},
    {"batch_norm_train activation=tanh", "2x3x5:f32 " FOUR, "!the activation is of another kind", NULL},
    {"batch_norm_grad", "2x3x5:f32 2x3x5:f32 3:f32 3:f32 3:f32", "2x3x5:f32 3:f32 3:f32", NULL},
    {"batch_norm_grad activation=relu", "2x3x5:f32 2x3x5:f32 3:f32 3:f32 3:f32 2x3x5:f32", "2x3x5:f32 3:f32 3:f32 2x3x5:f32", NULL},
    {"batch_norm_grad activation=relu", "2x3x5:f32 2x3x5:f32 3:f32 3:f32 3:f32", "!needs y, which is absent", NULL},
    {"batch_norm_grad activation=relu", "2x3x5:f32 2x3x5:bf16 3:f32 3:f32 3:f32 2x3x5:bf16", "2x3x5:f32 3:f32 3:f32", NULL},
    {"batch_norm_grad activation=relu", "2x3x5:f32 2x3x5:bf16 3:f32 3:f32 3:f32 2x3x5:f32", "!must have the type of input 1", NULL},
    {"batch_norm_grad", "2x3x5:f32 2x3x5:f16 3:f32 3:f32 3:f32", "!must have the type of input 0", NULL},
    {"batch_norm_grad", "2x3x5:f32 2x3x6:f32 3:f32 3:f32 3:f32", "!the gradient's shape", NULL},
    {"batch_norm_grad", "2x3x5:f32 2x3x5:f32 3:f32 4:f32 3:f32", "!channels of the input", NULL},
    {"softmax_grad axis=-1", "Nx3:f16 Nx3:f16", "Nx3:f16", NULL},
    {"softmax_grad axis=2", "2x3:f32 2x3:f32", "!axis 2 is outside rank 2", NULL},
    {"layer_norm_grad axis=1", "Nx3x5:f16 Nx3x5:f16 3x5:f32 Nx1x1:f32 Nx1x1:f32", "Nx3x5:f16 3x5:f32 3x5:f32", NULL},
    {"layer_norm_grad axis=1", "2x3:f32 2x3:f32 4:f32 2x1:f32 2x1:f32", "!a factor for each element of a row", NULL},
    {"group_norm_grad groups=2", "Nx4x5:f32 Nx4x5:f32 4:f32 Nx2:f32 Nx2:f32", "Nx4x5:f32 4:f32 4:f32", NULL},
    {"group_norm_grad groups=2", "2x4x5:f32 2x4x5:f32 4:f32 2x3:f32 2x2:f32", "!a number for each row", NULL},
    {"dropout ratio=0.25", "Nx3:f16", "Nx3:f16 Nx3:bool", NULL},
};

static const infer_case windows[] = {
    {"pool_grad kernel=3,3 stride=2,2 image=9,8", "2x5x4x3:f32 2x5x9x8:f32", "2x5x9x8:f32", NULL},
    {"pool_grad kernel=3,3 stride=2,2 ceil_mode=1 image=9,8", "2x5x4x4:f32 2x5x9x8:f32", "2x5x9x8:f32", NULL},
    {"pool_grad kind=average kernel=4 image=9", "Nx5x6:f16", "Nx5x9:f16", NULL},
    {"pool_grad kind=lp kernel=4 image=9", "2x5x6:f32 2x5x9:f32 2x5x6:f32", "2x5x9:f32", NULL},
    {"pool_grad kernel=4 image=9", "2x5x6:f32", "!the gradient of max pooling needs x", NULL},
    {"pool_grad kind=lp kernel=4 image=9", "2x5x6:f32 2x5x9:f32", "!the gradient of lp pooling needs y", NULL},
    {"pool_grad kernel=4 image=9", "2x5x6:f32 2x5x8:f32", "!the pooled image", NULL},
    {"pool_grad kernel=4 image=9", "2x5x5:f32 2x5x9:f32", "!the window's positions", NULL},
    {"pool_grad kernel=4 image=9,9", "2x5x6:f32 2x5x9:f32", "!image has 2 numbers, expected 1", NULL},
    {"pool_grad kernel=4 image=-9", "2x5x6:f32 2x5x9:f32", "!image has -9", NULL},
    {"pool_grad kernel=4,4 image=9", "2x5x6:f32 2x5x9:f32", "!kernel_shape has 2 numbers, expected 1", NULL},
    {"pool_grad kernel=4 image=9", "2x5x6:i32 2x5x9:i32", "!", NULL},
    {"pool_grad adaptive=1 image=9,8", "2x5x4x3:f32 2x5x9x8:f32", "2x5x9x8:f32", NULL},
    {"pool_grad adaptive=1 image=9", "Nx5xM:f32 Nx5x9:f32", "Nx5x9:f32", NULL},
    {"pool_grad adaptive=1 kernel=3 image=9", "2x5x4:f32 2x5x9:f32", "!no kernel, strides", NULL},
    {"pool output=4,3", "NxCxHxW:f32", "NxCx4x3:f32 NxCx4x3:i64", NULL},
    {"pool output=4", "2x3x0:f32", "!from 0 to 4", NULL},
};

static const infer_case resizes[] = {
    {"resize_grad image=1,2,3,4", "1x2x6x8:f32", "1x2x3x4:f32", NULL},
    {"resize_grad image=3,4 scales=2,2 roi=0,0,1,1 mode=linear", "6x8:f64", "3x4:f64", NULL},
    {"resize_grad image=3", "6x8:f32", "!image has 1 numbers, expected 2", NULL},
    {"resize_grad image=3,0", "6x8:f32", "!but image nothing", NULL},
    {"resize_grad image=3,4 scales=2", "6x8:f32", "!scales has 1 numbers", NULL},
    {"resize_grad image=3,4 scales=2,0", "6x8:f32", "!no positive number", NULL},
};
/* clang-format on */

#define COUNT(list) (sizeof(list) / sizeof *(list))

static void norm_shapes(void **state)
{
    (void)state;
    infer_cases(norms, COUNT(norms));
}

static void window_shapes(void **state)
{
    (void)state;
    infer_cases(windows, COUNT(windows));
}

static void resize_shapes(void **state)
{
    (void)state;
    infer_cases(resizes, COUNT(resizes));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(norm_shapes),
                                       cmocka_unit_test(window_shapes),
                                       cmocka_unit_test(resize_shapes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
