/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of operators that slide windows, against what ONNX's own inference gives. */
#include "infer_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* clang-format off */
/* Random sizes; expected: ONNX 1.19 shape inference, which ONNX Runtime agrees with but for dilated SAME pooling (there ONNX's formulas count), and
 * ONNX Runtime where ONNX lets a ceil_mode window start behind the input, or adds output_padding to a SAME transposed convolution. */
static const infer_case random_windows[] = {
    {"conv stride=1,3 dilation=3,1 auto_pad=valid groups=2", "2x4x3x7:f32 6x2x1x1:f32", "2x6x3x3:f32", NULL},
    {"conv stride=2 dilation=1 auto_pad=valid groups=2", "2x4x10:f32 6x2x3:f32", "2x6x4:f32", NULL},
    {"conv stride=3,4 dilation=1,1 pads=0,0,0,2 groups=2", "2x4x3x7:f32 6x2x3x4:f32", "2x6x1x2:f32", NULL},
    {"conv stride=4,4 dilation=2,2 pads=1,2,1,0 groups=2", "2x4x12x9:f32 6x2x1x4:f32", "2x6x4x2:f32", NULL},
    {"conv stride=1 dilation=1 auto_pad=valid groups=2", "2x4x6:f32 6x2x1:f32", "2x6x6:f32", NULL},
    {"conv stride=3 dilation=2 pads=2,0 groups=2", "2x4x12:f32 6x2x3:f32", "2x6x4:f32", NULL},
    {"conv stride=3,1 dilation=3,2 auto_pad=valid groups=2", "2x4x9x6:f32 6x2x2x1:f32", "2x6x2x6:f32", NULL},
    {"conv stride=4,2,2 dilation=3,2,2 pads=0,1,1,1,0,2 groups=2", "2x4x9x9x6:f32 6x2x2x2x2:f32", "2x6x2x4x4:f32", NULL},
    {"conv stride=2,1,2 dilation=2,1,2 pads=1,2,2,0,1,2 groups=2", "2x4x6x8x12:f32 6x2x3x3x1:f32", "2x6x2x9x8:f32", NULL},
    {"conv stride=1,1 dilation=3,3 pads=2,2,0,1 groups=2", "2x4x11x6:f32 6x2x2x2:f32", "2x6x10x6:f32", NULL},
    {"conv stride=2,1 dilation=2,1 auto_pad=valid groups=2", "2x4x8x11:f32 6x2x4x2:f32", "2x6x1x10:f32", NULL},
    {"conv stride=3,4 dilation=1,3 pads=0,0,1,0 groups=2", "2x4x10x12:f32 6x2x1x1:f32", "2x6x4x3:f32", NULL},
    {"conv stride=1 dilation=1 auto_pad=same_lower groups=2", "2x4x9:f32 6x2x4:f32", "2x6x9:f32", NULL},
    {"conv stride=2,3 dilation=1,2 pads=1,0,2,0 groups=2", "2x4x2x4:f32 6x2x3x1:f32", "2x6x2x2:f32", NULL},
    {"convt stride=4,4 dilation=2,2 pads=1,1,0,2 groups=2 output_padding=2,3", "2x4x8x3:f32 4x3x2x2:f32", "2x6x32x11:f32", NULL},
    {"convt stride=4,3 pads=1,1,0,2 groups=2", "2x4x8x3:f32 4x3x2x2:f32 6x4x3:f32", "2x6x29x5:f32", NULL},
    {"convt stride=4,3 groups=2", "2x4x8x3:f32 4x3x2x2:f32 6x4x2:f32", "!one bias a phase", NULL},
    {"convt stride=4,3 groups=2", "2x4x8x3:f32 4x3x2x2:f32 6x4:f32", "!", NULL},
    {"convt stride=3 dilation=3 pads=0,0 groups=2 output_shape=21", "2x4x7:f32 4x3x3:f32", "2x6x21:f32", NULL},
    {"convt stride=2,4 dilation=3,2 auto_pad=same_lower groups=2", "2x4x5x1:f32 4x3x2x3:f32", "2x6x10x4:f32", NULL},
    {"convt stride=1,3 dilation=1,3 pads=1,0,2,0 groups=2 output_padding=0,1 output_shape=1,36", "2x4x1x12:f32 4x3x2x4:f32", "2x6x1x36:f32", NULL},
    {"convt stride=1,2,3 dilation=1,1,1 auto_pad=same_upper groups=2 output_shape=7,10,30", "2x4x7x5x10:f32 4x3x2x1x2:f32", "2x6x7x10x30:f32", NULL},
    {"convt stride=3,2 dilation=3,3 pads=1,1,0,0 groups=2 output_padding=2,1", "2x4x9x5:f32 4x3x2x2:f32", "2x6x29x12:f32", NULL},
    {"convt stride=3 dilation=3 pads=2,1 groups=2 output_padding=0 output_shape=6", "2x4x2:f32 4x3x4:f32", "2x6x6:f32", NULL},
    {"convt stride=3,2 dilation=1,2 pads=1,0,0,1 groups=2 output_padding=1,1", "2x4x1x5:f32 4x3x3x3:f32", "2x6x3x13:f32", NULL},
    {"convt stride=3,1 dilation=1,2 auto_pad=valid groups=2 output_padding=0,0", "2x4x4x9:f32 4x3x1x1:f32", "2x6x10x9:f32", NULL},
    {"convt stride=2,3,2 dilation=1,3,3 auto_pad=same_lower groups=2", "2x4x3x11x12:f32 4x3x4x3x4:f32", "2x6x6x33x24:f32", NULL},
    {"convt stride=1 dilation=1 pads=0,2 groups=2 output_padding=0", "2x4x11:f32 4x3x2:f32", "2x6x10:f32", NULL},
    {"convt stride=4,3 dilation=1,2 pads=2,2,2,0 groups=2 output_shape=36,3", "2x4x9x1:f32 4x3x1x2:f32", "2x6x36x3:f32", NULL},
    {"convt stride=2,2 dilation=3,3 auto_pad=same_lower groups=2 output_shape=10,4", "2x4x5x2:f32 4x3x3x2:f32", "2x6x10x4:f32", NULL},
    {"convt stride=1 dilation=3 pads=1,1 groups=2", "2x4x10:f32 4x3x2:f32", "2x6x11:f32", NULL},
    {"convt stride=3,1,2 dilation=3,2,2 auto_pad=valid groups=2 output_padding=0,0,0 output_shape=30,3,2", "2x4x10x3x1:f32 4x3x4x1x4:f32", "2x6x30x3x2:f32", NULL},
    {"convt stride=3 dilation=2 pads=0,0 groups=2 output_shape=27", "2x4x9:f32 4x3x4:f32", "2x6x27:f32", NULL},
    {"convt stride=2,4,4 dilation=2,1,1 pads=1,2,1,1,1,2 groups=2 output_padding=1,3,2 output_shape=10,24,12", "2x4x5x6x3:f32 4x3x3x1x3:f32", "2x6x10x24x12:f32", NULL},
    {"convt stride=1,2 dilation=3,1 auto_pad=same_upper groups=2 output_padding=0,1", "2x4x1x6:f32 4x3x3x4:f32", "2x6x1x12:f32", NULL},
    {"pool kernel=1,1 stride=3,2 dilation=1,2 auto_pad=same_lower ceil_mode=1", "2x3x1x5:f32", "2x3x1x3:f32", NULL},
    {"pool kernel=4 stride=2 dilation=3 pads=0,2 ceil_mode=1", "2x3x11:f32", "2x3x3:f32", NULL},
    {"pool kernel=3,4 stride=1,2 dilation=1,2 auto_pad=same_lower ceil_mode=1", "2x3x10x3:f32", "2x3x10x2:f32", NULL},
    {"pool kernel=4,2 stride=2,2 dilation=1,1 auto_pad=same_upper ceil_mode=1", "2x3x6x8:f32", "2x3x3x4:f32", NULL},
    {"pool kernel=2,2 stride=1,3 dilation=1,2 auto_pad=same_lower", "2x3x10x6:f32", "2x3x10x2:f32", NULL},
    {"pool kernel=1,4 stride=1,1 dilation=1,1 pads=0,0,0,2 ceil_mode=1", "2x3x9x11:f32", "2x3x9x10:f32", NULL},
    {"pool kernel=4,1 stride=1,1 dilation=2,3 auto_pad=valid", "2x3x11x5:f32", "2x3x5x5:f32", NULL},
    {"pool kernel=3 stride=4 dilation=2 auto_pad=same_upper ceil_mode=1", "2x3x9:f32", "2x3x3:f32", NULL},
    {"pool kernel=3,4 stride=3,4 dilation=1,1 auto_pad=same_upper ceil_mode=1", "2x3x1x12:f32", "2x3x1x3:f32", NULL},
    {"pool kernel=2,4 stride=2,3 dilation=2,1 auto_pad=valid ceil_mode=1", "2x3x5x4:f32", "2x3x2x1:f32", NULL},
    {"pool kernel=3,1 stride=1,2 dilation=2,1 pads=2,0,2,0", "2x3x8x12:f32", "2x3x8x6:f32", NULL},
    {"pool kernel=4,3 stride=3,4 dilation=1,1 pads=0,1,0,1 ceil_mode=1", "2x3x11x12:f32", "2x3x4x4:f32", NULL},
    {"pool kernel=2 stride=4 dilation=2 auto_pad=same_upper", "2x3x9:f32", "2x3x3:f32", NULL},
    {"pool kernel=1 stride=4 dilation=1 pads=0,0", "2x3x7:f32", "2x3x2:f32", NULL},
    {"pool kernel=3,1,3 stride=3,3,3 dilation=1,3,3 pads=0,0,0,1,0,1 ceil_mode=1", "2x3x6x6x5:f32", "2x3x2x2x1:f32", NULL},
    {"pool kernel=2,4 stride=2,1 dilation=3,2 pads=1,0,1,1 ceil_mode=1", "2x3x7x8:f32", "2x3x4x3:f32", NULL},
    {"pool kernel=2,4 stride=2,2 dilation=2,1 pads=1,2,1,1", "2x3x10x2:f32", "2x3x5x1:f32", NULL},
    {"pool kernel=4,3,2 stride=2,1,4 dilation=1,1,1 auto_pad=same_lower", "2x3x4x6x2:f32", "2x3x2x6x1:f32", NULL},
    {"pool kernel=2 stride=1 dilation=2 auto_pad=valid ceil_mode=1", "2x3x4:f32", "2x3x2:f32", NULL},
    {"pool kernel=3 stride=2 dilation=1 auto_pad=same_upper", "2x3x2:f32", "2x3x1:f32", NULL},
    {"pool kernel=2,1 stride=3,4 dilation=3,2 pads=1,0,0,0", "2x3x5x1:f32", "2x3x1x1:f32", NULL},
    {"pool kernel=1,4 stride=1,4 dilation=3,3 pads=0,2,0,2", "2x3x9x8:f32", "2x3x9x1:f32", NULL},
    {"pool kernel=4,3 stride=3,4 dilation=1,1 auto_pad=same_upper ceil_mode=1 kind=average", "2x3x12x5:f32", "2x3x4x2:f32", NULL},
    {"pool kernel=2 stride=4 dilation=1 pads=0,1 kind=average", "2x3x6:f32", "2x3x2:f32", NULL},
    {"pool kernel=3,2,2 stride=1,1,4 dilation=1,2,1 pads=1,1,0,2,1,1 kind=average", "2x3x3x3x6:f32", "2x3x4x3x2:f32", NULL},
    {"pool kernel=2,4,2 stride=4,2,2 dilation=3,1,2 auto_pad=same_upper kind=average", "2x3x12x3x11:f32", "2x3x3x2x6:f32", NULL},
    {"pool kernel=4,3 stride=4,3 dilation=1,1 auto_pad=same_lower ceil_mode=1 kind=average", "2x3x2x7:f32", "2x3x1x3:f32", NULL},
    {"pool kernel=4,4 stride=2,4 dilation=1,1 auto_pad=same_lower kind=average", "2x3x1x1:f32", "2x3x1x1:f32", NULL},
    {"pool kernel=3,1 stride=4,1 dilation=1,1 auto_pad=same_upper ceil_mode=1 kind=average", "2x3x6x7:f32", "2x3x2x7:f32", NULL},
    {"pool kernel=1,2 stride=2,4 dilation=1,3 pads=0,1,0,1 kind=average", "2x3x1x2:f32", "2x3x1x1:f32", NULL},
    {"pool kernel=4,2 stride=3,4 dilation=2,3 auto_pad=valid kind=average", "2x3x10x5:f32", "2x3x2x1:f32", NULL},
    {"pool kernel=3,3 stride=4,2 dilation=1,1 auto_pad=same_upper ceil_mode=1 kind=average", "2x3x7x3:f32", "2x3x2x2:f32", NULL},
    {"pool kernel=1,3 stride=4,3 dilation=2,3 pads=0,1,0,1 kind=average", "2x3x9x9:f32", "2x3x3x2:f32", NULL},
    {"pool kernel=1,3 stride=3,3 dilation=1,1 auto_pad=valid kind=average", "2x3x10x12:f32", "2x3x4x4:f32", NULL},
};

static const infer_case windows[] = {
    /* Pads that auto_pad stands for: the odd one goes behind (upper) or before (lower). */
    {"conv auto_pad=same_upper stride=2,2", "1x3x8x7:f32 8x3x3x3:f32", "1x8x4x4:f32", "pads=0,1,1,1"},
    {"conv auto_pad=same_lower stride=2,2", "1x3x8x7:f32 8x3x3x3:f32", "1x8x4x4:f32", "pads=1,1,0,1"},
    {"conv auto_pad=same_upper dilation=2", "1x3x8:f32 8x3x2:f32", "1x8x8:f32", "pads=1,1"},
    {"conv auto_pad=valid", "1x3x8x7:f32 8x3x3x3:f32", "1x8x6x5:f32", NULL},
    /* Symbols: what padding and window add and take away cancels. */
    {"conv pads=1,1,1,1", "Nx3xHxW:f32 8x3x3x3:f32", "Nx8xHxW:f32", NULL},
    {"conv pads=1,1,1,1 stride=2,2", "Nx3xHxW:f32 8x3x3x3:f32", "Nx8x(H-1)/2+1x(W-1)/2+1:f32", NULL},
    {"conv auto_pad=same_upper stride=2,2", "Nx3xHx7:f32 8x3x3x3:f32", "Nx8x(H+1)/2x4:f32", "auto_pad=same_upper"},
    {"conv", "1xCx8x8:f32 8x3x3x3:f32", "1x8x6x6:f32", NULL},
    {"conv", "?:f32 8x3x3x3:f32", "later ?:f32", NULL},
    {"conv", "~1x3x8x8:f32 8x3x3x3:f32", "later _x8x_x_:f32", NULL},
    /* Empty batches and images. */
    {"conv pads=1,1,1,1", "0x3x8x8:f32 8x3x3x3:f32", "0x8x8x8:f32", NULL},
    {"conv", "1x3x0x8:f32 8x3x3x3:f32", "1x8x0x6:f32", NULL},
    /* Bias and residual. */
    {"conv", "1x3x8x8:f32 8x3x3x3:f32 8:f32 1x8x6x6:f32", "1x8x6x6:f32", NULL},
    {"conv", "1x3x8x8:f32 8x3x3x3:f32 7:f32", "!has 7 in dim 0, expected 8", NULL},
    {"conv", "1x3x8x8:f32 8x3x3x3:f32 - 1x8x6x5:f32", "!has 5 in dim 3, expected 6", NULL},
    /* Refused. */
    {"conv", "1x3x8x8:f32 8x4x3x3:f32", "!has 4 in dim 1, expected 3", NULL},
    {"conv groups=2", "1x3x8x8:f32 8x1x3x3:f32", "!group is 2, expected a divisor of the 3 channels", NULL},
    {"conv groups=0", "1x3x8x8:f32 8x3x3x3:f32", "!group is 0", NULL},
    {"conv", "1x3x8x8:f32 8x3x9x3:f32", "!smaller along dim 2", NULL},
    {"conv", "1x3x8x8:f32 8x3x0x3:f32", "!window's size", NULL},
    {"conv stride=1,0", "1x3x8x8:f32 8x3x3x3:f32", "!strides has 0", NULL},
    {"conv stride=1", "1x3x8x8:f32 8x3x3x3:f32", "!strides has 1 numbers, expected 2", NULL},
    {"conv pads=1,1", "1x3x8x8:f32 8x3x3x3:f32", "!pads has 2 numbers, expected 4", NULL},
    {"conv pads=1,1,-1,1", "1x3x8x8:f32 8x3x3x3:f32", "!pads has -1", NULL},
    {"conv", "1x3x8x8:f32 8x3x3:f32", "!has rank 3, expected 4", NULL},
    {"conv", "1x3x8x8:f32 8x3x3x3:f64", "!must have the type of input 0", NULL},
    {"conv", "1x3x8x8:bool 8x3x3x3:bool", "!expected a number type", NULL},
    {"conv", "1x3x8x8:f32", "!1 inputs, expected at least 2", NULL},
    {"conv", "1x3x8x8:f32 -", "!input 1 is required, but absent", NULL},
    /* Transposed: output_shape and SAME become pads, and what no padding can make becomes output padding. */
    {"convt stride=2 output_shape=12", "1x1x6:f32 1x1x3:f32", "1x1x12:f32", "pads=1,0"},
    {"convt stride=2 output_shape=12 auto_pad=same_upper", "1x1x6:f32 1x1x3:f32", "1x1x12:f32", "pads=0,1"},
    {"convt stride=2 output_shape=14", "1x1x6:f32 1x1x3:f32", "1x1x14:f32", "output_padding=1"},
    {"convt stride=2 output_shape=1,1,12", "1x1x6:f32 1x1x3:f32", "1x1x12:f32", "pads=1,0"},
    {"convt stride=2,3 groups=2 output_shape=2,6,9,14", "2x4x4x5:f32 4x3x3x2:f32", "2x6x9x14:f32", NULL},
    {"convt stride=2,3 output_shape=1,1,8,14", "1x1x4x5:f32 1x1x3x2:f32", "1x1x8x14:f32", "pads=1,0,0,0"},
    {"convt stride=2,3 output_shape=1,8,14", "1x1x4x5:f32 1x1x3x2:f32", "!output_shape has 3 numbers, expected 2", NULL},
    {"convt stride=2,2", "Nx4xHx6:f32 4x3x2x2:f32", "Nx3x2*Hx12:f32", NULL},
    {"convt output_shape=-1", "1x1x6:f32 1x1x3:f32", "!output_shape has -1", NULL},
    {"convt pads=4,4", "1x1x6:f32 1x1x3:f32", "1x1x0:f32", NULL},
    {"convt pads=5,5", "1x1x6:f32 1x1x3:f32", "!would be negative", NULL},
    {"convt", "1x3x8x8:f32 4x8x3x3:f32", "!has 4 in dim 0, expected 3", NULL},
    /* Pooling: a window may not start behind the input. torch.nn.MaxPool2d(2, 3, padding=1, ceil_mode=True) on 5 gives 2. */
    {"pool kernel=2 stride=3 pads=1,1 ceil_mode=1", "1x1x5:f32", "1x1x2:f32", NULL},
    {"pool kernel=3,3 stride=2,2 ceil_mode=1", "1x64x112x112:f32", "1x64x56x56:f32", NULL},
    {"pool kernel=3,3 stride=2,2 pads=1,1,1,1", "1x64x112x112:f32", "1x64x56x56:f32 1x64x56x56:i64", NULL},
    {"pool kernel=3,3 stride=2,2 ceil_mode=1", "1x64xHx112:f32", "1x64x(H-2)/2+1x56:f32", NULL},
    {"pool kernel=1 stride=2 ceil_mode=1", "1x64xH:f32", "1x64x_:f32", NULL},
    {"pool kernel=3", "1x64x112x112:f32", "!kernel_shape has 1 numbers, expected 2", NULL},
    {"pool kernel=3", "1x64:f32", "!has rank 2", NULL},
    {"max_unpool kernel=2,2 stride=2,2", "1x1x2x2:f32 1x1x2x2:i64", "1x1x4x4:f32", NULL},
    {"max_unpool kernel=2,2 stride=2,2", "1x1x2x2:f32 1x1x2x2:i64 4:i64=1,1,5,5", "1x1x5x5:f32", NULL},
    {"max_unpool kernel=2,2 stride=2,2", "1x1x2x2:f32 1x1x2x2:i64 4:i64=1,1,4,3", "!has 3 for dim 3, expected at least 4", NULL},
    {"max_unpool kernel=2,2 stride=2,2", "1x1x2x2:f32 1x1x2x2:i64 4:i64=1,2,4,4", "!has 2 for dim 1, expected 1", NULL},
    {"max_unpool kernel=2,2 stride=2,2", "1x1x2x2:f32 1x1x2x2:i64 4:i64", "later _x_x_x_:f32", NULL},
    {"max_unpool kernel=2,2 stride=2,2", "1x1x2x2:f32 1x1x2x3:i64", "!has 3 in dim 3, expected 2", NULL},
    {"deform_conv pads=0,0,0,0", "1x1x3x3:f32 1x1x2x2:f32 1x8x2x2:f32", "1x1x2x2:f32", NULL},
    {"deform_conv", "1x1x3x3:f32 1x1x2x2:f32 1x8x2x2:f32 1:f32 1x4x2x2:f32", "1x1x2x2:f32", NULL},
    {"deform_conv", "1x1x3x3:f32 1x1x2x2:f32 1x4x2x2:f32", "!has 4 in dim 1, expected 8", NULL},
    {"deform_columns kernel=2,2", "1x3x3x3:f32 1x8x2x2:f32 1x4x2x2:f32", "1x12x2x2:f32", NULL},
    {"deform_columns kernel=2", "1x3x3x3:f32 1x8x2x2:f32", "!kernel has 1 numbers", NULL},
    {"col2im", "1x5x5:f32 2:i64=5,5 2:i64=1,5", "1x1x5x5:f32", "image=5,5 block=1,5"},
    {"col2im stride=2,2", "1x9x4:f32 2:i64=5,5 2:i64=3,3", "1x1x5x5:f32", NULL},
    {"col2im", "1x5x4:f32 2:i64=5,5 2:i64=1,5", "!has 4 in dim 2, expected 5", NULL},
    {"col2im", "1x5x5:f32 2:i64 2:i64=1,5", "later _x_x_x_:f32", NULL},
    {"grid_sample", "2x3x8x8:f32 2x5x6x2:f32", "2x3x5x6:f32", NULL},
    {"grid_sample", "2x3x8x8:f32 2x5x6x3:f32", "!has 3 in dim 3, expected 2", NULL},
    {"grid_sample", "2x3x8x8:u8 2x5x6x2:f32", "2x3x5x6:u8", NULL},
    {"grid_sample", "2x3x8x8:u8 2x5x6x2:u8", "!must have a float type", NULL},
    {"affine_grid", "2x2x3:f32 4:i64=2,3,5,6", "2x5x6x2:f32", NULL},
    {"affine_grid", "2x3x4:f32 5:i64=2,3,4,5,6", "2x4x5x6x3:f32", NULL},
    {"affine_grid", "2x2x3:f32 4:i64", "later 2x_x_x2:f32", NULL},
    {"affine_grid", "2x2x3:f32 3:i64=2,3,5", "!expected 4", NULL},
    {"affine_grid", "2x2x3:f32 4:i64=-1,3,5,6", "!has the negative number -1", NULL},
    {"affine_grid", "Nx2x3:f32 4:i64=-1,3,5,6", "!has the negative number -1", NULL},
    {"affine_grid", "2x2x3:f32 4:i64=2,3,5,-6", "!has the negative number -6", NULL},
    {"roi_align output_height=5 output_width=4", "2x3x8x8:f32 7x4:f32 7:i64", "7x3x5x4:f32", NULL},
    {"roi_align", "2x3x8x8:f32 7x4:f32 6:i64", "!has 6 in dim 0, expected 7", NULL},
    {"conv pads=1,1,1,1", "1x3x9223372036854775807x9:f32 4x3x3x3:f32", "!more than any tensor", NULL},
    {"conv auto_pad=same_upper stride=2,2", "1x3x9223372036854775807x9:f32 4x3x3x3:f32", "!more than any tensor", NULL},
    {"pool kernel=2,2 ceil_mode=1 stride=2,2", "1x3x9x9223372036854775807:f32", "!more than any tensor", NULL},
};
/* clang-format on */

static void test_random_windows(void **state)
{
    (void)state;
    infer_cases(random_windows, sizeof random_windows / sizeof *random_windows);
}

static void test_windows(void **state)
{
    (void)state;
    infer_cases(windows, sizeof windows / sizeof *windows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_windows),
                                       cmocka_unit_test(test_windows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
