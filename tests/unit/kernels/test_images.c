/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of tiny images, whose lanes are images: layouts, ranks, numbers of channels and images,
 * windows, and the ends of sums, against the reference. */
#include "kernel_case.h"
#include "kernels/cpu/images/images_plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

/* Relative to the largest magnitude of an output. */
#define BOUND 2e-6

static const char *const problems[] = {
    "conv n=37 c=1 h=5 w=5 k=8 r=3 s=3 pad=1 bias=1 act=relu",
    "conv n=33 c=3 h=4 w=6 k=17 r=3 s=2 pad=1,0,1,2 stride=2,1 residual=1",
    "conv n=2 c=16 h=3 w=3 k=33 r=3 s=3 pad=1 bias=1 residual=1 act=silu",
    "conv n=64 c=8 h=5 w=5 k=8 r=3 s=3 pad=2 dilation=2 act=clip alpha=-0.5 beta=0.5",
    "conv n=19 c=6 h=5 w=4 k=9 r=3 s=3 pad=1 groups=3 bias=1 act=leaky_relu alpha=0.1",
    "conv n=35 c=12 h=3 w=5 k=12 r=3 s=3 pad=1 groups=12 bias=1",
    "conv n=17 c=5 w=7 k=3 s=3 pad=1 stride=2",
    "conv n=18 c=3 d=2 h=3 w=2 k=5 t=2 r=3 s=1 pad=1,1,0 bias=1",
    "conv n=100 c=7 h=1 w=1 k=5 act=gelu",
    "conv n=16 c=2 h=3 w=3 k=4 r=7 s=7 pad=5 bias=1",
    "conv n=20 c=4 h=4 w=4 k=6 r=3 s=3 pad=1 bias=1 residual=1 act=relu dtype=f16",
    "conv n=20 c=4 h=4 w=4 k=6 r=3 s=3 pad=1 bias=1 act=tanh dtype=bf16",
    "convt n=21 c=3 h=3 w=4 k=5 r=3 s=4 stride=2 pad=1 bias=1 residual=1 act=relu",
    "convt n=18 c=4 h=2 w=3 k=4 r=2 s=2 stride=3 bias=1", /* phases without a tap */
    "convt n=5 c=6 h=3 w=3 k=4 r=3 s=3 pad=1 groups=2 bias=1",
    "convt n=34 c=2 w=5 k=3 s=4 stride=2 bias=phases",
};

static void agrees_with_the_reference(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        kernel_case c;
        kernel_case_parse(&c, problems[i]);
        kernel_case_check_isas(
            &c, c.op == RY_OP_conv ? "conv_fwd_f32_images" : "convt_fwd_f32_images", BOUND);
        kernel_case_end(&c);
    }
}

/* Tiles of each number of output channels, of one input channel and of several. */
static void has_every_tile(void **state)
{
    (void)state;
    for (int channels = 1; channels <= 2; channels++) {
        for (int k = 1; k <= IMAGES_MAX_ROWS; k++) {
            char text[80];
            kernel_case c;
            snprintf(text, sizeof text, "conv n=17 c=%d h=2 w=3 k=%d r=2 s=2 pad=1",
                     channels * 10 - 9, k);
            kernel_case_parse(&c, text);
            kernel_case_check_isas(&c, "conv_fwd_f32_images", BOUND);
            kernel_case_end(&c);
        }
    }
}

static bool is_possible(const char *text)
{
    return kernel_case_is_taken(text, ry_images_takes);
}

/* An image alone, images that fill a cache, and long tables. */
static void leaves_to_others(void **state)
{
    (void)state;
    assert_true(is_possible("conv n=2 c=8 h=7 w=7 k=8 r=3 s=3 pad=1"));
    assert_false(is_possible("conv n=1 c=8 h=7 w=7 k=8 r=3 s=3 pad=1"));
    assert_true(is_possible("conv n=2 c=8 h=32 w=32 k=8 r=3 s=3 pad=1"));
    assert_false(is_possible("conv n=2 c=8 h=33 w=32 k=8 r=3 s=3 pad=1"));
    assert_true(is_possible("conv n=2 c=1 h=32 w=32 k=1 r=8 s=8 pad=4,4,3,3"));
    assert_false(is_possible("conv n=2 c=1 h=32 w=32 k=1 r=8 s=9 pad=4,4,3,4"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_the_reference),
        cmocka_unit_test(has_every_tile),
        cmocka_unit_test(leaves_to_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
