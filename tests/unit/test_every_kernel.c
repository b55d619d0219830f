/* SPDX-License-Identifier: Apache-2.0 */
/* Every kernel of the list against the reference, on odd shapes, in every layout that it takes. A
 * kernel of an operator that has a reference, but that no row below reaches, fails: a new kernel
 * needs a problem that it is applicable to. */
#include "kernel_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The bounds are of the largest magnitude of an output. What rounding to a narrower type adds,
 * kernel_case knows. */
#define F32   2e-6
#define EXACT 0
#define REFERENCE                                                                         \
    (-1) /* the reference alone takes it: it is run, and known values are held against it \
            elsewhere */

typedef struct row {
    double bound;
    const char *problem;
} row;

static const row rows[] = {
    /* clang-format off */
    {F32, "conv n=2 c=3 h=13 w=11 k=5 r=3 s=3 pad=1"},
    {F32, "conv c=17 h=7 w=9 k=33 bias=1 act=relu"},
    {F32, "conv n=3 c=16 h=5 w=5 k=16 r=3 s=3 pad=1 bias=1 residual=1 act=silu"},
    {F32, "conv c=6 h=12 w=15 k=9 r=5 s=2 pad=2,0,1,3 stride=2,3 groups=3 bias=1"},
    {F32, "conv c=37 h=14 w=14 k=37 r=3 s=3 pad=1 groups=37 bias=1 act=hard_swish alpha=0.16666666666666666 beta=0.5"},
    {F32, "conv c=8 h=19 w=17 k=8 r=5 s=5 pad=2 stride=2 groups=8 residual=1 act=clip beta=6"},
    {F32, "conv c=19 h=7 w=7 k=19 r=3 s=3 pad=1 groups=19 bias=1 act=relu"},
    {F32, "conv n=2 c=20 h=7 w=7 k=20 r=3 s=3 pad=1 groups=20 act=clip alpha=-0.5 beta=0.5"},
    {F32, "conv n=2 c=7 h=7 w=4 k=7 r=3 s=3 pad=1 groups=7 bias=1"},
    {F32, "conv c=5 h=7 w=8 k=5 r=3 s=3 pad=1 groups=5 bias=1"},
    {F32, "conv n=2 c=5 h=14 w=14 k=5 r=3 s=3 pad=1 groups=5 bias=1 act=relu"},
    {F32, "conv n=2 c=3 h=21 w=9 k=3 r=3 s=3 pad=1 groups=3"},
    {F32, "conv c=3 h=28 w=16 k=3 r=3 s=3 pad=1 groups=3 bias=1"},
    {F32, "conv c=6 h=14 w=13 k=6 r=3 s=3 pad=1 groups=6 residual=1"},
    {F32, "convt n=2 c=5 h=14 w=15 k=5 r=3 s=3 pad=1 groups=5 bias=1"},
    {F32, "conv n=2 c=40 h=23 w=30 k=40 r=3 s=3 pad=1 groups=40 bias=1 layout=nhwc"},
    {F32, "conv n=2 c=24 h=22 w=19 k=24 r=5 s=5 pad=2 groups=24 bias=1 act=relu layout=nhwc"},
    {F32, "conv c=24 h=25 w=21 k=24 r=5 s=5 pad=2 stride=2 groups=24 layout=nhwc"},
    {F32, "conv c=33 h=21 w=4 k=33 r=7 s=7 pad=3 groups=33 layout=nhwc"},
    {F32, "conv c=18 h=19 w=2 k=18 r=7 s=7 pad=9 groups=18 layout=nhwc"},
    {F32, "conv c=24 h=25 w=20 k=24 r=3 s=3 pad=2,1,2,1 dilation=2,1 groups=24 layout=nhwc"},
    {F32, "conv c=24 h=20 w=23 k=48 r=3 s=3 pad=1 groups=24 bias=1 layout=nhwc"},
    {F32, "conv c=32 h=20 w=23 k=32 r=3 s=3 pad=1 stride=2 groups=8 bias=1 layout=nhwc"},
    {F32, "conv c=9 h=11 w=40 k=27 r=7 s=5 pad=3,2,3,2 groups=9 bias=1"},
    {F32, "conv c=20 h=9 w=12 k=20 r=3 s=3 pad=1 groups=5 bias=1 act=silu"},
    {F32, "conv c=28 h=9 w=11 k=28 r=3 s=3 pad=1 stride=2 groups=4 bias=1 residual=1 act=relu"},
    {F32, "conv n=2 c=8 h=9 w=56 k=12 r=3 s=3 pad=1 groups=2 bias=1 act=relu"},
    {F32, "conv c=12 h=7 w=23 k=15 r=3 s=3 pad=1 groups=3 bias=1 residual=1 act=clip beta=6"},
    {F32, "conv c=6 h=11 w=70 k=6 r=7 s=7 pad=3 groups=2 bias=1 act=silu"},
    {F32, "conv c=9 h=12 w=67 k=6 r=5 s=11 pad=2,9,1,4 dilation=2,3 groups=3"},
    {F32, "conv c=4 h=10 w=98 k=8 r=3 s=5 pad=1,0 stride=3,1 groups=2 residual=1 act=silu"},
    {F32, "conv c=10 h=5 w=64 k=4 r=3 s=2 pad=4,1 groups=2 bias=1"},
    {F32, "conv c=20 h=4 w=6 k=2 r=3 s=3 pad=5 bias=1"},
    {F32, "convt c=6 h=8 w=40 k=10 r=3 s=4 pad=1,2 groups=2 bias=1"},
    {F32, "conv c=18 h=13 w=9 k=18 r=3 s=3 pad=1 stride=3 groups=18 bias=1 act=clip beta=6"},
    {F32, "conv c=21 d=5 h=8 w=9 k=21 t=3 r=3 s=3 pad=1 groups=21 bias=1 act=silu"},
    {F32, "conv c=4 h=20 w=20 k=6 r=3 s=3 dilation=4 pad=4"},
    {F32, "conv c=3 w=50 k=7 s=9 pad=4 stride=3 bias=1 act=sigmoid"},
    {F32, "conv n=2 c=5 h=9 w=7 k=19 r=3 s=3 pad=1 bias=1 act=gelu_tanh"},
    {F32, "conv c=17 h=9 w=11 k=18 bias=1 residual=1 act=mish"},
    {F32, "conv c=5 d=6 h=7 w=8 k=4 t=3 r=2 s=3 pad=1 bias=1 act=tanh"},
    {F32, "conv c=1 h=1 w=1 k=1"},
    {F32, "conv c=130 h=3 w=3 k=3 r=3 s=3"},
    {F32, "conv n=2 c=37 h=9 w=10 k=45 r=3 s=2 pad=1,0,2,1 stride=2,3 dilation=2,1 bias=1 residual=1 act=silu"},
    {F32, "conv c=80 h=14 w=19 k=70 groups=2 bias=1 act=clip beta=1"},
    {F32, "conv c=5 d=1 h=2 w=4 k=8 t=1 r=1 s=2 pad=1 stride=3"},
    {F32, "conv n=19 c=21 h=7 w=9 k=5 r=3 s=3 pad=1 stride=4 bias=1 act=relu"},
    {F32, "conv n=2 c=37 h=40 w=43 k=11 r=5 s=3 pad=2 stride=3 residual=1 layout=nhwc"},
    {F32, "conv c=19 h=33 w=70 k=3 r=3 s=3 pad=1 layout=nhwc"},
    {F32, "conv c=37 h=13 w=901 k=3 r=3 s=3 pad=1 layout=nhwc bias=1 residual=1 act=silu"}, /* parts of rows */
    {F32, "conv n=2 c=21 h=12 w=43 k=3 r=3 s=3 pad=1 layout=nhwc bias=1 residual=1 act=relu"}, /* channels woven on their way */
    {F32, "conv c=9 h=17 w=33 k=2 r=3 s=3 pad=1 layout=nhwc"},
    {F32, "conv c=12 h=10 w=61 k=4 r=5 s=3 pad=2,1 layout=nhwc bias=1 act=silu"},
    {F32, "conv c=10 h=10 w=35 k=3 r=3 s=3 pad=1 layout=nhwc bias=1 dtype=f16"},
    {F32, "convt c=16 h=9 w=30 k=1 r=9 s=9 pad=3 stride=3 bias=phases act=clip beta=6"},
    {F32, "conv c=40 h=11 w=1203 k=4 r=3 s=5 pad=1,2 stride=1,2 bias=1"},
    {F32, "conv n=2 c=64 h=7 w=777 k=2 r=5 s=3 pad=2,0,1,7 layout=nhwc"},
    {F32, "conv c=33 h=31 w=150 k=7 r=4 s=3 pad=1 stride=2 dilation=2 act=silu"},
    {F32, "convt c=17 h=19 w=40 k=3 r=4 s=4 pad=1 stride=2 bias=1"},
    {F32, "convt n=3 c=17 h=9 w=20 k=2 r=5 s=3 pad=2 stride=3 layout=nhwc act=relu residual=1"},
    {F32, "conv n=2 c=8 d=9 h=8 w=15 k=8 t=3 r=3 s=5 pad=2 dilation=2 groups=4 bias=1 residual=1 act=relu"},
    {F32, "conv n=12 c=7 d=5 h=6 w=5 k=9 t=2 r=1 s=1 stride=2"},
    {F32, "convt c=17 h=19 w=40 k=3 r=4 s=4 pad=1 stride=2 bias=phases"},
    {F32, "convt n=2 c=17 h=9 w=20 k=2 r=9 s=6 pad=3,2 stride=3,2 layout=nhwc act=relu residual=1 bias=phases"},
    {F32, "convt c=35 h=11 w=14 k=37 r=6 s=6 pad=2 stride=2 bias=phases"},
    {F32, "convt c=35 h=11 w=14 k=37 r=6 s=9 pad=2,3 stride=2,3 bias=phases layout=nhwc act=silu"},
    {F32, "convt c=20 h=9 w=10 k=1 r=6 s=6 pad=2 stride=2 bias=phases residual=1"},
    {F32, "convt n=2 c=20 h=9 w=10 k=3 r=12 s=12 pad=4 stride=4 bias=phases layout=nhwc"},
    {F32, "convt n=2 c=13 h=9 w=8 k=26 r=2 s=2 stride=2 groups=13 bias=phases"},
    {F32, "convt n=2 c=19 h=9 w=8 k=19 r=3 s=3 pad=1 groups=19 bias=phases act=relu"},
    {F32, "convt c=12 w=50 k=7 s=9 pad=4 stride=3 bias=phases act=sigmoid"},
    {F32, "convt c=9 d=5 h=7 w=9 k=10 t=3 r=6 s=6 pad=1,2,2 stride=1,2,2 bias=phases"},
    {F32, "convt n=2 c=7 d=4 h=6 w=5 k=6 t=3 r=3 s=3 pad=1 stride=2 bias=1"},
    {F32, "convt c=4 d=3 h=5 w=6 k=4 t=1 r=3 s=3 stride=2 groups=2 residual=1 layout=nhwc"},
    {F32, "convt n=2 c=12 h=9 w=8 k=12 r=4 s=4 pad=1 stride=2 groups=12"},
    {F32, "convt n=2 c=19 h=9 w=8 k=19 r=3 s=3 pad=1 groups=19 bias=1 act=relu"},
    {F32, "convt c=12 h=9 w=20 k=20 r=3 s=3 pad=1 dilation=2 groups=4 bias=1 act=silu"},
    {F32, "convt n=2 c=17 h=13 w=11 k=33 r=3 s=3 pad=1 bias=1 residual=1"},
    {F32, "convt c=5 h=13 w=21 k=18 r=3 s=5 pad=0,2,0,2 bias=1"},
    {F32, "conv c=28 h=13 w=11 k=21 r=5 s=5 pad=2 groups=7 bias=1 act=relu"},
    {F32, "conv c=35 h=9 w=17 k=35 r=5 s=5 pad=4 dilation=2 groups=35"},
    {F32, "conv c=19 h=6 w=5 k=23 r=7 s=5 pad=9,10,9,10 dilation=3,5 bias=1 act=relu"},
    {F32, "conv n=2 c=3 h=6 w=5 k=23 r=7 s=9 pad=12,16,13,16 stride=2 dilation=4"},
    {F32, "conv c=21 h=5 w=6 k=21 r=5 s=5 pad=6 dilation=3 groups=21 bias=1"},
    {F32, "conv c=2 d=4 h=3 w=5 k=5 t=5 r=5 s=5 pad=6 dilation=3"},
    {F32, "conv c=24 d=1 h=9 w=9 k=17 t=3 r=3 s=3 pad=1 bias=1"},
    {F32, "conv c=40 h=3 w=20 k=33 r=5 s=3 pad=5,1,5,1"},
    {F32, "conv c=7 h=1 w=1 k=9 r=5 s=5 pad=7,1,0,8"},
    {F32, "conv c=300 h=5 w=7 k=37 bias=1"},
    {F32, "conv n=2 c=2 h=19 w=41 k=64 r=5 s=5 pad=2 stride=4"},
    {F32, "conv c=3 h=21 w=41 k=32 r=7 s=7 pad=3 stride=4 bias=1"},
    {F32, "conv c=4 h=17 w=52 k=48 r=5 s=4 pad=1 stride=3"},
    {F32, "conv c=19 h=6 w=7 k=23 r=2 s=2 pad=5,5,0,0 dilation=8 bias=1"},
    {F32, "conv n=2 c=3 h=16 w=22 k=18 r=3 s=4 pad=5,5,0,0 dilation=8"},
    {F32, "conv n=2 c=33 h=9 w=26 k=5 r=2 s=3 pad=7,7,0,0 dilation=12,13"},
    {F32, "conv c=21 h=16 w=22 k=21 r=3 s=4 pad=5,5,0,0 dilation=8 groups=21"},
    {F32, "conv c=20 h=16 w=22 k=20 r=3 s=4 pad=5,5,0,0 dilation=8 groups=5"},
    {F32, "conv c=18 h=11 w=33 k=35 r=3 s=5 pad=4,7,0,0 stride=2 dilation=6,8"},
    {F32, "conv c=24 d=8 h=8 w=10 k=20 t=2 r=2 s=3 pad=5,5,5,0,0,0 dilation=8,8,5"},
    {F32, "convt c=21 h=9 w=10 k=21 r=2 s=2 pad=4 dilation=3 groups=21"},
    {F32, "convt c=18 h=11 w=12 k=17 r=2 s=3 pad=4 dilation=2"},
    {F32, "convt c=3 h=11 w=12 k=17 r=3 s=3 pad=4"},
    {F32, "convt c=19 h=6 w=5 k=7 r=5 s=5 pad=8 dilation=4 bias=1"},
    {F32, "convt c=21 h=6 w=5 k=21 r=5 s=5 pad=6 dilation=3 groups=21"},
    {F32, "conv c=9 h=13 w=12 k=35 r=11 s=11 pad=5 stride=2 bias=1 act=relu"},
    {F32, "conv n=3 c=24 h=8 w=7 k=72 r=9 s=9 pad=4 groups=2 residual=1 act=gelu"},
    {F32, "conv n=4 c=9 h=6 w=6 k=128 r=11 s=11 pad=5 stride=2 residual=1 act=relu"},
    {F32, "conv n=5 c=100 h=5 w=6 k=40 r=3 s=3 pad=3 stride=2 dilation=3 bias=1 act=gelu"},
    {F32, "conv n=3 c=4 d=3 h=4 w=5 k=37 t=5 r=5 s=5 pad=2 stride=1,2,1 residual=1"},
    {F32, "convt n=3 c=40 h=5 w=4 k=35 r=5 s=5 stride=2 dilation=3 residual=1 act=relu"},
    {F32, "conv n=5 c=100 h=5 w=6 k=40 r=3 s=3 pad=3 stride=2 dilation=3 bias=1 accuracy=bf16"},
    {F32, "conv n=2 c=8 h=6 w=14 k=20 r=3 s=3 pad=12 stride=2 dilation=3 bias=1 residual=1 act=sigmoid"},
    {F32, "conv c=110 h=9 w=15 k=33 r=2 s=5 pad=4,10,4,10 stride=2 dilation=8,5"},
    {F32, "conv c=21 d=7 h=8 w=5 k=19 t=5 r=5 s=4 pad=4 stride=2 bias=1"},
    {F32, "convt n=2 c=51 h=6 w=6 k=36 r=5 s=5 stride=2 dilation=3 bias=1 act=relu"},
    {F32, "convt c=70 h=5 w=9 k=40 r=4 s=4 stride=3 dilation=5 residual=1 act=gelu"},
    {F32, "convt c=64 h=9 w=9 k=48 r=5 s=5 pad=1 stride=2 dilation=2 act=clip beta=60"},
    {F32, "conv c=9 h=13 w=12 k=35 r=11 s=11 pad=5 stride=2 bias=1 accuracy=bf16"},
    {F32, "convt c=51 h=6 w=6 k=36 r=5 s=5 stride=2 dilation=3 bias=1 act=gelu accuracy=bf16"},
    {F32, "conv c=34 h=6 w=5 k=23 r=7 s=5 pad=9,10,9,10 dilation=3,5 bias=1 accuracy=bf16"},
    {REFERENCE, "conv c=5 h=9 w=8 k=7 r=3 s=3 pad=1 stride=2 dir=bwd_data"},
    {REFERENCE, "conv n=3 c=6 h=9 w=8 k=4 r=3 s=3 pad=1 groups=2 dir=bwd_weights bias=1"},
    {F32, "conv c=5 h=9 w=8 k=7 r=3 s=3 pad=1 bias=1 dtype=f16"},
    {F32, "conv c=5 h=9 w=8 k=7 r=3 s=3 pad=1 bias=1 dtype=bf16"},
    {F32, "conv n=2 c=19 h=9 w=8 k=37 r=3 s=3 pad=1 groups=1 bias=1 act=relu accuracy=bf16"},
    {F32, "conv c=96 h=7 w=6 k=5 r=3 s=3 pad=1 stride=2 residual=1 act=silu accuracy=bf16"},
    {EXACT, "conv c=5 h=9 w=8 k=7 r=3 s=3 pad=1 dtype=i32"},
    {F32, "convt c=5 h=6 w=7 k=4 r=3 s=3 pad=1 stride=2 opad=1 bias=1 act=gelu"},
    {F32, "convt c=5 h=6 w=7 k=4 r=3 s=3 pad=1 stride=2 opad=1 bias=1 act=gelu accuracy=bf16"},
    {F32, "convt c=6 h=5 w=5 k=8 r=2 s=2 stride=2 groups=2"},
    {F32, "convt c=9 h=13 w=19 k=17 r=2 s=2 stride=2 bias=1 act=relu"},
    {F32, "convt n=2 c=150 h=7 w=18 k=17 r=4 s=4 pad=1 stride=2 residual=1 act=relu"},
    {F32, "convt c=31 h=5 w=17 k=15 r=3 s=5 pad=2 stride=4 layout=nhwc"},
    {F32, "convt c=31 h=5 w=17 k=15 r=3 s=5 pad=2 stride=4"},
    {F32, "convt n=2 c=3 w=11 k=4 s=5 pad=2 stride=3"},
    {F32, "convt n=2 c=19 h=11 w=18 k=35 r=4 s=4 pad=1 stride=2 opad=1 bias=1 residual=1 act=silu"},
    {F32, "convt c=40 h=7 w=6 k=21 r=3 s=3 pad=1 stride=2 opad=1 groups=1 bias=1"},
    {F32, "convt c=12 h=9 w=5 k=18 r=7 s=6 pad=2,1,0,3 stride=3,2 groups=2 act=relu"},
    {F32, "convt c=21 w=33 k=10 s=16 pad=4 stride=8 residual=1"},
    {F32, "convt c=5 h=4 w=9 k=7 r=2 s=9 pad=0,5 stride=4 act=gelu"},
    {F32, "conv n=2 c=20 h=13 w=16 k=18 r=2 s=4 pad=1,2,0,1 bias=1 act=relu"},
    {F32, "conv n=2 c=19 h=23 w=30 k=35 r=3 s=3 pad=1 stride=2 bias=1 residual=1 act=silu"},
    {F32, "conv c=40 h=18 w=25 k=22 r=7 s=4 pad=3,0,2,1 stride=2,1 groups=2 act=relu"},
    {F32, "conv c=18 d=5 h=9 w=14 k=17 t=1 r=5 s=6 pad=1,2,2,0,1,3 stride=3,2,2 bias=1"},
    {F32, "conv c=33 h=12 w=9 k=34 r=6 s=2 pad=3,1,2,0 dilation=1,2 residual=1"},
    {F32, "convt c=2 d=3 h=4 w=5 k=3 t=2 r=3 s=2 stride=2"},
    {EXACT, "convt c=5 h=6 w=7 k=4 r=3 s=3 pad=1 stride=2 dtype=i32"},
    {F32, "pool x0=2x5x13x11:f32 y0=2x5x7x6:f32 kernel=3,3 stride=2,2 pads=1,1,1,1"},
    {F32, "pool x0=2x19x13x11:f32 y0=2x19x13x10:f32 kernel=3,4 pads=1,1,1,1 kind=average"},
    {F32, "pool x0=1x16x9x9:f32 y0=1x16x5x5:f32 kernel=2,2 stride=2,2 pads=0,0,1,1 kind=average count_include_pad=1"},
    {F32, "pool x0=1x33x7x7:f32 y0=1x33x1x1:f32 kernel=7,7 kind=average"},
    {REFERENCE, "pool x0=1x3x29:f32 y0=1x3x14:f32 kernel=3 stride=2 kind=lp"},
    {F32, "pool x0=1x3x5x6x7:f32 y0=1x3x3x4x5:f32 kernel=3,3,3"},
    {REFERENCE, "pool x0=1x4x10x9:f32 y0=1x4x6x5:f32 y1=1x4x6x5:i64 kernel=3,3 dilation=2,2"},
    {F32, "pool x0=1x4x10x9:f16 y0=1x4x8x7:f16 kernel=3,3 kind=average"},
    {F32, "matmul x0=7x13:f32 x1=13x19:f32 y0=7x19:f32"},
    {F32, "matmul x0=3x4x13:f32 x1=13x19:f32 y0=3x4x19:f32"},
    {F32, "matmul x0=2x1x7x64:f32 x1=3x64x33:f32 y0=2x3x7x33:f32"},
    {F32, "matmul x0=13x7:f32 x1=19x13:f32 x2=19:f32 y0=7x19:f32 trans_a=1 trans_b=1 alpha=0.5 beta=2"},
    {F32, "matmul x0=1x300:f32 x1=50x300:f32 x2=50:f32 y0=1x50:f32 trans_b=1 activation=relu"},
    {F32, "matmul x0=3x1030:f32 x1=513x1030:f32 x2=513:f32 y0=3x513:f32 trans_b=1 alpha=0.5 beta=2 activation=relu"},
    {F32, "matmul x0=1x1024:f32 x1=1024x515:f32 x3=1x515:f32 y0=1x515:f32"},
    {F32, "matmul x0=530x4:f32 x1=530x994:f32 y0=4x994:f32 trans_a=1"},
    {F32, "matmul x0=6x1030:f32 x1=513x1030:f32 x2=513:f32 y0=6x513:f32 trans_b=1 activation=relu"},
    {F32, "matmul x0=1100x5:f32 x1=1100x485:f32 x3=5x485:f32 y0=5x485:f32 trans_a=1 alpha=0.5"},
    {F32, "matmul x0=2x1x1056:f32 x1=1056x498:f32 x2=498:f32 y0=2x1x498:f32 activation=silu"},
    {F32, "matmul x0=2x37x100:f32 x1=100x45:f32 x2=45:f32 y0=2x37x45:f32 activation=relu"},
    {F32, "matmul x0=100x37:f32 x1=70x100:f32 x3=37x70:f32 y0=37x70:f32 trans_a=1 trans_b=1 activation=gelu"},
    {F32, "matmul x0=13x7:f32 x1=19x13:f32 x2=19:f32 y0=7x19:f32 trans_a=1 trans_b=1 alpha=0.5 beta=2 accuracy=bf16"},
    {F32, "matmul x0=2x300:f32 x1=50x300:f32 x2=50:f32 y0=2x50:f32 trans_b=1 activation=relu accuracy=bf16"},
    {EXACT, "matmul x0=7x13:i32 x1=13x19:i32 y0=7x19:i32"},
    {REFERENCE, "einsum x0=3x4x5:f32 x1=3x5x6:f32 y0=3x4x6:f32 equation='bij,bjk->bik'"},
    {F32, "batch_norm x0=2x19x5x7:f32 x1=19:f32 x2=19:f32 x3=19:f32 x4=19:f32 y0=2x19x5x7:f32"},
    {F32, "group_norm x0=2x12x5x7:f32 x1=12:f32 x2=12:f32 y0=2x12x5x7:f32 groups=3"},
    {F32, "group_norm x0=2x5x9x8:f32 x1=5:f32 x2=5:f32 y0=2x5x9x8:f32 groups=5"},
    {F32, "layer_norm x0=3x5x33:f32 x1=33:f32 x2=33:f32 y0=3x5x33:f32 axis=2"},
    {F32, "layer_norm x0=3x5x7:f32 x1=5x7:f32 y0=3x5x7:f32 y1=3x1x1:f32 y2=3x1x1:f32 axis=1"},
    {F32, "layer_norm x0=4x33:f32 x1=33:f32 y0=4x33:f32 axis=1 rms=1"},
    {F32, "lrn x0=2x19x5x7:f32 y0=2x19x5x7:f32 size=5"},
    {F32, "softmax x0=5x37:f32 y0=5x37:f32 axis=1"},
    {F32, "softmax x0=3x19x4x5:f32 y0=3x19x4x5:f32 axis=1 kind=log_softmax"},
    {F32, "softmax x0=3x4x5:f32 y0=3x4x5:f32 axis=1 flatten=1"},
    {REFERENCE, "softmax x0=3x19x4:f32 y0=3x19x4:f32 axis=1 kind=hardmax"},
    {REFERENCE, "cumsum x0=3x19x4:f32 y0=3x19x4:f32 axis=1"},
    {REFERENCE, "cumsum x0=3x19x4:f32 y0=3x19x4:f32 axis=1 product=1"},
    {EXACT, "arg_reduce x0=3x19x4:f32 y0=3x1x4:i64 axis=1"},
    {EXACT, "arg_reduce x0=5x37:f32 y0=5:i64 axis=1 keepdims=0 min=1 select_last=1"},
    {REFERENCE, "arg_reduce x0=3x19x4:i8 y0=3x1x4:i64 axis=1"},
    {EXACT, "topk x0=3x40x2:f32 y0=3x5x2:f32 y1=3x5x2:i64 axis=1 k=5"},
    {REFERENCE, "topk x0=3x40:i8 y0=3x7:i8 y1=3x7:i64 axis=1 k=7 largest=0"},
    {EXACT, "resize x0=2x5x6x7:f32 y0=2x5x12x21:f32 coordinates=asymmetric nearest=floor"},
    {F32, "resize x0=2x5x6x7:f32 y0=2x5x12x14:f32 mode=linear"},
    {F32, "resize x0=1x19x9x11:f32 y0=1x19x5x13:f32 mode=linear coordinates=align_corners"},
    {F32, "resize x0=1x3x9x11:f32 y0=1x3x18x33:f32 mode=cubic"},
    {F32, "resize x0=1x3x9x11:f32 y0=1x3x4x5:f32 mode=linear antialias=1"},
    {REFERENCE, "resize x0=1x3x4x5x6:f32 y0=1x3x8x7x5:f32 mode=linear"},
    {REFERENCE, "resize x0=1x3x9x11:u8 y0=1x3x18x22:u8"},
    {F32, "conv n=23 c=67 h=5 w=5 k=11 r=3 s=3 stride=2 bias=1"},
    {F32, "conv n=7 c=76 h=6 w=5 k=96 r=4 s=4 pad=2 stride=2 groups=2 residual=1 act=gelu"},
    {F32, "conv n=5 c=130 h=21 w=9 k=18 r=1 s=3 stride=2 pad=0,1"},
    {F32, "conv n=7 c=33 d=7 h=8 w=7 k=10 t=3 r=3 s=3 pad=1 stride=2 dilation=2 bias=1"},
    {F32, "convt n=7 c=73 h=6 w=7 k=9 r=5 s=5 stride=2 pad=2 dilation=2 residual=1"},
    {F32, "conv n=2 c=66 h=33 w=31 k=9 r=5 s=5 pad=2 stride=4 act=relu"},
    {F32, "conv n=23 c=67 h=5 w=5 k=11 r=3 s=3 stride=2 bias=1 accuracy=bf16"},
    {REFERENCE, "grid_sample x0=2x5x6x7:f32 x1=2x4x3x2:f32 y0=2x5x4x3:f32 padding=border"},
    {REFERENCE, "grid_sample x0=1x3x6x7:f32 x1=1x4x5x2:f32 y0=1x3x4x5:f32 mode=cubic padding=reflection align_corners=1"},
    {REFERENCE, "affine_grid x0=2x2x3:f32 y0=2x4x5x2:f32"},
    {REFERENCE, "roi_align x0=2x5x9x8:f32 x1=6x4:f32 x2=6:i64 y0=6x5x3x2:f32 output_height=3 output_width=2 spatial_scale=8"},
    {REFERENCE, "max_unpool x0=1x3x4x5:f32 x1=1x3x4x5:i64 y0=1x3x8x10:f32 kernel=2,2 stride=2,2"},
    {F32, "separable_conv x0=2x35x9x11:f32:nhwc x1=35x1x3x3:f32 x2=35:f32 x3=37x35x1x1:f32 x4=37:f32 x5=2x37x9x11:f32:nhwc y0=2x37x9x11:f32:nhwc "
          "pads=1,1,1,1 mid_activation=clip mid_beta=6"},
    {F32, "separable_conv x0=1x64x15x14:f32:nhwc x1=64x1x3x3:f32 x3=96x64x1x1:f32 y0=1x96x8x7:f32:nhwc pads=1,1,1,1 stride=2,2 activation=relu"},
    {F32, "separable_conv x0=1x19x9x8:f32 x1=19x1x5x5:f32 x3=7x19x1x1:f32 x4=7:f32 y0=1x7x9x8:f32 pads=2,2,2,2 mid_activation=silu "
          "activation=hard_swish act_alpha=0.16666666666666666 act_beta=0.5"},
    {F32, "separable_conv x0=1x130x5x40:f32 x1=130x1x7x2:f32 x3=33x130x1x1:f32 y0=1x33x3x20:f32 pads=3,0,2,1 stride=2,2"},
    {F32, "separable_conv x0=2x40x13x15:f32:nhwc x1=40x1x3x3:f32 x2=40:f32 x3=20x40x1x1:f32 y0=2x20x13x15:f32:nhwc pads=2,2,2,2 dilation=2,2"},
    {F32, "separable_conv x0=1x18x16x17:f32:nhwc x1=18x1x9x9:f32 x3=33x18x1x1:f32 y0=1x33x6x6:f32:nhwc pads=4,4,4,4 stride=3,3"},
    {F32, "separable_conv x0=2x24x50:f32:nhwc x1=24x1x3:f32 x3=16x24x1:f32 y0=2x16x48:f32:nhwc"},
    {REFERENCE, "deform_conv x0=1x4x7x8:f32 x1=6x4x3x3:f32 x2=1x18x7x8:f32 x3=6:f32 y0=1x6x7x8:f32 pads=1,1,1,1"},
    {REFERENCE, "col2im x0=2x18x20:f32 y0=2x2x6x7:f32 image=6,7 block=3,3"},
    {REFERENCE, "nms x0=2x9x4:f32 x1=2x3x9:f32 y0=30x3:i64 max_output=5 iou_threshold=0.25"},
    /* clang-format on */
};

static void agree_with_the_reference(void **state)
{
    bool *covered = *state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kernel_case c;
        kernel_case_parse(&c, rows[i].problem);
        const int kernels = kernel_case_check_all(&c, rows[i].bound, covered);
        if ((kernels == 0) != (rows[i].bound == REFERENCE)) {
            fail_msg("%d kernels beside the reference for %s", kernels, rows[i].problem);
        }
        kernel_case_end(&c);
    }
}

static bool has_reference(ry_op op)
{
    char name[64];
    snprintf(name, sizeof name, "%s_ref", ry_op_name(op));
    return op != RY_OP_expr && every_kernel_find(name);
}

/* Expressions have a test of their own, against the definition of each of their operations. */
static void all_are_reached(void **state)
{
    const bool *covered = *state;
    int missing = 0;
    for (size_t i = 0; i < every_kernel_count(); i++) {
        if (every_kernel(i)->device == RY_DEVICE_cpu && has_reference(every_kernel(i)->op) &&
            kernel_case_machine_has(every_kernel(i)->isa) && !covered[i]) {
            print_error("no problem reaches %s\n", every_kernel(i)->name);
            missing++;
        }
    }
    assert_int_equal(missing, 0);
}

/* Tests of kernels pass over what this machine cannot run: it is told of here, once. */
static void all_can_run_here(void **state)
{
    (void)state;
    int missing = 0;
    for (ry_isa isa = 0; isa < RY_ISAS; isa++) {
        int kernels = 0;
        for (size_t i = 0; i < every_kernel_count(); i++) {
            kernels += every_kernel(i)->isa == isa;
        }
        if (kernels && !kernel_case_machine_has(isa)) {
            print_message("skipped: this machine has no %s: %d kernels do not run\n",
                          ry_isa_name(isa), kernels);
            missing++;
        }
    }
    if (missing) {
        skip();
    }
}

static int begin(void **state)
{
    *state = calloc(every_kernel_count(), sizeof(bool));
    return *state ? 0 : -1;
}

static int end(void **state)
{
    free(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agree_with_the_reference),
        cmocka_unit_test(all_are_reached),
        cmocka_unit_test(all_can_run_here),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
