/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of the CPU hold each output's error where numbers differ by far (outlier_case.h). */
#include "accuracy_case.h"
#include "kernels/form.h"
#include "outlier_case.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* Four, six and eight points on one axis and two; strides, phases (of which some have single taps,
 * or no tap in common), interleaved rows, depth, groups; V shared or not; the other methods. */
static const char *const problems[] = {
    "conv c=20 h=21 w=26 k=19 r=3 s=3 pad=1",
    "conv c=40 h=14 w=14 k=37 r=3 s=3",
    "conv n=2 c=17 h=9 w=17 k=6 r=5 s=3 pad=2,0,1,2",
    "conv c=130 h=7 w=6 k=140 r=3 s=3 pad=1",
    "conv c=8 h=12 w=31 k=20 r=3 s=3 pad=1,3,1,3 dilation=1,3",
    "conv c=24 h=20 w=23 k=24 r=3 s=3 pad=1 stride=2",
    "conv c=6 d=4 h=9 w=10 k=7 t=3 r=3 s=3 pad=1",
    "conv c=36 h=13 w=18 k=33 r=3 s=3 pad=1 groups=3",
    "conv c=17 w=60 k=19 s=7 pad=3",
    "conv c=9 h=16 w=17 k=18 r=5 s=5 pad=2",
    "conv c=16 h=13 w=14 k=17 r=2 s=2",
    "conv c=12 h=19 w=20 k=20 r=7 s=7 pad=3 stride=2",
    "conv c=33 h=9 w=11 k=40",
    "conv c=24 h=11 w=9 k=24 r=3 s=3 pad=1 groups=24",
    "convt c=20 h=8 w=13 k=20 r=4 s=4 stride=2 pad=1",
    "convt c=17 h=9 w=8 k=9 r=3 s=3 stride=2 pad=1 opad=1",
    "convt c=16 h=7 w=8 k=12 r=4 s=4 stride=3 pad=1",
    "convt c=11 h=8 w=13 k=5 r=6 s=6 stride=2 pad=2",
    "convt c=18 h=10 w=11 k=16 r=3 s=3 pad=1",
    "conv n=3 c=20 h=16 w=18 k=19 r=3 s=3 pad=1 dir=bwd_weights",
    "conv n=2 c=17 h=13 w=22 k=33 r=3 s=3 dir=bwd_weights",
};

static bool is_gradient(const kernel_case *c)
{
    return c->op == RY_OP_conv && c->attrs.conv.dir == RY_direction_bwd_weights;
}

static bool is_tried(const kernel_case *c, const ry_kernel *kernel)
{
    return (is_gradient(c) || accuracy_is_measured(kernel)) && kernel->device == RY_DEVICE_cpu &&
           kernel_case_machine_has(kernel->isa);
}

static void test_every_output(void **state)
{
    (void)state;
    const outlier_subject subject = {is_tried, RY_KNOB_FREE};
    int failures = 0, compared = 0;
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        failures += outlier_failures(problems[i], (uint32_t)i, &subject, &compared);
    }
    assert_int_equal(failures, 0);
    assert_true(compared > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_output),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
