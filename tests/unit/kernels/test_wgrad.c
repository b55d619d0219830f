/* SPDX-License-Identifier: Apache-2.0 */
/* Weight gradients with the bias's against the reference in float64, in every form; same bits at
 * any number of threads; no more error than twice that of a plain sum, however long the sum is. */
#include "kernel_case.h"

#define RY_ISA_NAME generic
#include "kernels/cpu/wgrad/wgrad_winograd.h"

#include <rynd/rynd.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "wgrad_threads.h"

#define F32 2e-6

/* With the gradient of the bias, and in every form. */
static const char *const with_bias[] = {
    "conv n=3 c=6 h=9 w=8 k=4 r=3 s=3 pad=1 groups=2 dir=bwd_weights bias=1",
    "conv n=5 c=3 h=21 w=20 k=33 r=7 s=7 pad=3 stride=2 dir=bwd_weights bias=1",
    "conv n=2 c=17 h=14 w=15 k=35 r=3 s=3 pad=1 dir=bwd_weights bias=1",
    "conv n=3 c=40 h=7 w=7 k=70 dir=bwd_weights bias=1",
    "conv n=9 c=19 h=3 w=3 k=19 r=3 s=3 pad=1 groups=19 dir=bwd_weights bias=1",
    "conv n=2 c=24 h=30 w=31 k=24 r=5 s=5 pad=2 stride=2 groups=24 dir=bwd_weights bias=1",
    "conv n=2 c=8 h=11 w=10 k=12 r=3 s=3 pad=1 groups=4 dir=bwd_weights bias=1",
    "conv n=2 c=5 d=4 h=7 w=8 k=4 t=3 r=2 s=3 pad=1 dir=bwd_weights bias=1",
    "conv n=4 c=5 w=70 k=6 s=5 pad=2 stride=3 dir=bwd_weights bias=1",
    "conv n=2 c=2 h=5 w=1 k=20 r=3 s=3 pad=4,3 dir=bwd_weights bias=1",
    "conv n=3 c=37 h=9 w=10 k=37 r=3 s=3 pad=1 groups=37 layout=nhwc dir=bwd_weights bias=1",
};

/* Depthwise: windows of every piece (wgrad_taps.h), wider and higher than one, strides, dilation,
 * padding of which whole windows are, images smaller than their windows, vectors with every tail,
 * lines that are cut. */
static const char *const depthwise[] = {
    "conv n=2 c=35 h=9 w=10 k=35 r=2 s=4 pad=1,2 groups=35 dir=bwd_weights bias=1",
    "conv n=3 c=16 h=12 w=11 k=16 r=5 s=5 pad=2 groups=16 dir=bwd_weights bias=1",
    "conv n=2 c=33 h=10 w=13 k=33 r=7 s=7 pad=3 groups=33 dir=bwd_weights bias=1",
    "conv n=2 c=18 h=13 w=12 k=18 r=11 s=9 pad=5,4 groups=18 dir=bwd_weights bias=1",
    "conv n=2 c=40 h=13 w=14 k=40 r=3 s=3 pad=1 stride=2 groups=40 dir=bwd_weights bias=1",
    "conv n=2 c=21 h=16 w=15 k=21 r=4 s=6 pad=3 stride=3 groups=21 dir=bwd_weights bias=1",
    "conv n=2 c=20 h=12 w=13 k=20 r=3 s=3 pad=2 dilation=2 groups=20 dir=bwd_weights bias=1",
    "conv n=2 c=19 h=2 w=2 k=19 r=5 s=5 pad=4 groups=19 dir=bwd_weights bias=1",
    "conv n=1 c=7 h=3 w=4 k=7 r=3 s=3 pad=6,5 groups=7 dir=bwd_weights bias=1",
    "conv n=3 c=17 h=8 w=1 k=17 r=5 s=1 pad=2,0 groups=17 dir=bwd_weights bias=1",
    "conv n=2 c=34 w=300 k=34 s=3 pad=1 groups=34 dir=bwd_weights bias=1",
    "conv n=1 c=530 h=3 w=150 k=530 r=3 s=3 pad=1 groups=530 dir=bwd_weights bias=1",
    "conv n=1 c=2 w=4500 k=2 s=6 pad=7 stride=2 dilation=3 groups=2 dir=bwd_weights bias=1",
};

static void test_bias(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof with_bias / sizeof *with_bias; i++) {
        kernel_case c;
        kernel_case_parse(&c, with_bias[i]);
        c.forms = true;
        assert_true(kernel_case_check_all(&c, F32, NULL) > 0);
        kernel_case_end(&c);
    }
}

static void test_depthwise(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof depthwise / sizeof *depthwise; i++) {
        kernel_case c;
        kernel_case_parse(&c, depthwise[i]);
        c.forms = true;
        kernel_case_check_isas(&c, "conv_bwd_weights_f32_depthwise", F32);
        kernel_case_end(&c);
    }
}

/* More tiles than one running sum has in Winograd's form. */
static void test_many_blocks(void **state)
{
    (void)state;
    kernel_case c;
    kernel_case_parse(&c, "conv n=1 c=3 h=70 w=71 k=5 r=3 s=3 pad=1 dir=bwd_weights bias=1");
    c.forms = true;
    assert_true(kernel_case_check_all(&c, 1e-5, NULL) > 0);
    kernel_case_end(&c);
}

/* Root of the mean square difference to float64, over that of the same sum in float32 in the order
 * of memory. */
static double error_beside_plain(kernel_case *c, const ry_kernel *kernel)
{
    const ry_tensor *x = &c->in[0], *dy = &c->in[1];
    const int64_t positions = x->dim[2] * x->dim[3];
    const float *xs = x->data, *ys = dy->data;
    double plain = 0, kernels = 0;
    kernel_case_run(c, kernel, CASE_NCHW);
    for (int64_t k = 0; k < dy->dim[1]; k++) {
        for (int64_t ch = 0; ch < x->dim[1]; ch++) {
            double exact = 0;
            float sum = 0;
            for (int64_t i = 0; i < x->dim[0] * positions; i++) {
                const int64_t n = i / positions, o = i % positions;
                const float a = xs[(n * x->dim[1] + ch) * positions + o],
                            b = ys[(n * dy->dim[1] + k) * positions + o];
                exact += (double)a * b;
                sum += a * b;
            }
            const double got = kernel_case_get(c, 0, k * x->dim[1] + ch);
            plain += (sum - exact) * (sum - exact);
            kernels += (got - exact) * (got - exact);
        }
    }
    return sqrt(kernels / plain);
}

/* dw of a 3x3 window with one line of padding, in float64. */
static double exact_weight(const kernel_case *c, int64_t k, int64_t channel, int64_t i, int64_t j)
{
    const ry_tensor *x = &c->in[0], *dy = &c->in[1];
    const int64_t height = x->dim[2], width = x->dim[3];
    const float *xs = x->data, *ys = dy->data;
    double sum = 0;
    for (int64_t at = 0; at < x->dim[0] * height * width; at++) {
        const int64_t n = at / height / width, row = at / width % height + i - 1,
                      column = at % width + j - 1;
        if (row >= 0 && row < height && column >= 0 && column < width) {
            const int64_t plane = n * x->dim[1] + channel, of_dy = n * dy->dim[1] + k;
            sum += (double)xs[(plane * height + row) * width + column] *
                   ys[of_dy * height * width + at % (height * width)];
        }
    }
    return sum;
}

/* The root of the mean square error over that of the result, of the taps [first, 3) of each axis,
 * for each near32 kernel and layout: at most 1e-5. */
static void check_near32(kernel_case *c, int first)
{
    const int64_t count = ry_tensor_count(&c->out[0]), channels = c->in[0].dim[1];
    double *exact = test_malloc((size_t)count * sizeof *exact), squares = 0;
    int measured = 0;
    for (int64_t e = 0; e < count; e++) {
        exact[e] = exact_weight(c, e / 9 / channels, e / 9 % channels, e % 9 / 3, e % 3);
        squares += e % 9 / 3 >= first && e % 3 >= first ? exact[e] * exact[e] : 0;
    }
    for (size_t k = 0; k < every_kernel_count(); k++) {
        const ry_kernel *kernel = every_kernel(k);
        for (int layout = 0; layout < CASE_LAYOUTS; layout++) {
            if (kernel->device != RY_DEVICE_cpu || kernel->accuracy != RY_ACCURACY_near32 ||
                !kernel_case_machine_has(kernel->isa) ||
                !kernel_case_applicable(c, kernel, (case_layout)layout)) {
                continue;
            }
            double errors = 0;
            kernel_case_run(c, kernel, (case_layout)layout);
            for (int64_t e = 0; e < count; e++) {
                const double error = kernel_case_get(c, 0, e) - exact[e];
                errors += e % 9 / 3 >= first && e % 3 >= first ? error * error : 0;
            }
            if (!(sqrt(errors / squares) <= 1e-5)) {
                fail_msg("%s: relative error %g", kernel->name, sqrt(errors / squares));
            }
            measured++;
        }
    }
    assert_true(measured > 0);
    test_free(exact);
}

/* What the class near32 promises. */
static void test_near32(void **state)
{
    (void)state;
    kernel_case c;
    kernel_case_parse(&c, "conv n=2 c=11 h=30 w=31 k=19 r=3 s=3 pad=1 dir=bwd_weights");
    check_near32(&c, 0);
    kernel_case_end(&c);
}

/* An outlier in a corner of a channel of x or dy spoils no tap that does not meet it. The last tap
 * meets neither the first element of x nor the last one of dy. */
static void test_outliers(void **state)
{
    (void)state;
    static const char *const problems[] = {
        "conv n=2 c=11 h=30 w=31 k=19 r=3 s=3 pad=1 dir=bwd_weights",
        "conv n=3 c=5 h=4 w=150 k=19 r=3 s=3 pad=1 dir=bwd_weights"};
    for (size_t i = 0; i < 2 * sizeof problems / sizeof *problems; i++) {
        kernel_case c;
        kernel_case_parse(&c, problems[i / 2]);
        ry_tensor *t = &c.in[i % 2];
        const int64_t plane = t->dim[2] * t->dim[3];
        ((float *)t->data)[i % 2 ? 4 * plane - 1 : 3 * plane] = 1e5f;
        check_near32(&c, 2);
        kernel_case_end(&c);
    }
}

/* Sums of 200,000 positive products: what one running sum loses, blocks may not lose as well. */
static void test_long_sums(void **state)
{
    (void)state;
    static const char *const problems[] = {
        "conv n=2 c=3 h=317 w=316 k=5 dir=bwd_weights accuracy=strict"};
    int measured = 0;
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        kernel_case c;
        kernel_case_parse(&c, problems[i]);
        for (int t = 0; t < 2; t++) {
            float *data = c.in[t].data;
            for (int64_t j = 0; j < ry_tensor_count(&c.in[t]); j++) {
                data[j] = fabsf(data[j]);
            }
        }
        for (size_t j = 0; j < every_kernel_count(); j++) {
            const ry_kernel *kernel = every_kernel(j);
            if (!kernel->reference && kernel->device == RY_DEVICE_cpu &&
                kernel_case_machine_has(kernel->isa) &&
                kernel_case_applicable(&c, kernel, CASE_NCHW)) {
                const double times = error_beside_plain(&c, kernel);
                if (!(times <= 2)) {
                    fail_msg("%s has %g times the error of a plain sum", kernel->name, times);
                }
                measured++;
            }
        }
        kernel_case_end(&c);
    }
    assert_true(measured > 0);
}

/* Infinite or NaN elements of x spoil exactly the weight gradients that read them. */
static void test_nonfinite(void **state)
{
    (void)state;
    static const char *const problems[] = {
        "conv n=2 c=5 h=9 w=12 k=5 r=3 s=3 groups=5 dir=bwd_weights",
        "conv n=2 c=8 h=10 w=11 k=8 r=3 s=2 pad=1,0 stride=2 groups=2 dir=bwd_weights",
        "conv n=2 c=3 h=9 w=7 k=4 r=3 s=5 pad=1,3 dir=bwd_weights",
        "conv n=2 c=3 h=9 w=7 k=35 r=3 s=3 pad=1 dir=bwd_weights"};
    const ry_kernel *reference = every_kernel_find("conv_ref");
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        kernel_case c;
        kernel_case_parse(&c, problems[i]);
        float *x = c.in[0].data;
        const int64_t line = c.in[0].dim[3], plane = c.in[0].dim[2] * line;
        x[line - 1] = INFINITY;
        x[plane - line] = NAN;
        x[plane + line + 1] = -INFINITY;
        kernel_case_run(&c, reference, CASE_NCHW);
        const int64_t count = ry_tensor_count(&c.out[0]);
        bool *finite = test_malloc((size_t)count * sizeof *finite);
        int64_t infinite = 0;
        for (int64_t j = 0; j < count; j++) {
            finite[j] = isfinite(kernel_case_get(&c, 0, j));
            infinite += !finite[j];
        }
        assert_in_range(infinite, 1, count - 1);
        for (size_t k = 0; k < every_kernel_count(); k++) {
            const ry_kernel *kernel = every_kernel(k);
            for (int layout = 0; layout < CASE_LAYOUTS; layout++) {
                if (kernel->device != RY_DEVICE_cpu || !kernel_case_machine_has(kernel->isa) ||
                    !kernel_case_applicable(&c, kernel, (case_layout)layout)) {
                    continue;
                }
                kernel_case_run(&c, kernel, (case_layout)layout);
                for (int64_t j = 0; j < count; j++) {
                    if (isfinite(kernel_case_get(&c, 0, j)) != finite[j]) {
                        fail_msg("%s: element %lld of %s", kernel->name, (long long)j, problems[i]);
                    }
                }
            }
        }
        test_free(finite);
        kernel_case_end(&c);
    }
}

static void test_threads(void **state)
{
    (void)state;
    static const unsigned threads[] = {2, 3, 7};
    enum { ROOM = 70 * 40 * 9 + 70 };
    static float one[ROOM], other[ROOM];
    for (size_t i = 0; i < sizeof with_bias / sizeof *with_bias; i++) {
        memset(one, 0, sizeof one);
        wgrad_of_threads(with_bias[i], NULL, 1, one);
        for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
            memset(other, 0, sizeof other);
            wgrad_of_threads(with_bias[i], NULL, threads[t], other);
            assert_memory_equal(one, other, sizeof one);
        }
    }
}

/* A channel that is uneven in one part alone is left as it is. */
static void test_uneven_part(void **state)
{
    (void)state;
    enum { PARTS = 2, ROOM = 64 };
    const ry_kernel *kernel = every_kernel_find("conv_bwd_weights_f32_winograd_generic");
    assert_non_null(kernel);
    const int width = kernel->simd.width;
    assert_in_range(width, 2, ROOM / WGRAD_SQUARES);
    float x[PARTS][ROOM], dy[PARTS][ROOM], sums[2 * WGRAD_WINDOW * ROOM] = {0};
    for (int i = 0; i < PARTS * ROOM; i++) {
        x[i / ROOM][i % ROOM] = dy[i / ROOM][i % ROOM] = 1;
    }
    for (int probe = WGRAD_PROBE_A; probe <= WGRAD_PROBE_B; probe++) {
        x[1][probe * width] = x[1][probe * width + 1] = 1e-6f;
    }
    x[1][WGRAD_LARGEST * width + 1] = 1e3f;
    const wgrad_squares of_x = {x[0], PARTS, ROOM}, of_dy = {dy[0], PARTS, ROOM};
    RY_ISA_SYMBOL(wgrad_winograd_poison)(&of_x, 0, 2, &of_dy, width, sums, width);
    for (int i = 0; i < 2 * WGRAD_WINDOW * width; i++) {
        assert_int_equal(isfinite(sums[i]) != 0, i < WGRAD_WINDOW * width);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bias),        cmocka_unit_test(test_depthwise),
        cmocka_unit_test(test_many_blocks), cmocka_unit_test(test_near32),
        cmocka_unit_test(test_outliers),    cmocka_unit_test(test_long_sums),
        cmocka_unit_test(test_nonfinite),   cmocka_unit_test(test_threads),
        cmocka_unit_test(test_uneven_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
