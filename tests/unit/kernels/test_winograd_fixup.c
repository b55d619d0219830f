/* SPDX-License-Identifier: Apache-2.0 */
/* Winograd's form, and sums of parts in bfloat16, on infinities, NaNs and numbers so large that
 * transforms overflow: outputs are what the direct sum gives, and in Winograd's form only those are
 * summed directly that need it. */
#include "kernel_case.h"

#define RY_ISA_NAME generic
#include "kernels/cpu/winograd/winograd.h"
#include "kernels/cpu/winograd/winograd_fixup.h"
#include "kernels/cpu/winograd/winograd_prepare.h"
#include "kernels/form.h"
#include "kernels/prepared.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef enum fill {
    FINITE,
    ALL_NAN,
    ALL_INFINITE,
    ALL_SIGNED, /* infinities of both signs */
    NAN_A_TILE, /* NaN in the last channel, every sixth row and column */
    NAN_LARGE,  /* the same among numbers whose squares overflow */
    INF_A_TILE, /* infinity in the first channel */
    FEW_NAN,    /* one in a hundred */
    MANY_NAN,   /* every other one */
    MIXED,      /* few of each kind */
    CORNERS,    /* an infinity, a NaN and numbers at the ends of rows and columns */
    HUGE_ALL,   /* transforms overflow, sums of products with small weights do not */
    HUGE_ONE,
    FILLS
} fill;

static const char *const fill_names[FILLS] = {
    [FINITE] = "finite",
    [ALL_NAN] = "NaN",
    [ALL_INFINITE] = "infinite",
    [ALL_SIGNED] = "infinities of both signs",
    [NAN_A_TILE] = "a NaN a tile",
    [NAN_LARGE] = "a NaN a tile among large numbers",
    [INF_A_TILE] = "an infinity a tile",
    [FEW_NAN] = "few NaNs",
    [MANY_NAN] = "many NaNs",
    [MIXED] = "some of each",
    [CORNERS] = "corners",
    [HUGE_ALL] = "huge",
    [HUGE_ONE] = "one huge",
};

static float choose(fill what, float x, const int64_t at[3], const int64_t extent[3],
                    uint32_t random)
{
    const bool location = at[1] % 6 == 2 % extent[1] && at[2] % 6 == 2 % extent[2],
               last = at[0] == extent[0] - 1;
    const bool corner =
        (at[1] == 0 || at[1] == extent[1] - 1) && (at[2] == 0 || at[2] == extent[2] - 1);
    const float kinds[] = {NAN, INFINITY, -INFINITY};
    switch (what) {
    case ALL_NAN: return NAN;
    case ALL_INFINITE: return INFINITY;
    case ALL_SIGNED: return x < 0 ? -INFINITY : INFINITY;
    case NAN_A_TILE: return location && last ? NAN : x;
    case NAN_LARGE: return location && last ? NAN : x * 0x1p70f;
    case INF_A_TILE: return location && at[0] == 0 ? INFINITY : x;
    case FEW_NAN: return random % 100 == 0 ? NAN : x;
    case MANY_NAN: return random % 2 ? NAN : x;
    case MIXED: return random % 150 < 3 ? kinds[random % 150] : x;
    case CORNERS: return corner && random % 2 ? kinds[random / 2 % 3] : x;
    case HUGE_ALL: return x * 0x1p127f;
    case HUGE_ONE:
        return at[0] == 0 && at[1] == extent[1] / 2 && at[2] == extent[2] / 2 ? 0x1.fp127f : x;
    default: return x;
    }
}

/* x is stored as [image and channel][row][position]; a line has one row. */
static void apply(kernel_case *c, fill what)
{
    const ry_tensor *x = &c->in[0];
    const int64_t extent[3] = {x->dim[1], x->rank > 3 ? x->dim[x->rank - 2] : 1,
                               x->dim[x->rank - 1]};
    const int64_t plane = ry_tensor_count(x) / (x->dim[0] * x->dim[1]);
    uint32_t state = 7;
    float *data = x->data, *w = c->in[1].data;
    for (int64_t i = 0; i < ry_tensor_count(x); i++) {
        const int64_t at[3] = {i / plane % extent[0], i / extent[2] % extent[1], i % extent[2]};
        state = state * 1664525u + 1013904223u;
        data[i] = choose(what, data[i], at, extent, state >> 8);
    }
    for (int64_t i = 0; what >= HUGE_ALL && i < ry_tensor_count(&c->in[1]); i++) {
        w[i] *= 0x1p-20f;
    }
}

typedef struct fixed_up {
    const char *kernel, *problem;
} fixed_up;

/* Points 4, 6 and 8, one axis and two, blocks of one group and many, V shared or not; strides,
 * phases, interleaved rows, depth; every kind of end. */
static const fixed_up problems[] = {
    {"conv_fwd_f32_winograd", "conv c=9 h=21 w=26 k=19 r=3 s=3 pad=1 bias=1 act=relu"},
    {"conv_fwd_f32_winograd", "conv c=40 h=14 w=14 k=37 r=3 s=3 residual=1"},
    {"conv_fwd_f32_winograd",
     "conv n=2 c=5 h=9 w=17 k=6 r=5 s=3 pad=2,0,1,2 bias=1 residual=1 act=silu"},
    {"conv_fwd_f32_winograd", "conv c=130 h=7 w=6 k=140 r=3 s=3 pad=1 act=leaky_relu alpha=0.1"},
    {"conv_fwd_f32_winograd", "conv c=8 h=12 w=31 k=20 r=3 s=3 pad=1,3,1,3 dilation=1,3"},
    {"conv_fwd_f32_winograd", "conv c=12 h=19 w=22 k=18 r=3 s=3 pad=1 stride=2 bias=1"},
    {"conv_fwd_f32_winograd", "conv c=6 d=4 h=9 w=10 k=7 t=3 r=3 s=3 pad=1"},
    {"conv_fwd_f32_winograd", "conv c=12 h=13 w=18 k=21 r=3 s=3 pad=1 groups=3 act=hard_swish"},
    {"conv_fwd_f32_winograd", "conv c=7 w=60 k=9 s=7 pad=3 bias=1"},
    {"conv_fwd_f32_winograd_strict", "conv c=9 h=21 w=26 k=19 r=3 s=3 pad=1 bias=1 act=relu"},
    {"conv_fwd_f32_winograd_strict", "conv c=6 h=9 w=17 k=6 r=3 s=3 stride=2 pad=1 residual=1"},
    {"convt_fwd_f32_winograd", "convt c=11 h=8 w=13 k=20 r=4 s=4 stride=2 pad=1 bias=1 act=relu"},
    {"convt_fwd_f32_winograd",
     "convt c=7 h=9 w=8 k=9 r=3 s=3 stride=2 pad=1 opad=1 residual=1 groups=1"},
    {"convt_fwd_f32_winograd",
     "convt c=11 h=8 w=13 k=5 r=6 s=6 stride=2 pad=2 bias=phases act=relu layout=nhwc"},
    {"convt_fwd_f32_winograd", "convt c=7 h=8 w=9 k=3 r=6 s=9 stride=2,3 pad=2,3 bias=phases "
                               "residual=1 act=silu layout=nhwc"},
    {"convt_fwd_f32_winograd", "convt c=7 h=8 w=9 k=20 r=4 s=6 stride=2,3 bias=1 residual=1"},
    {"convt_fwd_f32_winograd_strict", "convt c=8 h=10 w=11 k=6 r=3 s=3 pad=1 act=tanh"},
    {"conv_fwd_f32_split", "conv c=40 h=9 w=10 k=40 r=3 s=3 pad=1 bias=1"},
    {"conv_fwd_f32_split_strict", "conv n=2 c=20 h=9 w=8 k=18 r=3 s=3 stride=2 act=relu"},
};

static void test_outputs(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        for (fill what = 0; what < FILLS; what++) {
            char text[256];
            kernel_case c;
            kernel_case_parse(&c, problems[i].problem);
            snprintf(text, sizeof text, "%s, %s", problems[i].problem, fill_names[what]);
            c.text = text;
            apply(&c, what);
            kernel_case_check_isas(&c, problems[i].kernel, 1e-5);
            kernel_case_end(&c);
        }
    }
}

/* A kernel's plan for a problem of one group, and a worker's memory, for steps that are called one
 * by one. */
typedef struct steps {
    kernel_case c;
    winograd_plan *plan;
    char *scratch;
    void *packed;
    float *m, *stage;
    winograd_inputs inputs;
    winograd_epilogue end;
} steps;

static void *zeros(size_t size)
{
    void *memory = calloc(1, size);
    assert_non_null(memory);
    return memory;
}

static void begin(steps *s, const char *problem, fill what)
{
    ry_tensor in[CASE_OPERANDS], out[CASE_OPERANDS];
    ry_prepared prepared = {0};
    ry_error error = {0};
    kernel_case_parse(&s->c, problem);
    apply(&s->c, what);
    const ry_problem p = kernel_case_problem(&s->c, CASE_NCHW, in, out);
    const ry_kernel *kernel = every_kernel_find("conv_fwd_f32_winograd_generic");
    ry_form form = ry_form_free();
    const ry_query query = {kernel, &p, every_kernel_target(RY_ISA_generic), &form};
    ry_knob_values oc_blocks = {0};
    kernel->values(&query, WINOGRAD_OC_BLOCKS, &oc_blocks);
    form.value[WINOGRAD_SHARED] = 0;
    form.value[WINOGRAD_OC_BLOCKS] = oc_blocks.value[oc_blocks.count - 1];
    assert_int_equal(ry_prepare(&query, ~0u, &prepared, &error), RYND_OK);
    s->plan = zeros(prepared.state_size);
    s->packed = zeros(prepared.packed);
    s->scratch = zeros(prepared.scratch);
    every_kernel_initialise(&prepared, s->plan);
    assert_true(s->plan->geometry.groups == 1 &&
                s->plan->oc_blocks_per_task == s->plan->oc_blocks && !s->plan->shared);
    const void *operands[] = {NULL, s->c.in[1].data, NULL, NULL};
    const ry_cpu_launch launch = {.problem = &p,
                                  .prepared = &prepared,
                                  .state = s->plan,
                                  .in = operands,
                                  .packed_out = s->packed};
    for (size_t i = 0; i < prepared.pack_tasks; i++) {
        kernel->pack(&launch, i);
    }
    s->m = (float *)(void *)(s->scratch + s->plan->m);
    s->stage = (float *)(void *)(s->scratch + s->plan->stage);
    s->inputs = (winograd_inputs){.v = (float *)(void *)(s->scratch + s->plan->v),
                                  .uneven = (bool *)(s->scratch + s->plan->uneven),
                                  .squares = (float *)(void *)(s->scratch + s->plan->squares),
                                  .stage = s->stage};
    s->end = (winograd_epilogue){.y = s->c.out[0].data,
                                 .bias = (float *)(void *)(s->scratch + s->plan->bias),
                                 .bounds = true,
                                 .low = -INFINITY,
                                 .high = INFINITY};
}

static void end(steps *s)
{
    free(s->plan);
    free(s->packed);
    free(s->scratch);
    kernel_case_end(&s->c);
}

/* A product that is not finite is seen whichever point it is of. */
static void test_products(void **state)
{
    (void)state;
    steps s;
    begin(&s, "conv c=5 h=30 w=31 k=4 r=3 s=3", FINITE);
    const int64_t channels = s.plan->geometry.channels_out;
    for (int64_t i = 0; i < s.plan->points * channels; i++) {
        float *product = s.m + i % s.plan->points * s.plan->m_point + i / s.plan->points;
        *product = i % 2 ? INFINITY : NAN;
        assert_false(
            ry_winograd_transform_output_generic(s.plan, s.m, 0, 1, channels, &s.end, s.stage));
        *product = 0;
        assert_true(
            ry_winograd_transform_output_generic(s.plan, s.m, 0, 1, channels, &s.end, s.stage));
    }
    end(&s);
}

/* Multiply-adds that direct sums take. */
static int64_t count_sums(const char *problem, fill what)
{
    steps s;
    begin(&s, problem, what);
    const winograd_plan *plan = s.plan;
    const ry_conv_geometry *g = &plan->geometry;
    const float *x = s.c.in[0].data, *w = s.c.in[1].data;
    int64_t sums = 0;
    for (int64_t first = 0; first < plan->tiles; first += plan->block) {
        winograd_block block = {
            .first = first, .count = plan->tiles - first, .oc_blocks = plan->oc_blocks};
        block.count = block.count < plan->block ? block.count : plan->block;
        winograd_prefetch none = {0};
        block.uneven = s.inputs.uneven;
        block.x_finite = ry_winograd_transform_input_generic(plan, x, first, block.count, 0,
                                                             g->channels_in, &s.inputs);
        ry_winograd_multiply_generic(plan, s.inputs.v, s.packed, block.count, 0, plan->oc_blocks,
                                     s.m, &none, &none);
        block.finite = ry_winograd_transform_output_generic(plan, s.m, first, block.count,
                                                            g->channels_out, &s.end, s.stage);
        if (!block.x_finite || !block.finite || memchr(block.uneven, true, (size_t)block.count)) {
            assert_int_not_equal(what, FINITE);
            winograd_outputs *outputs = (winograd_outputs *)(void *)(s.scratch + plan->outputs);
            sums += ry_winograd_fixup_generic(plan, x, w, s.m, &block, &s.end, s.stage, outputs);
        }
    }
    end(&s);
    return sums;
}

/* However many tiles hold a NaN, none is summed directly; sums of infinities end early; the rest of
 * a tile with an infinity stays Winograd's. */
static void test_work(void **state)
{
    (void)state;
    static const char *const texts[] = {"conv c=64 h=26 w=26 k=16 r=3 s=3 pad=1",
                                        "conv c=64 h=24 w=27 k=16 r=3 s=3"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const int64_t all = count_sums(texts[i], HUGE_ALL);
        assert_true(all > 0);
        assert_int_equal(count_sums(texts[i], FINITE), 0);
        assert_int_equal(count_sums(texts[i], ALL_NAN), 0);
        assert_int_equal(count_sums(texts[i], NAN_A_TILE), 0);
        assert_int_equal(count_sums(texts[i], NAN_LARGE), 0);
        assert_int_equal(count_sums(texts[i], FEW_NAN), 0);
        assert_int_equal(count_sums(texts[i], MANY_NAN), 0);
        assert_true(count_sums(texts[i], ALL_INFINITE) <= all / 7);
        assert_true(count_sums(texts[i], ALL_SIGNED) <= all / 7);
        assert_true(count_sums(texts[i], INF_A_TILE) <= all / 7);
        assert_true(count_sums(texts[i], HUGE_ONE) > 0 &&
                    count_sums(texts[i], HUGE_ONE) <= all / 4);
    }
}

/* Tiles of even data leave nothing to sum directly, or the class does not take the form: windows of
 * one and two positions are too small a part of a tile for the class strict. */
static void test_even_data(void **state)
{
    static const struct {
        const char *problem;
        bool strict, near32;
    } rows[] = {
        {"conv c=8 h=12 w=12 k=8 r=3 s=3 pad=1", true, true},
        {"conv c=8 h=12 w=12 k=8 r=3 s=3 pad=1 stride=2", true, true},
        {"convt c=8 h=12 w=12 k=8 r=3 s=3 pad=1", true, true},
        {"convt c=8 h=12 w=12 k=8 r=4 s=4 stride=2 pad=1", true, true},
        {"convt c=8 h=12 w=12 k=8 r=3 s=3 stride=2 pad=1 opad=1", false, true},
        {"convt c=8 h=12 w=12 k=8 r=3 s=3 stride=2", false, true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ry_tensor in[CASE_OPERANDS], out[CASE_OPERANDS];
        kernel_case c;
        kernel_case_parse(&c, rows[i].problem);
        const ry_problem p = kernel_case_problem(&c, CASE_NCHW, in, out);
        if (ry_winograd_takes_strict(&p) != rows[i].strict ||
            ry_winograd_takes_near32(&p) != rows[i].near32) {
            fail_msg("%s: strict %d, near32 %d", rows[i].problem, ry_winograd_takes_strict(&p),
                     ry_winograd_takes_near32(&p));
        }
        kernel_case_end(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_outputs),
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_work),
        cmocka_unit_test(test_even_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
