/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of resizing, of operators along an axis, of gathers, and of operators that make values. */
#include "infer_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* clang-format off */
/* Random scales and sizes; expected: ONNX Runtime. */
static const infer_case random_resizes[] = {
    {"resize", "1x2x9x9:f32 - 4:f32=1,1,0.899999976,2.70000005", "1x2x8x24:f32", NULL},
    {"resize", "1x2x9x2:f32 - 4:f32=1,1,0.800000012,3", "1x2x7x6:f32", NULL},
    {"resize", "1x2x2x9:f32 - 4:f32=1,1,1.10000002,0.800000012", "1x2x2x7:f32", NULL},
    {"resize", "1x2x8x3:f32 - 4:f32=1,1,3,0.899999976", "1x2x24x2:f32", NULL},
    {"resize", "1x2x1x7:f32 - 4:f32=1,1,3,2.70000005", "1x2x3x18:f32", NULL},
    {"resize", "1x2x5x9:f32 - 4:f32=1,1,2.70000005,1.10000002", "1x2x13x9:f32", NULL},
    {"resize", "1x2x5x6:f32 - 4:f32=1,1,0.899999976,1.66666663", "1x2x4x10:f32", NULL},
    {"resize", "1x2x8x5:f32 - 4:f32=1,1,0.899999976,1.66666663", "1x2x7x8:f32", NULL},
    {"resize", "1x2x5x1:f32 - 4:f32=1,1,0.5,1.5", "1x2x2x1:f32", NULL},
    {"resize", "1x2x1x3:f32 - 4:f32=1,1,2.70000005,0.800000012", "1x2x2x2:f32", NULL},
    {"resize", "1x2x7x1:f32 - 4:f32=1,1,2,2.70000005", "1x2x14x2:f32", NULL},
    {"resize", "1x2x7x8:f32 - 4:f32=1,1,1.66666663,1.5", "1x2x11x12:f32", NULL},
    {"resize", "1x2x3x4:f32 - 4:f32=1,1,1.10000002,0.300000012", "1x2x3x1:f32", NULL},
    {"resize", "1x2x1x7:f32 - 4:f32=1,1,3,0.300000012", "1x2x3x2:f32", NULL},
    {"resize", "1x2x3x2:f32 - 4:f32=1,1,2,3", "1x2x6x6:f32", NULL},
    {"resize", "1x2x3x7:f32 - 4:f32=1,1,3,1.10000002", "1x2x9x7:f32", NULL},
    {"resize mode=linear axes=2,3 policy=stretch", "1x2x5x7:f32 - - 2:i64=12,17", "1x2x12x17:f32", NULL},
    {"resize mode=linear axes=2,3 policy=stretch", "1x2x5x3:f32 - - 2:i64=8,16", "1x2x8x16:f32", NULL},
    {"resize mode=linear axes=2,3 policy=not_larger", "1x2x9x5:f32 - - 2:i64=17,20", "1x2x17x9:f32", NULL},
    {"resize mode=linear axes=2,3 policy=not_smaller", "1x2x5x5:f32 - - 2:i64=20,19", "1x2x20x20:f32", NULL},
    {"resize mode=linear axes=2,3 policy=stretch", "1x2x4x5:f32 - - 2:i64=8,7", "1x2x8x7:f32", NULL},
    {"resize mode=linear axes=2,3 policy=stretch", "1x2x9x4:f32 - - 2:i64=2,2", "1x2x2x2:f32", NULL},
    {"resize mode=linear axes=2,3 policy=not_smaller", "1x2x5x5:f32 - - 2:i64=14,1", "1x2x14x14:f32", NULL},
    {"resize mode=linear axes=2,3 policy=not_larger", "1x2x1x2:f32 - - 2:i64=8,18", "1x2x8x16:f32", NULL},
    {"resize mode=linear axes=2,3 policy=stretch", "1x2x2x2:f32 - - 2:i64=6,18", "1x2x6x18:f32", NULL},
    {"resize mode=linear axes=2,3 policy=stretch", "1x2x6x8:f32 - - 2:i64=16,12", "1x2x16x12:f32", NULL},
};

static const infer_case resizes[] = {
    {"resize", "1x2x3x4:f32 - 4:f32=1,1,2,0.5", "1x2x6x2:f32", "scales=1,1,2,0.5 roi=0,0,0,0,1,1,1,1"},
    {"resize", "1x2x3x4:f32 - - 4:i64=1,2,7,8", "1x2x7x8:f32", "scales=1,1,2.3333333333333335,2"},
    {"resize axes=3,-2", "1x2x3x4:f32 - - 2:i64=8,6", "1x2x6x8:f32", "axes=3,2 scales=1,1,2,2"},
    {"resize axes=2,3", "NxCx3x4:f32 - 2:f32=2,3", "NxCx6x12:f32", "scales=1,1,2,3"},
    {"resize", "Nx2xHxW:f32 - 4:f32=1,1,2,0.5", "Nx2x2*HxW/2:f32", NULL},
    {"resize", "1x2xHxW:f32 - - 4:i64=1,2,7,8", "1x2x7x8:f32", NULL},
    {"resize", "1x2x3x4:f32 0:f32 0:f32 4:i64=1,2,7,8", "1x2x7x8:f32", NULL},
    {"resize", "1x2x3x4:f32 - - 4:i64", "later _x_x_x_:f32", NULL},
    {"resize axes=2,3", "1x2x3x4:f32 - 2:f32", "later 1x2x_x_:f32", NULL},
    {"resize scales=1,1,2,2", "1x2x3x4:f32", "1x2x6x8:f32", NULL},
    {"resize coordinates=tf_crop_and_resize axes=2,3", "1x1x4x4:f32 4:f32=0.25,0,0.75,1 2:f32=2,2", "1x1x8x8:f32", "roi=0,0,0.25,0,1,1,0.75,1"},
    {"resize coordinates=tf_crop_and_resize axes=2", "1x1x8x4:f32 2:f32=0.75,0.25 1:f32=1.3", "1x1x10x4:f32", NULL},
    {"resize coordinates=tf_crop_and_resize", "1x1x4x4:f32 - - 4:i64=1,1,3,3", "!needs the roi", NULL},
    {"resize coordinates=tf_crop_and_resize", "1x1x4x4:f32 4:f32=0,0,1,1 - 4:i64=1,1,3,3", "!input 1, value 'value/1' (f32 4), has 4 numbers, expected 8", NULL},
    {"resize", "1x1x4x4:f32 - 4:f32=1,1,2,2 4:i64=1,1,8,8", "!both scales and sizes", NULL},
    {"resize", "1x1x4x4:f32 - 0:f32 4:i64=1,1,8,8", "1x1x8x8:f32", NULL},
    {"resize coordinates=tf_crop_and_resize", "1x1x4x4:f32 8:f32 - 4:i64=1,1,3,3", "later _x_x_x_:f32", NULL},
    {"resize", "1x2x3x4:f32", "!neither sizes nor a scale", NULL},
    {"resize", "1x2x3x4:f32 - 4:f32=1,1,0,2", "!expected a positive number", NULL},
    {"resize", "1x2x3x4:f32 - 3:f32=1,1,2", "!has 3 numbers, expected 4", NULL},
    {"resize", "1x2x0x4:f32 - - 4:i64=1,2,7,8", "!asks for 7 in dim 2, which has 0", NULL},
    {"resize", "1x2x3x4:f32 - 4:f32=1,1,1e30,2", "!would be", NULL},
};

static const infer_case axes[] = {
    {"batch_norm", "Nx3x4:f32 3:f32 3:f32 3:f32 3:f32", "Nx3x4:f32", NULL},
    {"batch_norm", "2x3x4:f32 4:f32 3:f32 3:f32 3:f32", "!has 4 in dim 0, expected 3", NULL},
    {"batch_norm spatial=0", "2x3x4:f32 3x4:f32 3x4:f32 3x4:f32 3x4:f32", "2x3x4:f32", NULL},
    {"batch_norm", "2x3x4:i32 3:f32 3:f32 3:f32 3:f32", "!expected f16, bf16, f32 or f64", NULL},
    {"group_norm groups=3", "2x6x4:f32 6:f32 6:f32", "2x6x4:f32", NULL},
    {"group_norm groups=4", "2x6x4:f32 6:f32 6:f32", "!a divisor of the 6 channels", NULL},
    {"layer_norm", "2x3x4:f16 4:f16 4:f16", "2x3x4:f16 2x3x1:f32 2x3x1:f32", "axis=2"},
    {"layer_norm axis=1", "2x3x4:f32 3x4:f32", "2x3x4:f32", NULL},
    {"layer_norm axis=1", "2x3x4:f32 3x5:f32", "!has 5 in dim 1, expected 4", NULL},
    {"layer_norm axis=3", "2x3x4:f32 4:f32", "!axis 3 is outside rank 3", NULL},
    {"lrn size=5", "2x3x4x4:f32", "2x3x4x4:f32", NULL},
    {"lrn size=0", "2x3x4x4:f32", "!size is 0", NULL},
    {"softmax axis=-1", "2x3:f32", "2x3:f32", "axis=1"},
    {"softmax axis=2", "2x3:f32", "!axis 2 is outside rank 2", NULL},
    {"cumsum", "2x3:f32 scalar:i64=-1", "2x3:f32", "axis=1"},
    {"cumsum", "2x3:f32 scalar:i32", "later 2x3:f32", NULL},
    {"cumsum", "2x3:f32 2:i32=0,1", "!must be one number", NULL},
    {"arg_reduce axis=-1", "2x3:f32", "2x1:i64", "axis=1"},
    {"arg_reduce keepdims=0", "2x3:f32", "3:i64", NULL},
    {"arg_reduce", "0x3:f32", "!no elements along axis 0", NULL},
    {"topk", "2x8:f32 1:i64=3", "2x3:f32 2x3:i64", "axis=1 k=3"},
    {"topk axis=0 k=2", "2x8:f32", "2x8:f32 2x8:i64", NULL},
    {"topk", "2x8:f32 1:i64", "later 2x_:f32 2x_:i64", NULL},
    {"topk", "2x8:f32 1:i64=9", "!expected at least k = 9", NULL},
    {"topk", "2x8:f32 1:i64=-1", "!negative", NULL},
    {"trilu", "2x3x4:f32 scalar:i64=-1", "2x3x4:f32", "k=-1"},
    {"trilu", "4:f32", "!has rank 1", NULL},
    {"reverse_sequence", "4x2x3:f32 2:i64", "4x2x3:f32", NULL},
    {"reverse_sequence batch_axis=0 time_axis=1", "4x2x3:f32 4:i64", "4x2x3:f32", NULL},
    {"reverse_sequence batch_axis=0 time_axis=0", "4x2x3:f32 4:i64", "!expected 0 and 1", NULL},
    {"reverse_sequence", "4x2x3:f32 3:i64", "!has 3 in dim 0, expected 2", NULL},
};

static const infer_case indices[] = {
    {"gather", "5x4:f32 2x3:i64", "2x3x4:f32", NULL},
    {"gather axis=-1", "5x4:f32 scalar:i64", "5:f32", "axis=1"},
    {"gather axis=1", "NxCxH:f32 K:i32", "NxKxH:f32", NULL},
    {"gather", "5x4:f32 2x3:f32", "!must have an integer type", NULL},
    {"gather", "scalar:f32 2:i64", "!axis 0 is outside rank 0", NULL},
    {"gather_elements axis=1", "5x4:f32 5x7:i64", "5x7:f32", NULL},
    {"gather_elements axis=1", "5x4:f32 6x7:i64", "!more elements in dim 0", NULL},
    {"gather_elements", "5x4:f32 5:i64", "!has rank 1, expected 2", NULL},
    {"gather_nd", "2x3x4:f32 5x2:i64", "5x4:f32", NULL},
    {"gather_nd batch_dims=1", "2x3x4:f32 2x1:i64", "2x4:f32", NULL},
    {"gather_nd", "2x3x4:f32 5x4:i64", "!tuples of 4 indices, expected at most 3", NULL},
    {"gather_nd", "2x3x4:f32 5xK:i64", "later ?:f32", NULL},
    {"gather_nd batch_dims=2", "2x3x4:f32 2x1:i64", "!batch_dims is 2", NULL},
    {"scatter_elements axis=1", "5x4:f32 5x2:i64 5x2:f32", "5x4:f32", NULL},
    {"scatter_elements axis=1", "5x4:f32 5x2:i64 5x3:f32", "!has 3 in dim 1, expected 2", NULL},
    {"scatter_elements", "5x4:f32 5x2:i64 5x2:f64", "!must have the type of input 0", NULL},
    {"scatter_nd", "5x4:f32 3x1:i64 3x4:f32", "5x4:f32", NULL},
    {"scatter_nd", "5x4:f32 3x2:i64 3:f32", "5x4:f32", NULL},
    {"scatter_nd", "5x4:f32 3x1:i64 3x5:f32", "!has 5 in dim 1, expected 4", NULL},
    {"nonzero", "2x3x4:f32", "~3x24:i64", NULL},
    {"nonzero", "2xN:f32", "~2x2*N:i64", NULL},
    {"compress", "3x4:f32 5:bool", "~5:f32", NULL},
    {"compress axis=1 flat=0", "3x4:f32 5:bool", "~3x4:f32", NULL},
    {"compress axis=1 flat=0", "3x4:f32 2:bool", "~3x2:f32", NULL},
    {"compress axis=2 flat=0", "3x4:f32 2:bool", "!axis 2 is outside rank 2", NULL},
    {"compress", "3x4:f32 5:i64", "!must be bool", NULL},
    {"nms", "2x6x4:f32 2x3x6:f32 1:i64=5 1:f32=0.5 1:f32=0", "~30x3:i64", "max_output=5 iou_threshold=0.5 score_threshold=0"},
    {"nms", "2x6x4:f32 2x3x6:f32 1:i64=5 1:f32=1.5", "!iou_threshold is 1.5, expected 0 to 1", NULL},
    {"nms", "2x6x4:f32 2x3x6:f32 1:i64=5 1:f32=nan", "!iou_threshold is nan", NULL},
    {"nms", "2x6x4:f32 2x3x6:f32 1:i64=50", "~36x3:i64", NULL},
    {"nms", "2x6x4:f32 2x3x6:f32", "~0x3:i64", NULL},
    {"nms", "2x6x4:f32 2x3x6:f32 1:i64=-3", "~0x3:i64", "nms"},
    {"nms", "2x6x4:f32 2x3x6:f32 1:i64=5 1:f32=1.5", "!iou_threshold is 1.5, expected 0 to 1", NULL},
    {"nms", "2x6x4:f32 2x3x6:f32 1:i64=5 1:f32=nan", "!iou_threshold is nan", NULL},
    {"nms", "2x6x4:f32 2x3x6:f32 1:i64", "later ~36x3:i64", NULL},
    {"nms", "2x6x4:f32 2x3x7:f32 1:i64=5", "!has 7 in dim 2, expected 6", NULL},
    {"nms", "2x6x5:f32 2x3x6:f32 1:i64=5", "!has 5 in dim 2, expected 4", NULL},
};

static const infer_case created[] = {
    {"constant_of_shape", "2:i64=2,3", "2x3:f32", NULL},
    {"constant_of_shape dtype=8", "0:i64", "scalar:i64", NULL},
    {"constant_of_shape", "2:i64", "later _x_:f32", NULL},
    {"constant_of_shape", "K:i64", "later ?:f32", NULL},
    {"constant_of_shape", "?:i64", "later ?:f32", NULL},
    {"constant_of_shape", "1:i64=-1", "!negative", NULL},
    {"constant_of_shape dtype=99", "1:i64=1", "!element type 99", NULL},
    {"constant_of_shape", "2:i64=4611686018427387904,4611686018427387904", "!more bytes than 2^63", NULL},
    {"range", "scalar:i64=1 scalar:i64=10 scalar:i64=3", "3:i64", "integer_start=1 integer_delta=3"},
    {"range", "scalar:i64=10 scalar:i64=1 scalar:i64=-3", "3:i64", NULL},
    {"range", "scalar:i64=10 scalar:i64=1 scalar:i64=3", "0:i64", NULL},
    {"range", "scalar:f32=0 scalar:f32=1 scalar:f32=0.25", "4:f32", "delta=0.25"},
    {"range", "scalar:i64=9007199254740992 scalar:i64=9007199254740997 scalar:i64=1", "5:i64", "integer_start=9007199254740992"},
    {"range", "scalar:i64=9007199254740993 scalar:i64=9007199254740996 scalar:i64=2", "2:i64", "integer_start=9007199254740993 integer_delta=2"},
    {"range", "scalar:i64=9223372036854775807 scalar:i64=-9223372036854775808 scalar:i64=-4611686018427387904", "4:i64", NULL},
    {"range", "scalar:i64=-9223372036854775808 scalar:i64=9223372036854775807 scalar:i64=9223372036854775807", "3:i64", NULL},
    {"range", "scalar:i16=-32768 scalar:i16=32767 scalar:i16=32767", "3:i16", NULL},
    {"range", "scalar:u64=9223372036854775807 scalar:u64=-1 scalar:u64=9223372036854775807", "2:u64", NULL},
    {"range", "scalar:u64=-1 scalar:u64=1 scalar:u64=1", "0:u64", NULL},
    {"range", "scalar:i64=1 scalar:i64=10 scalar:i64", "later _:i64", NULL},
    {"range", "scalar:i64=1 scalar:i64=10 scalar:i64=0", "!delta is 0", NULL},
    {"range", "scalar:f32=1 scalar:f32=10 scalar:f32=0", "!not a finite range", NULL},
    {"range", "scalar:i64=-9223372036854775808 scalar:i64=9223372036854775807 scalar:i64=1", "!beyond 2^62", NULL},
    {"range", "scalar:i64=1 scalar:f32=10 scalar:i64=1", "!must have the type of input 0", NULL},
    {"one_hot", "2x3:i64 scalar:i64=5 2:f32", "2x3x5:f32", "axis=2"},
    {"one_hot axis=0", "2x3:f32 1:f32=5 2:i8", "5x2x3:i8", NULL},
    {"one_hot", "2x3:i64 scalar:i64 2:f32", "later 2x3x_:f32", NULL},
    {"one_hot", "2x3:i64 scalar:i64=-1 2:f32", "!expected a number of classes", NULL},
    {"one_hot", "2x3:i64 scalar:i64=5 3:f32", "!has 3 in dim 0, expected 2", NULL},
    {"eye_like", "3x4:f32", "3x4:f32", NULL},
    {"eye_like dtype=8", "3x4:f32", "3x4:i64", NULL},
    {"eye_like", "3:f32", "!has rank 1, expected 2", NULL},
    {"eye_like dtype=8", "?:f32", "later ?:i64", NULL},
};

/* clang-format on */

static void test_random_resizes(void **state)
{
    (void)state;
    infer_cases(random_resizes, sizeof random_resizes / sizeof *random_resizes);
}

static void test_resizes(void **state)
{
    (void)state;
    infer_cases(resizes, sizeof resizes / sizeof *resizes);
}

static void test_axes(void **state)
{
    (void)state;
    infer_cases(axes, sizeof axes / sizeof *axes);
}

static void test_indices(void **state)
{
    (void)state;
    infer_cases(indices, sizeof indices / sizeof *indices);
}

static void test_created(void **state)
{
    (void)state;
    infer_cases(created, sizeof created / sizeof *created);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_resizes), cmocka_unit_test(test_resizes),
        cmocka_unit_test(test_axes),           cmocka_unit_test(test_indices),
        cmocka_unit_test(test_created),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
