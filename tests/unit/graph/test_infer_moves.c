/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of operators that move, join and cut, against ONNX's rules. */
#include "infer_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* clang-format off */
/* Random slices; expected: ONNX Runtime. */
static const infer_case random_slices[] = {
    {"slice", "9x8x8x9:f32 2:i64=-1,1 2:i64=4611686018427387904,7 2:i64=1,-2 2:i64=1,1", "9x1x6x9:f32", NULL},
    {"slice", "7:f32 1:i64=1 1:i64=0 1:i64=-1 1:i64=1", "0:f32", NULL},
    {"slice", "1x8:f32 2:i64=-100,0 2:i64=1,4611686018427387904 2:i64=1,-2 2:i64=3,2", "1x1:f32", NULL},
    {"slice", "1:f32 1:i64=0 1:i64=100 1:i64=0 1:i64=7", "1:f32", NULL},
    {"slice", "7x2x2:f32 1:i64=-3 1:i64=0 1:i64=0 1:i64=-2", "2x2x2:f32", NULL},
    {"slice", "5x9x3x2:f32 2:i64=1,2 2:i64=3,3 2:i64=1,-1 2:i64=3,1", "5x1x3x0:f32", NULL},
    {"slice", "8:f32 1:i64=-1 1:i64=100 1:i64=-1 1:i64=2", "1:f32", NULL},
    {"slice", "8:f32 1:i64=0 1:i64=4611686018427387904 1:i64=-1 1:i64=-2", "0:f32", NULL},
    {"slice", "8:f32 1:i64=5 1:i64=7 1:i64=-1 1:i64=1", "2:f32", NULL},
    {"slice", "4x3x3:f32 2:i64=2,-1 2:i64=1,4611686018427387904 2:i64=-2,-3 2:i64=-1,2", "1x1x3:f32", NULL},
    {"slice", "7x7:f32 2:i64=2,0 2:i64=7,100 2:i64=1,-2 2:i64=2,3", "3x3:f32", NULL},
    {"slice", "3:f32 1:i64=2 1:i64=3 1:i64=0 1:i64=7", "1:f32", NULL},
    {"slice", "1x2:f32 2:i64=-3,-100 2:i64=7,-1 2:i64=-2,-1 2:i64=3,1", "1x1:f32", NULL},
    {"slice", "8x6x4:f32 1:i64=1 1:i64=3 1:i64=-1 1:i64=1", "8x6x2:f32", NULL},
    {"slice", "4x5x3x9:f32 3:i64=0,0,100 3:i64=-4611686018427387904,1,4611686018427387904 3:i64=3,0,-3 3:i64=1,3,1", "1x0x3x0:f32", NULL},
    {"slice", "6x4x8:f32 1:i64=1 1:i64=-4611686018427387904 1:i64=-2 1:i64=-2", "6x1x8:f32", NULL},
    {"slice", "9x4:f32 1:i64=5 1:i64=-1 1:i64=-2 1:i64=2", "2x4:f32", NULL},
    {"slice", "7x9x3x4:f32 4:i64=5,-3,1,-100 4:i64=1,0,0,-4611686018427387904 4:i64=-4,-1,2,1 4:i64=-2,-2,-2,-1", "2x1x1x1:f32", NULL},
    {"slice", "4x3:f32 1:i64=-1 1:i64=7 1:i64=0 1:i64=3", "1x3:f32", NULL},
    {"slice", "4:f32 1:i64=2 1:i64=7 1:i64=0 1:i64=2", "1:f32", NULL},
};

static const infer_case slices[] = {
    {"slice", "10x8:f32 1:i64=1 1:i64=9 1:i64=0 1:i64=3", "3x8:f32", "starts=1,0 steps=3,1"},
    {"slice", "10x8:f32 1:i64=-1 1:i64=-9223372036854775808 1:i64=1 1:i64=-1", "10x8:f32", "starts=0,7 steps=1,-1"},
    {"slice", "10x8:f32 1:i64=9223372036854775807 1:i64=-9223372036854775808 1:i64=1 1:i64=-9223372036854775808", "10x1:f32", NULL},
    {"slice starts=1,2 ends=3,100", "10x8:f32", "2x6:f32", "starts=1,2 steps=1,1"},
    {"slice starts=1 ends=3 axes=1", "10x8:f32", "10x2:f32", "starts=0,1 steps=1,1"},
    {"slice starts=1 ends=3 axes=1", "Nx8:f32", "Nx2:f32", "ends=3"},
    {"slice", "Nx8:f32 1:i64=1 1:i64=9223372036854775807 1:i64=0", "N-1x8:f32", NULL},
    {"slice", "Nx8:f32 1:i64=0 1:i64=-2 1:i64=0", "N-2x8:f32", NULL},
    {"slice", "Nx8:f32 1:i64=0 1:i64=9223372036854775807 1:i64=0 1:i64=2", "(N+1)/2x8:f32", NULL},
    {"slice", "Nx8:f32 1:i64=-1 1:i64=-9223372036854775807 1:i64=0 1:i64=-1", "Nx8:f32", NULL},
    {"slice", "Nx8:f32 1:i64=2 1:i64=5 1:i64=0", "_x8:f32", NULL},
    {"slice", "10x8:f32 1:i64 1:i64=9 1:i64=0", "later _x8:f32", NULL},
    {"slice", "10x8:f32 1:i64 1:i64=9 1:i64", "later _x_:f32", NULL},
    {"slice", "10x8:f32 ?:i64 1:i64=9", "later ?:f32", NULL},
    {"slice", "10x8:f32 1:i64=0 1:i64=9 1:i64=2", "!axis 2 is outside rank 2", NULL},
    {"slice", "10x8:f32 2:i64=0,0 2:i64=9,9 2:i64=0,-2", "!is given twice", NULL},
    {"slice", "10x8:f32 1:i64=0 1:i64=9 1:i64=0 1:i64=0", "!a step is 0", NULL},
    {"slice", "10x8:f32 2:i64=0,0 1:i64=9", "!2 starts, 1 ends", NULL},
    {"slice", "10x8:f32 1:f32=0 1:i64=9", "!must have an integer type", NULL},
};

/* Empty dims, which ONNX Runtime slices to nothing whatever the numbers say. */
static const infer_case empty_slices[] = {
    {"slice", "0:f32 1:i64=-2 1:i64=-2 1:i64=0 1:i64=-2", "0:f32", "starts=0 steps=-2"},
    {"slice", "0x3:f32 1:i64=-1 1:i64=-9223372036854775808 1:i64=0 1:i64=-1", "0x3:f32", "starts=0,0 steps=-1,1"},
    {"slice", "2x0x3:f32 3:i64=-1,0,2 3:i64=-3,-1,-4 3:i64=0,1,2 3:i64=-1,-3,-2", "2x0x2:f32", "starts=1,0,2 steps=-1,-3,-2"},
    {"slice", "0:f32 1:i64=9223372036854775807 1:i64=-9223372036854775808 1:i64=0 1:i64=-9223372036854775808", "0:f32", NULL},
    {"slice", "0:f32 1:i64=-9223372036854775808 1:i64=9223372036854775807 1:i64=0 1:i64=1", "0:f32", "starts=0 steps=1"},
    {"slice", "0:f32 1:i64=-3 1:i64=2 1:i64=0 1:i64=3", "0:f32", "starts=0 steps=3"},
    {"slice starts=-2,0 ends=-1,2", "0x3:f32", "0x2:f32", "starts=0,0 steps=1,1"},
};

static const infer_case moves[] = {
    {"concat axis=1", "2x3:f32 2xC:f32 Nx4:f32", "2xC+7:f32", NULL},
    {"concat axis=-1", "2x3:f32 2x0:f32", "2x3:f32", "axis=1"},
    {"concat axis=1", "2x3:f32 3x3:f32", "!has 3 in dim 0, expected 2", NULL},
    {"concat axis=1", "2x3:f32 2x3x1:f32", "!has rank 3, expected 2", NULL},
    {"concat axis=1", "2x3:f32 2x3:i64", "!must have the type of input 0", NULL},
    {"concat axis=1", "2x3:f32 -", "!input 1 is absent", NULL},
    {"concat axis=0", "2x3:f32 ~5x3:f32", "later _x3:f32", NULL},
    {"concat axis=0", "4611686018427387904:i8 1:i8", "!beyond 2^62", NULL},
    {"split axis=1", "2x6:f32", "2x2:f32 2x2:f32 2x2:f32", NULL},
    {"split axis=1 num_outputs=3", "2x7:f32", "2x3:f32 2x3:f32 2x1:f32", NULL},
    {"split axis=1 num_outputs=3", "2x4:f32", "2x2:f32 2x2:f32 2x0:f32", NULL},
    {"split axis=1 num_outputs=4", "2x5:f32", "!!!!would be negative", NULL},
    {"split axis=1", "2x7:f32", "!!does not split into 2 equal parts", NULL},
    {"split axis=1 num_outputs=3", "2x6:f32", "!!num_outputs is 3, but the node has 2 outputs", NULL},
    {"split axis=-1", "2x6:f32 2:i64=1,5", "2x1:f32 2x5:f32", "axis=1"},
    {"split axis=1", "2xC:f32 2:i64=1,5", "2x1:f32 2x5:f32", NULL},
    {"split axis=1", "2x6:f32 2:i64", "later 2x_:f32 2x_:f32", NULL},
    {"split axis=1", "2x6:f32 2:i64=1,6", "!!has the sum 7, expected 6", NULL},
    {"split axis=1", "2x6:f32 2:i64=-1,7", "!!negative", NULL},
    {"pad", "2x3:f32 4:i64=1,0,2,-1", "5x2:f32", "pads=1,0,2,-1"},
    {"pad", "2x3:f32 2:i64=1,2 scalar:f32=0 1:i64=-1", "2x6:f32", "pads=0,1,0,2"},
    {"pad pads=0,1,0,2", "Nx3:f32", "Nx6:f32", NULL},
    {"pad", "HxW:f32 4:i64=1,1,-1,1", "HxW+2:f32", NULL},
    {"pad", "2x3:f32 4:i64", "later _x_:f32", NULL},
    {"pad", "2x3:f32 4:i64=1,0,-4,0", "!would be negative", NULL},
    {"pad", "2x3:f32 3:i64=1,0,-4", "!has 3 numbers, expected 4", NULL},
    {"pad mode=reflect", "2x3:f32 4:i64=0,2,0,2", "2x7:f32", NULL},
    {"pad mode=reflect", "2x3:f32 4:i64=0,3,0,0", "!too few", NULL},
    {"pad mode=edge", "2x0:f32 4:i64=0,3,0,0", "!too few", NULL},
    {"pad", "2x0:f32 4:i64=0,3,0,0", "2x3:f32", NULL},
    {"tile", "2xW:f32 2:i64=3,2", "6x2*W:f32", NULL},
    {"tile", "2x3:f32 2:i64=0,1", "0x3:f32", NULL},
    {"tile", "2x3:f32 2:i64", "later _x_:f32", NULL},
    {"tile", "2x3:f32 1:i64=2", "!has 1 numbers, expected 2", NULL},
    {"expand", "3x1:f32 3:i64=2,1,6", "2x3x6:f32", NULL},
    {"expand", "3x1:f32 1:i64=1", "3x1:f32", NULL},
    {"expand", "Nx1:f32 2:i64=1,6", "Nx6:f32", NULL},
    {"expand", "3x1:f32 2:i64=2,6", "!does not broadcast with 2x6", NULL},
    {"expand", "3x1:f32 3:i64", "later _x_x_:f32", NULL},
    {"expand", "3x1:f32 1:i64", "later _x_:f32", NULL},
    {"center_crop_pad", "20x10x3:f32 3:i64=10,7,5", "10x7x5:f32", NULL},
    {"center_crop_pad axes=-1,0", "20x10x3:f32 2:i64=10,7", "7x10x10:f32", "axes=2,0"},
    {"center_crop_pad", "20x10:f32 1:i64=10", "!has 1 numbers, expected 2", NULL},
    {"reshape", "2x3x4:f32 3:i64=4,-1,3", "4x2x3:f32", NULL},
    {"reshape", "2x3x4:f32 3:i64=0,-1,0", "2x3x4:f32", NULL},
    {"reshape", "2x3x4:f32 2:i64=0,-1", "2x12:f32", NULL},
    {"reshape shape=0,-1", "2x3x4:f32", "2x12:f32", NULL},
    {"reshape", "Nx3x4:f32 2:i64=-1,12", "Nx12:f32", NULL},
    {"reshape", "Nx3xHxW:f32 3:i64=0,3,-1", "Nx3xH*W:f32", NULL},
    {"reshape", "NxHx8:f32 4:i64=0,-1,2,4", "NxHx2x4:f32", NULL},
    {"reshape", "0x3:f32 2:i64=3,0", "!has 0 elements", NULL},
    {"reshape allow_zero=1", "0x3:f32 2:i64=3,0", "3x0:f32", NULL},
    {"reshape allow_zero=1", "0x3:f32 2:i64=-1,0", "!cannot be computed beside a dim of 0", NULL},
    {"reshape", "2x3:f32 0:i64", "!has 6 elements", NULL},
    {"reshape", "1x1:f32 0:i64", "scalar:f32", NULL},
    {"reshape", "2x3:f32 2:i64=-1,-1", "!has -1 at 1", NULL},
    {"reshape", "2x3:f32 2:i64=-2,3", "!has -2 at 0", NULL},
    {"reshape", "2x3:f32 2:i64=4,2", "!has 6 elements, the output's shape 4x2 has 8", NULL},
    {"reshape", "2x3:f32 2:i64=4,-1", "!has 6 elements", NULL},
    {"reshape", "2x3:f32 3:i64", "later _x_x_:f32", NULL},
    {"reshape", "2x3:f32 K:i64", "later ?:f32", NULL},
    {"reshape", "2x3:f32 17:i64=1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2,3", "!at most 16", NULL},
    {"flatten axis=2", "2x3x4x5:f32", "6x20:f32", NULL},
    {"flatten axis=0", "2x3:f32", "1x6:f32", NULL},
    {"flatten axis=-1", "2x3x4:f32", "6x4:f32", "axis=2"},
    {"flatten axis=3", "2x3x4:f32", "24x1:f32", NULL},
    {"flatten", "Nx3x4:f32", "Nx12:f32", NULL},
    {"flatten axis=4", "2x3x4:f32", "!axis 4 is outside rank 3", NULL},
    {"squeeze", "1x3x1:f32", "3:f32", "axes=0,2"},
    {"squeeze", "1x3x1:f32 1:i64=-1", "1x3:f32", "axes=2"},
    {"squeeze axes=0", "1xHx1:f32", "Hx1:f32", NULL},
    {"squeeze", "1xHx1:f32", "later ?:f32", NULL},
    {"squeeze axes=1", "1x3x1:f32", "!has 3 in dim 1, only a dim of 1", NULL},
    {"squeeze", "1x3x1:f32 1:i64", "later ?:f32", NULL},
    {"unsqueeze axes=3,0", "2x3:f32", "1x2x3x1:f32", "axes=0,3"},
    {"unsqueeze", "2x3:f32 1:i64=-1", "2x3x1:f32", "axes=2"},
    {"unsqueeze", "2x3:f32 2:i64=0,-4", "!is given twice", NULL},
    {"unsqueeze axes=0", "1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1:f32", "!rank 17", NULL},
    {"transpose", "2xHx4:f32", "4xHx2:f32", "perm=2,1,0"},
    {"transpose perm=0,2,1", "2x3x4:f32", "2x4x3:f32", NULL},
    {"transpose perm=0,2,2", "2x3x4:f32", "!is given twice", NULL},
    {"transpose perm=0,1", "2x3x4:f32", "!perm has 2 numbers, expected 3", NULL},
    {"depth_to_space block=2", "1x8xHx3:f32", "1x2x2*Hx6:f32", NULL},
    {"depth_to_space block=3", "1x8x2x3:f32", "!expected a multiple of 9", NULL},
    {"depth_to_space block=4611686018427387904", "1x8x2x3:f32", "!blocksize", NULL},
    {"space_to_depth block=2", "1x2x4x6:f32", "1x8x2x3:f32", NULL},
    {"space_to_depth block=2", "1x2x5x6:f32", "!expected a multiple of 2", NULL},
    {"space_to_depth block=0", "1x2x5x6:f32", "!blocksize", NULL},
    {"identity", "Nx3:bool", "Nx3:bool", NULL},
    {"copy", "2x3:f16", "2x3:f16", NULL},
    {"shape", "2xNx4:f32", "3:i64", NULL},
    {"shape start=-2", "2xNx4:f32", "2:i64", NULL},
    {"shape start=1 end=1", "2xNx4:f32", "0:i64", NULL},
    {"shape start=-9 end=9", "2xNx4:f32", "3:i64", NULL},
    {"shape size=1", "2xNx4:f32", "scalar:i64", NULL},
};

/* clang-format on */

static void test_random_slices(void **state)
{
    (void)state;
    infer_cases(random_slices, sizeof random_slices / sizeof *random_slices);
}

static void test_slices(void **state)
{
    (void)state;
    infer_cases(slices, sizeof slices / sizeof *slices);
    infer_cases(empty_slices, sizeof empty_slices / sizeof *empty_slices);
}

static void test_moves(void **state)
{
    (void)state;
    infer_cases(moves, sizeof moves / sizeof *moves);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_slices),
        cmocka_unit_test(test_slices),
        cmocka_unit_test(test_moves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
