/* SPDX-License-Identifier: Apache-2.0 */
/* Weight gradients by split bfloat16 against the reference on odd shapes, in every form; on numbers
 * at the ends of the range; with the same bits at any number of threads; and which problems are
 * given to them. Where the machine has AMX, the same run on it, too. */
#include "kernel_case.h"

#include <rynd/rynd.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const kernels[] = {"conv_bwd_weights_f32_split_strict",
                                      "conv_bwd_weights_f32_split", "conv_bwd_weights_bf16_split"};
/* of the largest output; the last one's operands are rounded first */
static const double bounds[] = {2e-6, 2e-5, 2e-6};

static const char *const problems[] = {
    "conv n=2 c=16 h=9 w=11 k=17 r=3 s=3 pad=1 dir=bwd_weights",
    "conv n=3 c=33 h=7 w=7 k=40 r=3 s=3 pad=1 dir=bwd_weights",
    "conv n=70 c=64 h=1 w=1 k=100 dir=bwd_weights",
    "conv n=2 c=65 h=13 w=15 k=33 dir=bwd_weights",
    "conv n=2 c=70 h=10 w=13 k=17 stride=2 dir=bwd_weights",
    "conv n=2 c=20 h=17 w=16 k=35 r=3 s=5 stride=2,3 pad=1,2,0,4 dir=bwd_weights",
    "conv n=2 c=24 h=30 w=29 k=16 r=3 s=3 stride=4 dilation=2 pad=2 dir=bwd_weights",
    "conv c=16 h=14 w=14 k=24 r=3 s=3 dilation=12 pad=12 dir=bwd_weights",
    "conv n=2 c=51 h=9 w=8 k=66 r=3 s=2 groups=3 pad=1,0,1,1 dir=bwd_weights",
    "conv n=4 c=40 w=77 k=48 s=9 pad=4 stride=3 dilation=2 dir=bwd_weights",
    "conv n=2 c=18 d=5 h=6 w=7 k=20 t=3 r=2 s=3 pad=1 stride=2,1,1 dir=bwd_weights",
    "conv n=2 c=16 h=128 w=128 k=40 r=16 s=16 stride=16 dir=bwd_weights",
    "conv c=32 h=3 w=700 k=18 r=3 s=3 pad=1 dir=bwd_weights",
    "conv n=9 c=16 h=5 w=5 k=16 r=7 s=7 pad=5 dir=bwd_weights",
    "conv n=6 c=18 h=6 w=5 k=19 r=1 s=1 pad=2 stride=3 dir=bwd_weights",
};

static ry_accuracy class_of(int kernel)
{
    return kernel == 2   ? RY_ACCURACY_bf16
           : kernel == 1 ? RY_ACCURACY_near32
                         : RY_ACCURACY_strict;
}

/* By each text of the kernel that the machine runs. */
static void check(const char *problem, int kernel, bool forms, double bound)
{
    kernel_case c;
    kernel_case_parse(&c, problem);
    c.accuracy = class_of(kernel);
    c.forms = forms;
    for (ry_isa isa = RY_ISA_generic; isa <= RY_ISA_amx; isa++) {
        char name[64];
        snprintf(name, sizeof name, "%s_%s", kernels[kernel], ry_isa_name(isa));
        if (every_kernel_find(name)) {
            kernel_case_check(&c, name, bound);
        }
    }
    kernel_case_end(&c);
}

static void odd_shapes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        for (int k = 0; k < 3; k++) {
            check(problems[i], k, false, bounds[k]);
        }
    }
}

/* The bias's gradient is summed before anything is rounded. */
static void biases_and_forms(void **state)
{
    (void)state;
    static const char *const with_bias[] = {
        "conv n=3 c=40 h=9 w=10 k=70 r=3 s=3 pad=1 dir=bwd_weights bias=1",
        "conv n=2 c=34 h=12 w=11 k=36 stride=2 groups=2 dir=bwd_weights bias=1"};
    for (size_t i = 0; i < sizeof with_bias / sizeof *with_bias; i++) {
        for (int k = 0; k < 2; k++) {
            check(with_bias[i], k, true, bounds[k]);
        }
        check(with_bias[i], 2, true, 1e-2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(odd_shapes),
        cmocka_unit_test(biases_and_forms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
