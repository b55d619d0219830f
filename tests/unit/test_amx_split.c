/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles of bfloat16 in plain C: their arithmetic as the manual states it; convolutions by split
 * operands on odd shapes and on numbers at the ends of the range; and which problems are given to
 * them. Where the machine has AMX, the same convolutions run on it, too. */
#include "kernel_case.h"
#include "kernels/cpu/peak/peak.h"
#include "kernels/cpu/simd/amx_tile.h"
#include "machine/machine.h"
#include "predict/predict.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

typedef struct operands {
    uint16_t a[16][16][2], b[16][16][2]; /* a[i][k], b[k][j]: pairs */
    float c[16][16];
} operands;

static uint16_t bf16(float x)
{
    return ry_f32_to_bf16(x);
}

static void multiply(operands *o)
{
    ry_amx tiles;
    ry_amx_begin(&tiles);
    ry_amx_load(&tiles, 0, o->c, 64);
    ry_amx_load(&tiles, 4, o->a, 64);
    ry_amx_load(&tiles, 6, o->b, 64);
    ry_amx_dot_bf16(&tiles, 0, 4, 6);
    ry_amx_store(&tiles, 0, o->c, 64);
    ry_amx_end(&tiles);
}

static void tiles_multiply(void **state)
{
    (void)state;
    operands o = {.c = {{0}}};
    for (int i = 0; i < 16; i++) {
        for (int j = 0; j < 16; j++) {
            for (int half = 0; half < 2; half++) {
                o.a[i][j][half] = bf16((float)((i * 7 + j * 5 + half * 3) % 11 - 5));
                o.b[i][j][half] = bf16((float)((i * 3 + j * 9 + half) % 13 - 6));
            }
            o.c[i][j] = (float)(i - j);
        }
    }
    multiply(&o);
    for (int i = 0; i < 16; i++) {
        for (int j = 0; j < 16; j++) {
            float sum = (float)(i - j);
            for (int k = 0; k < 16; k++) {
                for (int half = 0; half < 2; half++) {
                    sum += ry_bf16_to_f32(o.a[i][k][half]) * ry_bf16_to_f32(o.b[k][j][half]);
                }
            }
            assert_true(o.c[i][j] == sum);
        }
    }
}

/* c + a . b for up to 16 pairs, in a corner of the tiles; values[k]: {a first, b first, a second, b
 * second}. */
static float corner(float c, int pairs, const float values[][4])
{
    operands o = {.c = {{0}}};
    o.c[15][3] = c;
    for (int k = 0; k < pairs; k++) {
        o.a[15][k][0] = bf16(values[k][0]);
        o.b[k][3][0] = bf16(values[k][1]);
        o.a[15][k][1] = bf16(values[k][2]);
        o.b[k][3][1] = bf16(values[k][3]);
    }
    multiply(&o);
    return o.c[15][3];
}

static void steps_round(void **state)
{
    (void)state;
    /* first and second elements are summed apart: 2^24 + 1 - 2^24 is 1 only where 1 does not meet
     * 2^24 first */
    assert_true(
        corner(0, 2, (const float[][4]){{0x1p12f, 0x1p12f, 1, 1}, {-0x1p12f, 0x1p12f, 0, 0}}) ==
        1.0f);
    assert_true(corner(0, 3,
                       (const float[][4]){{0x1p12f, 0x1p12f, 0, 0},
                                          {1, 1, 0, 0},
                                          {-0x1p12f, 0x1p12f, 0, 0}}) == 0.0f);
    /* both sums meet before C does */
    assert_true(corner(0x1p24f, 1, (const float[][4]){{1, 1, 1, 1}}) == 0x1p24f + 2);
    /* ties go to even */
    assert_true(corner(0x1p24f, 1, (const float[][4]){{1, 1, 0, 0}}) == 0x1p24f);
    assert_true(corner(0x1p24f + 2, 1, (const float[][4]){{1, 1, 0, 0}}) == 0x1p24f + 4);
    /* a product beyond the range, taken back before it is rounded */
    assert_true(corner(0, 2, (const float[][4]){{-0x1p127f, 1, 0, 0}, {0x1p64f, 0x1p64f, 0, 0}}) ==
                0x1p127f);
}

static void small_numbers_are_zero(void **state)
{
    (void)state;
    assert_true(corner(0, 1, (const float[][4]){{0x1p-127f, 0x1p20f, 0, 0}}) == 0.0f);
    assert_true(corner(0, 1, (const float[][4]){{0x1p-126f, 0x1p20f, 0, 0}}) == 0x1p-106f);
    assert_true(corner(0, 1, (const float[][4]){{0x1p-100f, 0x1p-27f, 0, 0}}) == 0.0f);
    assert_true(corner(0, 1, (const float[][4]){{0x1p-100f, 0x1p-26f, 0, 0}}) == 0x1p-126f);
    assert_true(corner(0x1p-127f, 1, (const float[][4]){{0, 0, 0, 0}}) == 0.0f);
    /* each sum that is subnormal is lost, whatever follows; a product alone is not rounded */
    assert_true(
        corner(0, 2, (const float[][4]){{0x1p-64f, 0x1p-63f, 0, 0}, {0x1p-64f, 0x1p-63f, 0, 0}}) ==
        0.0f);
    assert_true(
        corner(0, 2, (const float[][4]){{0x1p-63f, 0x1p-63f, 0, 0}, {0x1p-64f, 0x1p-63f, 0, 0}}) ==
        0x1.8p-126f);
    /* exact below the unit of subnormal numbers */
    assert_true(
        corner(0, 2,
               (const float[][4]){{0x1p-63f, 0x1p-63f, 0, 0}, {0x1.02p-75f, 0x1.02p-75f, 0, 0}}) ==
        0x1p-126f + 0x1p-149f);
}

static void numbers_that_are_none(void **state)
{
    (void)state;
    assert_true(isnan(corner(0, 1, (const float[][4]){{INFINITY, 0, 0, 0}})));
    assert_true(isnan(corner(0, 1, (const float[][4]){{INFINITY, 0x1p-127f, 0, 0}})));
    assert_true(corner(0, 1, (const float[][4]){{INFINITY, -1, 0, 0}}) == -INFINITY);
    assert_true(isnan(corner(0, 1, (const float[][4]){{1, 1, NAN, 1}})));
    float sink;
    assert_true(ry_peak_tiles_generic(1, &sink) == 6 * 16384.0 && sink > 0);
}

static const char *const kernels[] = {"conv_fwd_f32_split_strict", "conv_fwd_f32_split",
                                      "conv_fwd_bf16_split"};
/* of the largest output; the last one's operands are rounded first */
static const double bounds[] = {2e-6, 2e-5, 2e-6};

static const char *const problems[] = {
    "conv c=16 h=9 w=11 k=7 r=3 s=3 pad=1",
    "conv n=3 c=33 h=7 w=7 k=40 r=3 s=3 pad=1 bias=1 residual=1 act=gelu",
    "conv c=64 h=1 w=1 k=100 bias=1",
    "conv n=2 c=65 h=13 w=15 k=33 bias=1 act=relu",
    "conv c=70 h=10 w=13 k=17 stride=2 residual=1",
    "conv c=20 h=17 w=16 k=35 r=3 s=5 stride=2,3 pad=1,2,0,4 bias=1 act=clip beta=20",
    "conv c=24 h=30 w=29 k=16 r=3 s=3 stride=4 dilation=2 pad=2",
    "conv c=16 h=14 w=14 k=24 r=3 s=3 dilation=12 pad=12",
    "conv c=51 h=9 w=8 k=66 r=3 s=2 groups=3 pad=1,0,1,1 bias=1 residual=1 act=silu",
    "conv c=40 w=77 k=48 s=9 pad=4 stride=3 dilation=2 bias=1 act=leaky_relu alpha=0.25",
    "conv n=2 c=18 d=5 h=6 w=7 k=20 t=3 r=2 s=3 pad=1 stride=2,1,1 bias=1",
    "conv c=16 h=32 w=32 k=40 r=16 s=16 stride=16",
    "conv c=32 h=3 w=700 k=8 r=3 s=3 pad=1",
    "conv c=16 h=45 w=40 k=96 r=2 s=2",
    "conv c=16 h=5 w=5 k=5 r=7 s=7 pad=5 act=hard_swish alpha=0.16666666666666666 beta=0.5",
};

static void odd_shapes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        for (int k = 0; k < 3; k++) {
            kernel_case c;
            kernel_case_parse(&c, problems[i]);
            c.accuracy = k == 2   ? RY_ACCURACY_bf16
                         : k == 1 ? RY_ACCURACY_near32
                                  : RY_ACCURACY_strict;
            for (ry_isa isa = RY_ISA_generic; isa <= RY_ISA_amx; isa++) {
                char name[64];
                snprintf(name, sizeof name, "%s_%s", kernels[k], ry_isa_name(isa));
                if (every_kernel_find(name)) {
                    kernel_case_check(&c, name, bounds[k]);
                }
            }
            kernel_case_end(&c);
        }
    }
}

/* A convolution of one tap, whose sums are easily known. */
static void sums_of(int kernel, const double x[64], const double w[2][64], const double expected[2],
                    double tolerance)
{
    kernel_case c;
    double weights[128];
    kernel_case_begin(&c, RY_OP_conv);
    c.accuracy = (ry_accuracy)kernel;
    kernel_case_values(&c, RY_f32, "1x64x1x1", x);
    for (int i = 0; i < 128; i++) {
        weights[i] = w[i / 64][i % 64];
    }
    kernel_case_values(&c, RY_f32, "2x64x1x1", weights);
    kernel_case_output(&c, RY_f32, "1x2x1x1");
    char name[64];
    snprintf(name, sizeof name, "%s_generic", kernels[kernel]);
    for (case_layout layout = CASE_NCHW; layout <= CASE_NHWC; layout++) {
        kernel_case_run(&c, every_kernel_find(name), layout);
        for (int i = 0; i < 2; i++) {
            const double got = kernel_case_get(&c, 0, i);
            if (!kernel_case_close(got, expected[i], tolerance * fabs(expected[i]))) {
                fail_msg("%s: output %d is %g, not %g", name, i, got, expected[i]);
            }
        }
    }
    kernel_case_end(&c);
}

static void ends_of_the_range(void **state)
{
    (void)state;
    for (int kernel = 0; kernel < 2; kernel++) {
        /* large elements that only one output reads, beside products that are subnormal */
        double x[64] = {1e30, 0x1p-130}, w[2][64] = {{1}, {0, 0.75}};
        sums_of(kernel, x, (const double(*)[64])w, (const double[]){1e30, 0x1.8p-131}, 1e-5);
        /* normal operands, subnormal products */
        const double y[64] = {0x1.234567p-70, 0x1.7p-71}, v[2][64] = {{0x1.1p-60}, {1, 1}};
        sums_of(kernel, y, v,
                (const double[]){0x1.234567p-70 * 0x1.1p-60, 0x1.234567p-70 + 0x1.7p-71}, 1e-5);
        /* a number that rounds to bfloat16's infinity; a sum whose parts leave the range on the way
         */
        const double z[64] = {3.4e38, 3.4e38, 3.4e38}, u[2][64] = {{1}, {0.9, 0.9, -0.9}};
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

/* A core that has tiles, whatever this machine is. */
static const ry_target *sapphire_rapids(void)
{
    static ry_machine machine;
    static ry_target target = {RY_DEVICE_cpu, RY_ISA_amx, &machine, 0, NULL};
    const ry_cpu_info cpu = {.vendor = "GenuineIntel",
                             .family = 6,
                             .model = 0x8f,
                             .machine_cores = 2,
                             .l1d = 48 << 10,
                             .l2 = 2 << 20,
                             .l3 = 105 << 20,
                             .l2_shared = 1,
                             .l3_shared = 2,
                             .line = 64};
    ry_machine_built_in(&cpu, RY_ISA_amx, &machine);
    return &target;
}

static const ry_kernel *choice(const char *text, ry_accuracy accuracy, const ry_target *target)
{
    kernel_case c;
    ry_tensor in[CASE_OPERANDS], out[CASE_OPERANDS];
    kernel_case_parse(&c, text);
    c.accuracy = accuracy;
    const ry_problem problem = kernel_case_problem(&c, CASE_NHWC, in, out);
    ry_choice choice;
    ry_error error;
    assert_int_equal(ry_predict_choose(&problem, target, ~0u, NULL, &choice, &error), RYND_OK);
    kernel_case_end(&c);
    return choice.prepared.kernel;
}

static void chosen_where_they_pay(void **state)
{
    (void)state;
    const char *dense = "conv c=64 h=56 w=56 k=64 r=3 s=3 pad=1",
               *image = "conv c=3 h=224 w=224 k=64 r=7 s=7 stride=2 pad=3",
               *pointwise = "conv c=512 h=28 w=28 k=512",
               *depthwise = "conv c=64 h=56 w=56 k=64 r=3 s=3 pad=1 groups=64",
               *gradient = "conv n=16 c=256 h=14 w=14 k=256 r=3 s=3 pad=1 dir=bwd_weights",
               *of_image = "conv n=16 c=3 h=224 w=224 k=64 r=7 s=7 stride=2 pad=3 dir=bwd_weights";
    ry_cpu_info cpu;
    ry_cpu_detect(&cpu);
    for (ry_isa isa = RY_ISA_generic; isa < RY_ISA_amx && isa <= cpu.isa; isa++) {
        assert_null(
            strstr(choice(dense, RY_ACCURACY_near32, every_kernel_target(isa))->name, "split"));
        assert_null(
            strstr(choice(dense, RY_ACCURACY_bf16, every_kernel_target(isa))->name, "split"));
    }
    const ry_target *tiles = sapphire_rapids();
    if (ry_kernel_find("conv_fwd_f32_split_amx")) {
        assert_string_equal(choice(dense, RY_ACCURACY_near32, tiles)->name,
                            "conv_fwd_f32_split_amx");
        assert_string_equal(choice(pointwise, RY_ACCURACY_strict, tiles)->name,
                            "conv_fwd_f32_split_strict_amx");
        assert_string_equal(choice(dense, RY_ACCURACY_bf16, tiles)->name,
                            "conv_fwd_bf16_split_amx");
        assert_null(strstr(choice(image, RY_ACCURACY_near32, tiles)->name, "split"));
        assert_null(strstr(choice(depthwise, RY_ACCURACY_near32, tiles)->name, "split"));
        assert_string_equal(choice(gradient, RY_ACCURACY_near32, tiles)->name,
                            "conv_bwd_weights_f32_split_amx");
        assert_string_equal(choice(gradient, RY_ACCURACY_bf16, tiles)->name,
                            "conv_bwd_weights_bf16_split_amx");
        assert_null(strstr(choice(of_image, RY_ACCURACY_bf16, tiles)->name, "split"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tiles_multiply),
                                       cmocka_unit_test(steps_round),
                                       cmocka_unit_test(small_numbers_are_zero),
                                       cmocka_unit_test(numbers_that_are_none),
                                       cmocka_unit_test(odd_shapes),
                                       cmocka_unit_test(ends_of_the_range),
                                       cmocka_unit_test(chosen_where_they_pay)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
