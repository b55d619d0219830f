/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels in every form: complete, as asked for, the same when it is asked for again, and right;
 * and prepared for other machines than this one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernel_case.h"
#include "machine/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct row {
    const char *family, *problem;
    double bound;
} row;

static const row rows[] = {
    {"pool_f32", "pool x0=2x5x11x13:f32 y0=2x5x6x7:f32 kernel=3,3 stride=2,2 pads=1,1,1,1", 0},
    {"pool_f32", "pool x0=2x19x9x7:f32 y0=2x19x9x7:f32 kernel=5,3 pads=2,1,2,1 kind=average", 1e-6},
    {"resize", "resize x0=2x5x7x9:f32 y0=2x5x14x18:f32 scales=1,1,2,2 mode=linear", 1e-6},
    {"batch_norm_f32",
     "batch_norm x0=2x19x5x7:f32 x1=19:f32 x2=19:f32 x3=19:f32 x4=19:f32 y0=2x19x5x7:f32", 1e-6},
    {"group_norm_f32", "group_norm x0=2x12x5x7:f32 x1=12:f32 x2=12:f32 y0=2x12x5x7:f32 groups=3",
     1e-6},
    {"dropout_f32", "dropout x0=3x19x7:f32 x1=scalar:f64 y0=3x19x7:f32 ratio=0.3 seed=7", 1e-6},
    {"lrn_f32", "lrn x0=2x19x5x7:f32 y0=2x19x5x7:f32 size=5", 1e-6},
    {"softmax_f32", "softmax x0=3x7x37:f32 y0=3x7x37:f32 axis=1", 1e-6},
    {"layer_norm_f32", "layer_norm x0=4x33:f32 x1=33:f32 y0=4x33:f32 axis=1", 1e-6},
    {"arg_reduce", "arg_reduce x0=3x19x4:f32 y0=3x1x4:i64 axis=1", 0},
    {"expr", "expr x0=5x37:f32 x1=37:f32 y0=5x37:f32 program='x0 * x1 + x0'", 1e-6},
    {"expr", "expr x0=9x301:f32 y0=9x1:f32 program='sum(x0)' axes=1", 1e-6},
    {"conv_fwd_f32_winograd", "conv n=2 c=5 h=11 w=13 k=7 r=3 s=3 pad=1 bias=1", 1e-5},
    {"conv_fwd_f32_winograd", "conv c=3 h=19 w=10 k=35 r=5 s=3 pad=2,1 dilation=1,2", 1e-5},
    {"conv_fwd_f32_winograd_strict", "conv c=9 h=8 w=15 k=66 r=3 s=2 stride=2", 2e-6},
    {"convt_fwd_f32_winograd", "convt c=6 h=7 w=9 k=5 r=4 s=4 pad=1 stride=2 bias=1", 1e-5},
    {"conv_fwd_f32_split", "conv n=2 c=35 h=9 w=11 k=70 r=3 s=3 pad=1 bias=1", 2e-5},
    {"conv_fwd_f32_split_strict", "conv c=34 h=23 w=7 k=33 r=3 s=2 pad=1,0 stride=2", 2e-6},
    {"conv_fwd_bf16_split", "conv c=32 d=3 h=5 w=6 k=40 t=2 r=3 s=3 groups=2", 2e-5},
    {"conv_bwd_weights_f32_split",
     "conv n=3 c=34 h=9 w=11 k=70 r=3 s=3 pad=1 stride=2 dir=bwd_weights", 2e-5},
    {"matmul_f32_split", "matmul x0=37x70:f32 x1=70x45:f32 y0=37x45:f32", 2e-5},
    {"conv_fwd_f32_depthwise_nchw", "conv n=2 c=5 h=9 w=7 k=5 r=3 s=3 pad=1 groups=5 bias=1", 1e-6},
    {"conv_fwd_f32_depthwise_nchw", "conv n=2 c=5 h=7 w=7 k=5 r=3 s=3 pad=1 groups=5 act=relu",
     1e-6},
    {"conv_fwd_f32_depthwise_nchw",
     "conv c=3 h=17 w=25 k=3 r=3 s=3 pad=1 groups=3 act=clip alpha=-0.5 beta=0.5", 1e-6},
    {"conv_fwd_f32_depthwise_nchw", "conv c=3 h=18 w=37 k=3 r=3 s=3 pad=1 stride=2 groups=3", 1e-6},
    {"conv_fwd_f32_depthwise_nchw", "conv c=4 h=19 w=21 k=4 r=5 s=5 pad=2 groups=4", 1e-6},
    {"conv_fwd_f32_depthwise_nchw",
     "conv c=3 h=31 w=23 k=6 r=7 s=7 pad=3 groups=3 act=relu residual=1", 1e-6},
    {"conv_fwd_f32_depthwise_nchw", "conv c=3 h=40 w=3 k=3 r=3 s=2 pad=1 dilation=2 groups=3",
     1e-6},
    {"conv_fwd_f32_depthwise_nchw", "conv c=3 h=12 w=20 k=3 r=3 s=3 pad=1,1,3,2 groups=3", 1e-6},
    {"conv_fwd_f32_depthwise_nhwc", "conv n=2 c=35 h=9 w=8 k=35 r=3 s=3 pad=1 groups=35 bias=1",
     1e-6},
    {"conv_fwd_f32_depthwise_nhwc", "conv c=20 h=15 w=11 k=20 r=5 s=5 pad=4 dilation=2 groups=20",
     1e-6},
    {"conv_fwd_f32_depthwise_nhwc",
     "conv c=12 h=13 w=17 k=24 r=3 s=3 pad=1 stride=2 groups=6 act=relu residual=1", 1e-6},
    {"convt_fwd_f32_depthwise_nhwc", "convt c=18 h=7 w=6 k=18 r=4 s=3 pad=1 stride=2 groups=18",
     1e-6},
    {"conv_fwd_f32_depthwise_nhwc", "conv c=17 d=3 h=5 w=6 k=17 t=3 r=3 s=3 pad=1 groups=17", 1e-6},
    {"conv_fwd_f32_staged", "conv n=2 c=6 h=11 w=13 k=6 r=3 s=3 pad=1 groups=6 bias=1 act=relu",
     1e-6},
    {"conv_fwd_f32_staged", "conv c=3 h=12 w=21 k=3 r=5 s=5 pad=2 stride=2 groups=3 residual=1",
     1e-6},
    {"conv_fwd_f32_staged",
     "conv c=12 h=10 w=37 k=18 r=3 s=3 pad=1,2 dilation=1,2 groups=3 act=gelu", 2e-6},
    {"conv_fwd_f32_staged", "conv c=8 h=9 w=15 k=12 r=3 s=3 pad=1 stride=3,2 groups=4 bias=1",
     2e-6},
    {"conv_fwd_f32_staged", "conv c=64 h=9 w=11 k=96 r=3 s=3 pad=1 groups=32 bias=1 act=relu",
     2e-6}, /* groups share a task */
    {"conv_fwd_f32_staged",
     "conv n=2 c=16 h=9 w=140 k=16 r=3 s=3 pad=1 groups=8 act=clip alpha=-0.5 beta=0.5",
     2e-6}, /* rows of several tiles */
    {"conv_fwd_f32_staged", "conv c=20 h=7 w=56 k=10 r=5 s=5 pad=2,3 stride=2,1 groups=5 bias=1",
     2e-6},
    {"conv_fwd_f32_staged", "conv c=32 h=6 w=65 k=32 r=1 s=3 pad=0,1 groups=2 act=silu", 2e-6},
    {"conv_fwd_f32_staged", "conv c=8 h=9 w=34 k=8 r=3 s=3 groups=2", 2e-6},
    {"conv_fwd_f32_staged", "conv c=3 h=12 w=30 k=27 r=3 s=3 pad=1 bias=1", 2e-6},
    {"conv_fwd_f32_staged", "conv n=2 c=3 h=13 w=37 k=18 r=3 s=3 pad=1 bias=1 act=relu", 2e-6},
    {"conv_fwd_f32_staged", "conv c=2 h=21 w=19 k=5 r=7 s=7 pad=3 stride=2 act=gelu", 2e-6},
    {"conv_fwd_f32_staged", "conv c=5 h=9 w=1 k=33 r=3 s=1 pad=1,0 dilation=2,1", 2e-6},
    {"conv_fwd_f32_staged", "conv n=3 c=20 h=9 w=41 k=3 r=3 s=3 pad=1 bias=1 act=relu residual=1",
     2e-6},
    {"conv_fwd_f32_staged", "conv n=2 c=7 h=12 w=33 k=9 r=5 s=4 pad=2 stride=2,3 dilation=1,2",
     2e-6},
    {"convt_fwd_f32_staged", "convt n=2 c=9 h=7 w=10 k=3 r=4 s=4 pad=1 stride=2", 2e-6},
    {"conv_fwd_f32_staged", "conv c=4 d=4 h=6 w=7 k=2 t=3 r=3 s=3 pad=1", 2e-6},
    {"separable_conv_f32",
     "separable_conv x0=2x35x9x11:f32:nhwc x1=35x1x3x3:f32 x2=35:f32 x3=37x35x1x1:f32 "
     "x5=2x37x9x11:f32:nhwc "
     "y0=2x37x9x11:f32:nhwc pads=1,1,1,1 activation=relu",
     2e-6},
    {"separable_conv_f32",
     "separable_conv x0=1x40x13x15:f32:nhwc x1=40x1x5x5:f32 x3=20x40x1x1:f32 x4=20:f32 "
     "y0=1x20x13x15:f32:nhwc "
     "pads=4,4,4,4 dilation=2,2",
     2e-6},
    {"conv_fwd_f32_igemm", "conv n=2 c=5 h=9 w=7 k=17 r=3 s=2 pad=1 stride=2,1 bias=1 act=relu",
     2e-6},
    {"conv_fwd_f32_igemm", "conv n=2 c=3 h=5 w=6 k=7 r=3 s=3 pad=6 dilation=6 residual=1",
     2e-6}, /* most taps read padding */
    {"conv_fwd_f32_igemm", "conv c=130 h=3 w=11 k=40 bias=1 act=silu", 2e-6},
    {"conv_fwd_i32_igemm", "conv n=2 c=9 h=6 w=5 k=7 r=2 s=3 groups=1 dtype=i32", 0},
    {"convt_fwd_f32_igemm", "convt n=2 c=6 h=5 w=7 k=5 r=3 s=4 stride=3,2 pad=1 bias=1 residual=1",
     2e-6},
    {"convt_fwd_f32_igemm", "convt c=4 h=6 w=5 k=33 r=2 s=2 stride=2", 2e-6},
    {"conv_fwd_bf16_igemm", "conv n=2 c=5 h=7 w=6 k=18 r=3 s=3 pad=1 bias=1 accuracy=bf16", 1e-5},
    {"matmul_f32_igemm", "matmul x0=37x70:f32 x1=70x45:f32 y0=37x45:f32", 2e-6},
    {"matmul_bf16_igemm", "matmul x0=9x35:f32 x1=35x18:f32 y0=9x18:f32 accuracy=bf16", 1e-5},
    {"conv_fwd_f32_kn2row", "conv n=2 c=9 h=13 w=18 k=5 r=3 s=3 pad=1 groups=1 bias=1 act=relu",
     2e-6},
    {"convt_fwd_f32_kn2row", "convt n=2 c=4 d=3 h=6 w=7 k=2 t=2 r=3 s=3 stride=2 residual=1", 2e-6},
    {"matmul_f32_gemm", "matmul x0=3x37x150:f32 x1=3x150x145:f32 y0=3x37x145:f32", 1e-6},
    {"matmul_f32_gemm", "matmul x0=131x67:f32 x1=131x90:f32 y0=67x90:f32 trans_a=1 alpha=0.5",
     1e-6},
    {"matmul_f32_gemm",
     "matmul x0=29x1024:f32 x1=1024x33:f32 x2=33:f32 y0=29x33:f32 activation=relu", 1e-6},
    {"matmul_f32_gemm",
     "matmul x0=3x37x19:f32 x1=3x19x45:f32 x2=37x45:f32 y0=3x37x45:f32 activation=gelu", 2e-6},
    {"matmul_bf16_gemm", "matmul x0=37x150:f32 x1=150x145:f32 y0=37x145:f32", 1e-5},
    {"matmul_f32_igemm",
     "matmul x0=3x7x150:f32 x1=150x45:f32 x2=45:f32 x3=3x7x45:f32 y0=3x7x45:f32", 1e-6},
    {"matmul_bf16_igemm", "matmul x0=37x67:f32 x1=45x67:f32 y0=37x45:f32 trans_b=1", 1e-5},
    {"matmul_f32_gemv", "matmul x0=3x515:f32 x1=515x301:f32 y0=3x301:f32", 1e-6},
    {"matmul_f32_gemv", "matmul x0=2x9x4500:f32 x1=2x71x4500:f32 y0=2x9x71:f32 trans_b=1", 1e-6},
    {"matmul_bf16_gemv", "matmul x0=3x515:f32 x1=515x301:f32 y0=3x301:f32", 1e-5},
    {"matmul_f32_float24", "matmul x0=3x1030:f32 x1=1030x521:f32 y0=3x521:f32", 1e-5},
};

static void every_form(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kernel_case c;
        kernel_case_parse(&c, rows[i].problem);
        c.forms = true;
        kernel_case_check_isas(&c, rows[i].family, rows[i].bound);
        kernel_case_end(&c);
    }
}

/* A machine unlike this one: many cores with small caches of their own, one with large ones, or
 * nothing known. */
static ry_machine machine_like(const ry_machine *here, int which)
{
    ry_machine m = *here;
    const size_t l1[] = {16 << 10, 128 << 10, 0}, l2[] = {128 << 10, 16 << 20, 0},
                 l3[] = {0, 512 << 20, 0};
    const unsigned cores[] = {96, 1, 3};
    const size_t *bytes[] = {l1, l2, l3};
    m.cores = cores[which];
    for (int i = 0; i < RYND_LEVEL_DRAM; i++) {
        m.level[i].bytes = bytes[i][which];
        m.level[i].shared_by = m.level[i].bytes ? 1 : 0;
        m.level[i].bandwidth = m.level[i].bytes ? m.level[i].bandwidth : (rynd_rate){0, 0};
    }
    if (which == 2) {
        m.bf16 = m.int8 = (rynd_rate){0, 0};
        m.task_seconds = m.region_seconds = 0;
    }
    return m;
}

/* The case's output, as this kernel gives it when it is prepared for another machine. */
static void check_machine(kernel_case *c, const ry_kernel *kernel, int which,
                          const double *expected, double bound)
{
    ry_tensor in[CASE_OPERANDS], out[CASE_OPERANDS];
    const void *data[CASE_OPERANDS];
    void *result = c->out[0].data;
    ry_error error = {0};
    const ry_problem problem = kernel_case_problem(c, CASE_NCHW, in, out);
    ry_target target = *every_kernel_target(kernel->isa);
    const ry_machine machine = machine_like(target.machine, which);
    target.machine = &machine;
    for (int i = 0; i < c->inputs; i++) {
        data[i] = c->in[i].data;
    }
    const ry_query query = {kernel, &problem, &target, NULL};
    if (ry_kernel_execute(&query, data, &result, NULL, &ry_system_allocator, &error) != RYND_OK) {
        fail_msg("%s, machine %d: %s", kernel->name, which, error.text);
    }
    kernel_case_expect(c, 0, expected, ry_tensor_count(&c->out[0]), bound);
}

static void other_machines(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kernel_case c;
        kernel_case_parse(&c, rows[i].problem);
        double *expected = calloc((size_t)ry_tensor_count(&c.out[0]), sizeof *expected);
        assert_non_null(expected);
        for (int isa = 0; isa < RY_ISAS; isa++) {
            char name[64];
            snprintf(name, sizeof name, "%s_%s", rows[i].family, ry_isa_name((ry_isa)isa));
            const ry_kernel *kernel = every_kernel_find(name);
            if (!kernel || !kernel_case_machine_has(kernel->isa) ||
                !kernel_case_applicable(&c, kernel, CASE_NCHW)) {
                continue;
            }
            kernel_case_run(&c, kernel, CASE_NCHW);
            for (int64_t j = 0; j < ry_tensor_count(&c.out[0]); j++) {
                expected[j] = kernel_case_get(&c, 0, j);
            }
            for (int which = 0; which < 3; which++) {
                check_machine(&c, kernel, which, expected, rows[i].bound * 100);
            }
        }
        free(expected);
        kernel_case_end(&c);
    }
}

typedef struct bits_row {
    const char *kernel, *problem;
    int knobs; /* the first ones, which decide about bits */
} bits_row;

/* The bits of each form are those of the first one with the same values of these knobs. */
static void check_bits(kernel_case *c, const ry_kernel *kernel, case_layout layout, int knobs)
{
    enum { MAX_KEYS = 16 };
    unsigned char *bits[MAX_KEYS];
    ry_form keys[MAX_KEYS], form;
    int count = 0;
    c->forms = true;
    for (size_t at = 0, size; kernel_case_form(c, kernel, layout, &at, &form);) {
        int key = 0;
        while (key < count &&
               memcmp(keys[key].value, form.value, (size_t)knobs * sizeof form.value[0]) != 0) {
            key++;
        }
        assert_true(key < MAX_KEYS);
        c->form = &form;
        unsigned char *got = kernel_case_bits(c, kernel, layout, &size);
        c->form = NULL;
        if (key == count) {
            keys[count] = form;
            bits[count++] = got;
        } else {
            assert_memory_equal(got, bits[key], size);
            free(got);
        }
    }
    while (count > 0) {
        free(bits[--count]);
    }
}

static void same_bits(void **state)
{
    (void)state;
    static const bits_row kernels[] = {
        {"conv_fwd_f32_winograd_avx512", "conv n=2 c=5 h=11 w=13 k=71 r=3 s=3 pad=1 bias=1", 2},
        {"conv_fwd_f32_winograd_generic", "conv c=3 h=19 w=10 k=35 r=5 s=3 pad=2,1 dilation=1,2",
         2},
        {"convt_fwd_f32_winograd_generic", "convt c=6 h=7 w=9 k=5 r=4 s=4 pad=1 stride=2 bias=1",
         2},
        {"conv_fwd_f32_split_generic", "conv n=2 c=35 h=9 w=11 k=70 r=3 s=3 pad=1 bias=1", 0},
    };
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        const ry_kernel *kernel = every_kernel_find(kernels[i].kernel);
        kernel_case c;
        kernel_case_parse(&c, kernels[i].problem);
        for (case_layout layout = 0; layout < CASE_LAYOUTS; layout++) {
            if (kernel && kernel_case_machine_has(kernel->isa) &&
                kernel_case_applicable(&c, kernel, layout)) {
                check_bits(&c, kernel, layout, kernels[i].knobs);
            }
        }
        kernel_case_end(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_form),
                                       cmocka_unit_test(other_machines),
                                       cmocka_unit_test(same_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
