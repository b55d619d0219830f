/* SPDX-License-Identifier: Apache-2.0 */
/* Weight gradients by split bfloat16 against the reference on odd shapes, in every form; on numbers
 * at the ends of the range; with the same bits at any number of threads. Where the machine has AMX,
 * the same run on it, too. */
#include "kernel_case.h"

#include <rynd/rynd.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "wgrad_threads.h"

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
    return kernel == 2 ? RY_ACCURACY_bf16 : kernel == 1 ? RY_ACCURACY_near32 : RY_ACCURACY_strict;
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

/* dw[out][channel] of a window of one tap, whose sums are easily known. */
static void sums_of(int kernel, const double x[64], const double dy[2][64],
                    const double expected[2], double tolerance)
{
    char name[64];
    snprintf(name, sizeof name, "%s_generic", kernels[kernel]);
    for (case_layout layout = CASE_NCHW; layout <= CASE_NHWC; layout++) {
        kernel_case c;
        kernel_case_parse(&c, "conv c=16 h=8 w=8 k=16 dir=bwd_weights");
        c.accuracy = class_of(kernel);
        for (int64_t i = 0; i < 16 * 64; i++) {
            ((float *)c.in[0].data)[i] = i < 64 ? (float)x[i] : 1.0f;
            ((float *)c.in[1].data)[i] = i < 128 ? (float)dy[i / 64][i % 64] : 0.0f;
        }
        kernel_case_run(&c, every_kernel_find(name), layout);
        for (int64_t k = 0; k < 2; k++) {
            const double got = kernel_case_get(&c, 0, k * 16);
            if (!kernel_case_close(got, expected[k], tolerance * fabs(expected[k]))) {
                fail_msg("%s: output %d is %g, not %g", name, (int)k, got, expected[k]);
            }
        }
        kernel_case_end(&c);
    }
}

static void ends_of_the_range(void **state)
{
    (void)state;
    for (int kernel = 0; kernel < 2; kernel++) {
        /* large elements that only one output meets, beside products that are subnormal */
        double x[64] = {1e30, 0x1p-130}, w[2][64] = {{1}, {0, 0.75}};
        sums_of(kernel, x, (const double(*)[64])w, (const double[]){1e30, 0x1.8p-131}, 1e-5);
        /* normal operands, subnormal products */
        const double y[64] = {0x1.234567p-70, 0x1.7p-71}, v[2][64] = {{0x1.1p-60}, {1, 1}};
        sums_of(kernel, y, v,
                (const double[]){0x1.234567p-70 * 0x1.1p-60, 0x1.234567p-70 + 0x1.7p-71}, 1e-5);
        /* a number that rounds to bfloat16's infinity; a sum that leaves the range */
        const double z[64] = {3.4e38, 3.4e38, 3.4e38}, u[2][64] = {{1}, {0.9, 0.9, 0.9}};
        sums_of(kernel, z, u, (const double[]){3.4e38, INFINITY}, 1e-5);
        const double s[64] = {0x1.fffffep127}, t[2][64] = {{0x1p-100}, {-0.5}};
        sums_of(kernel, s, t, (const double[]){0x1.fffffep27, -0x1.fffffep126}, 1e-5);
        /* zero meets infinity, and does not */
        const double p[64] = {INFINITY, 2}, q[2][64] = {{0x1p-149, 1}, {0, 1}};
        sums_of(kernel, p, q, (const double[]){INFINITY, NAN}, 0);
        const double zeros[64] = {0}, any[2][64] = {{1, 2, 3}, {4}};
        sums_of(kernel, zeros, any, (const double[]){0, 0}, 0);
    }
}

/* In class bf16, too, elements that are infinite or NaN reach those weights alone that meet them:
 * places between lines hold zeros, which tiles multiply. */
static void only_what_meets_them(void **state)
{
    (void)state;
    const ry_kernel *reference = every_kernel_find("conv_ref");
    for (int k = 0; k < 3; k++) {
        for (case_layout layout = CASE_NCHW; layout <= CASE_NHWC; layout++) {
            kernel_case c;
            char name[64];
            snprintf(name, sizeof name, "%s_generic", kernels[k]);
            kernel_case_parse(&c, "conv n=2 c=17 h=9 w=7 k=18 r=3 s=3 pad=1 dir=bwd_weights");
            c.accuracy = class_of(k);
            float *x = c.in[0].data;
            x[6] = INFINITY;
            x[9 * 7 - 7] = NAN;
            x[9 * 7] = -INFINITY;
            kernel_case_run(&c, reference, CASE_NCHW);
            const int64_t count = ry_tensor_count(&c.out[0]);
            bool *finite = test_malloc((size_t)count * sizeof *finite);
            for (int64_t i = 0; i < count; i++) {
                finite[i] = isfinite(kernel_case_get(&c, 0, i));
            }
            kernel_case_run(&c, every_kernel_find(name), layout);
            for (int64_t i = 0; i < count; i++) {
                if (isfinite(kernel_case_get(&c, 0, i)) != finite[i]) {
                    fail_msg("%s: element %lld", name, (long long)i);
                }
            }
            test_free(finite);
            kernel_case_end(&c);
        }
    }
}

static void same_bits(void **state)
{
    (void)state;
    static const char *const shapes[] = {
        "conv n=8 c=40 h=28 w=28 k=70 r=3 s=3 pad=1 dir=bwd_weights bias=1",
        "conv n=3 c=70 h=20 w=20 k=40 stride=2 layout=nhwc dir=bwd_weights bias=1"};
    static const unsigned threads[] = {2, 3, 7};
    enum { ROOM = 70 * 40 * 9 + 70 };
    static float one[ROOM], other[ROOM];
    if (!kernel_case_machine_has(RY_ISA_amx) ||
        !every_kernel_find("conv_bwd_weights_f32_split_amx")) {
        print_message("skipped: machine or build have no AMX\n");
        skip();
    }
    for (size_t i = 0; i < 2 * 3; i++) {
        char kernel[64];
        snprintf(kernel, sizeof kernel, "%s_amx", kernels[i / 2]);
        memset(one, 0, sizeof one);
        wgrad_of_threads(shapes[i % 2], kernel, 1, one);
        for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
            memset(other, 0, sizeof other);
            wgrad_of_threads(shapes[i % 2], kernel, threads[t], other);
            assert_memory_equal(one, other, sizeof one);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(odd_shapes),        cmocka_unit_test(biases_and_forms),
        cmocka_unit_test(ends_of_the_range), cmocka_unit_test(only_what_meets_them),
        cmocka_unit_test(same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
