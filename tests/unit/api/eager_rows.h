/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients and pools of eager mode, with the reference kernels that they are compared with. */
#ifndef TESTS_UNIT_API_EAGER_ROWS_H
#define TESTS_UNIT_API_EAGER_ROWS_H

typedef struct row {
    const char *problem, *reference;
    double error; /* relative to the largest element; 0: equal elements */
} row;

#define F32  3e-6
#define HALF 2e-2

static const row gradients[] = {
    {"softmax_grad x0=5x37:f32 x1=5x37:f32 y0=5x37:f32 axis=1", "softmax_grad_ref", F32},
    {"softmax_grad x0=3x19x4:f32 x1=3x19x4:f32 y0=3x19x4:f32 axis=1 kind=log_softmax",
     "softmax_grad_ref", F32},
    {"softmax_grad x0=3x4x5:f32 x1=3x4x5:f32 y0=3x4x5:f32 axis=1 flatten=1", "softmax_grad_ref",
     F32},
    {"softmax_grad x0=7x1:f32 x1=7x1:f32 y0=7x1:f32 axis=-1", "softmax_grad_ref", F32},
    {"softmax_grad x0=6:f32 x1=6:f32 y0=6:f32 axis=1 flatten=1", "softmax_grad_ref", F32},
    {"softmax_grad x0=3x33:f16 x1=3x33:f16 y0=3x33:f16 axis=1", "softmax_grad_ref", HALF},
    {"softmax_grad x0=3x33:bf16 x1=3x33:bf16 y0=3x33:bf16 axis=0 kind=log_softmax",
     "softmax_grad_ref", HALF},
    {"softmax_grad x0=5x37:f32:0,1 x1=5x37:f32 y0=5x37:f32 axis=1", "softmax_grad_ref", F32},
    {"softmax_grad x0=5x37:f32:0,0 x1=5x37:f32:1,5 y0=5x37:f32 axis=1", "softmax_grad_ref", F32},
    {"layer_norm_grad x0=3x17:f32:0,1 x1=3x17:f32:20,1 x3=3x1:f32 x4=3x1:f32:0,0 y0=3x17:f32 "
     "y2=17:f32 axis=1",
     "layer_norm_grad_ref", F32},
    {"layer_norm_grad x0=3x5x33:f32 x1=3x5x33:f32 x2=33:f32 x3=3x5x1:f32 x4=3x5x1:f32 "
     "y0=3x5x33:f32 y1=33:f32 y2=33:f32 axis=2",
     "layer_norm_grad_ref", F32},
    {"layer_norm_grad x0=3x5x7:f32 x1=3x5x7:f32 x2=5x7:f32 x3=3x1x1:f32 x4=3x1x1:f32 "
     "y0=3x5x7:f32 y1=5x7:f32 axis=1",
     "layer_norm_grad_ref", F32},
    {"layer_norm_grad x0=3x17:f32 x1=3x17:f32 x3=3x1:f32 x4=3x1:f32 y0=3x17:f32 y2=17:f32 axis=1",
     "layer_norm_grad_ref", F32},
    {"layer_norm_grad x0=3x17:f32 x1=3x17:f32 x2=17:f32 x3=3x1:f32 x4=3x1:f32 y1=17:f32 y2=17:f32 "
     "axis=1",
     "layer_norm_grad_ref", F32},
    {"group_norm_grad x0=2x4x5:f32 x1=2x4x5:f32 x3=2x2:f32 x4=2x2:f32 y2=4:f32 groups=2",
     "group_norm_grad_ref", F32},
    {"layer_norm_grad x0=4x9:f32 x1=4x9:f32 x2=9:f32 x4=4x1:f32 y0=4x9:f32 y1=9:f32 axis=1 rms=1",
     "layer_norm_grad_ref", F32},
    {"layer_norm_grad x0=3x33:f16 x1=3x33:f16 x2=33:f32 x3=3x1:f32 x4=3x1:f32 y0=3x33:f16 "
     "y1=33:f32 y2=33:f32 axis=1",
     "layer_norm_grad_ref", HALF},
    {"layer_norm_grad x0=1x1:f32 x1=1x1:f32 x2=1:f32 x3=1x1:f32 x4=1x1:f32 y0=1x1:f32 y1=1:f32 "
     "y2=1:f32 axis=1",
     "layer_norm_grad_ref", F32},
    {"group_norm_grad x0=2x12x5x7:f32 x1=2x12x5x7:f32 x2=12:f32 x3=2x3:f32 x4=2x3:f32 "
     "y0=2x12x5x7:f32 y1=12:f32 y2=12:f32 groups=3",
     "group_norm_grad_ref", F32},
    {"group_norm_grad x0=2x5x9x8:f32 x1=2x5x9x8:f32 x3=2x5:f32 x4=2x5:f32 y0=2x5x9x8:f32 y1=5:f32 "
     "y2=5:f32 groups=5",
     "group_norm_grad_ref", F32},
    {"group_norm_grad x0=3x6:f32 x1=3x6:f32 x2=6:f32 x3=3x1:f32 x4=3x1:f32 y0=3x6:f32 groups=1",
     "group_norm_grad_ref", F32},
    {"group_norm_grad x0=2x4x5:bf16 x1=2x4x5:bf16 x2=4:bf16 x3=2x2:f32 x4=2x2:f32 y0=2x4x5:bf16 "
     "y1=4:bf16 y2=4:bf16 groups=2",
     "group_norm_grad_ref", HALF},
};

static const row pools[] = {
    {"pool x0=2x3x7x5:f32 y0=2x3x5x3:f32 kind=average output=5,3", "pool_ref", F32},
    {"pool x0=2x3x7x5:f32 y0=2x3x5x3:f32 y1=2x3x5x3:i64 output=5,3", "pool_ref", 0},
    {"pool x0=2x3x7x5:f32 y0=2x3x5x3:f32 y1=2x3x5x3:i64 output=5,3 plane_indices=1", "pool_ref", 0},
    {"pool x0=2x3x2x3:f32 y0=2x3x5x7:f32 kind=average output=5,7", "pool_ref", F32},
    {"pool x0=2x3x2x3:f32 y0=2x3x5x7:f32 output=5,7", "pool_ref", 0},
    {"pool x0=1x5x9x8:f32:nhwc y0=1x5x4x3:f32:nhwc kind=average output=4,3", "pool_ref", F32},
    {"pool x0=1x5x9x8:f32:nhwc y0=1x5x4x3:f32:nhwc y1=1x5x4x3:i64:nhwc output=4,3 plane_indices=1",
     "pool_ref", 0},
    {"pool x0=2x3x11:f32 y0=2x3x4:f32 kind=average output=4", "pool_ref", F32},
    {"pool x0=1x2x5x6x7:f32 y0=1x2x3x2x4:f32 y1=1x2x3x2x4:i64 output=3,2,4 plane_indices=1",
     "pool_ref", 0},
    {"pool x0=2x3x7x5:f16 y0=2x3x5x3:f16 kind=average output=5,3", "pool_ref", HALF},
    {"pool x0=2x3x9x9:f32 y0=2x3x4x4:f32 y1=2x3x4x4:i64 kernel=3,3 stride=2,2 plane_indices=1",
     "pool_ref", 0},
    {"pool x0=2x3x9x9:f32 y0=2x3x5x5:f32 y1=2x3x5x5:i64 kernel=3,3 stride=2,2 pads=1,1,1,1",
     "pool_ref", 0},
    {"pool x0=2x3x9x8:f32 y0=2x3x5x4:f32 y1=2x3x5x4:i64 kernel=3,3 stride=2,2 pads=1,1,1,0 "
     "storage_order=1",
     "pool_ref", 0},
    {"pool_grad x0=2x3x5x3:f32 y0=2x3x7x5:f32 kind=average image=7,5 adaptive=1", "pool_grad_ref",
     F32},
    {"pool_grad x0=2x3x5x3:f32 x1=2x3x7x5:f32 y0=2x3x7x5:f32 image=7,5 adaptive=1", "pool_grad_ref",
     F32},
    {"pool_grad x0=2x3x5x7:f32 y0=2x3x2x3:f32 kind=average image=2,3 adaptive=1", "pool_grad_ref",
     F32},
    {"pool_grad x0=2x3x5x7:f32 x1=2x3x2x3:f32 y0=2x3x2x3:f32 image=2,3 adaptive=1", "pool_grad_ref",
     F32},
    {"pool_grad x0=1x5x4x3:f32:nhwc y0=1x5x9x8:f32:nhwc kind=average image=9,8 adaptive=1",
     "pool_grad_ref", F32},
    {"pool_grad x0=1x5x4x3:f32:nhwc x1=1x5x9x8:f32:nhwc y0=1x5x9x8:f32:nhwc image=9,8 adaptive=1",
     "pool_grad_ref", F32},
    {"pool_grad x0=2x3x4:f32 y0=2x3x11:f32 kind=average image=11 adaptive=1", "pool_grad_ref", F32},
    {"pool_grad x0=2x3x5x3:f64 y0=2x3x7x5:f64 kind=average image=7,5 adaptive=1", "pool_grad_ref",
     F32},
    {"pool_grad x0=2x3x2x3:f64 y0=2x3x6x9:f64 kind=average image=6,9 adaptive=1", "pool_grad_ref",
     F32},
    {"pool_grad x0=2x3x2x3:f64 x1=2x3x5x7:f64 y0=2x3x5x7:f64 image=5,7 adaptive=1", "pool_grad_ref",
     F32},
    {"pool_grad x0=2x3x5x7:f64 x1=2x3x2x3:f64 y0=2x3x2x3:f64 image=2,3 adaptive=1", "pool_grad_ref",
     F32},
    {"pool_grad x0=1x2x3x2x4:f32 x1=1x2x5x6x7:f32 y0=1x2x5x6x7:f32 image=5,6,7 adaptive=1",
     "pool_grad_ref", F32},
};

#endif
