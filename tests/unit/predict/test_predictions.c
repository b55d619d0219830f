/* SPDX-License-Identifier: Apache-2.0 */
/* What predictions must get right whatever the machine, for choices rest on it; how good those are
 * on random layers, bench/regret measures. */
#include "kernel_case.h"

#include "kernels/form.h"
#include "kernels/prepared.h"
#include "machine/machine_file.h"
#include "predict/forecast.h"
#include "predict/predict.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Products with a varying right operand: packing it in every run must pay. */
static void products(void **state)
{
    (void)state;
    static const struct {
        const char *problem, *method;
        unsigned constants;
    } products[] = {
        {"matmul x0=197x3072:f32 x1=3072x768:f32 y0=197x768:f32", "_igemm_", 2},
        {"matmul x0=8x128:f32 x1=128x256:f32 y0=8x256:f32", "_igemm_", 2},
        {"matmul x0=2x4096:f32 x1=4096x4096:f32 y0=2x4096:f32", "_float24_", 2},
        {"matmul x0=2x768:f32 x1=768x3072:f32 y0=2x3072:f32", "_gemv_", 0},
        {"matmul x0=4x2048:f32 x1=2048x2048:f32 y0=4x2048:f32", "_gemv_", 0},
        {"matmul x0=12x197x64:f32 x1=12x64x197:f32 y0=12x197x197:f32", "_gemm_", 0},
    };
    /* the large matrix does not fit the caches */
    ry_machine machine = *every_kernel_target(RY_ISA_avx512)->machine;
    ry_target target = *every_kernel_target(RY_ISA_avx512);
    machine.level[RYND_LEVEL_L3].bytes = (size_t)32 << 20;
    target.machine = &machine;
    for (size_t i = 0;
         kernel_case_machine_has(RY_ISA_avx512) && i < sizeof products / sizeof *products; i++) {
        kernel_case c;
        kernel_case_parse(&c, products[i].problem);
        ry_tensor in[CASE_OPERANDS], out[CASE_OPERANDS];
        const ry_problem problem = kernel_case_problem(&c, CASE_NCHW, in, out);
        ry_choice choice;
        ry_error error;
        assert_int_equal(
            ry_predict_choose(&problem, &target, products[i].constants, NULL, &choice, &error),
            RYND_OK);
        if (!strstr(choice.prepared.kernel->name, products[i].method)) {
            fail_msg("%s: %s is chosen", products[i].problem, choice.prepared.kernel->name);
        }
        kernel_case_end(&c);
    }
}

/* A machine that somebody measured must not decide which kernels the tests reach. */
static void made_without_a_measured_machine(void **state)
{
    (void)state;
    ry_cpu_info cpu;
    char path[RY_MACHINE_PATH];
    ry_cpu_detect(&cpu);
    assert_false(ry_machine_path(&cpu, cpu.isa, path));
}

static double predicted(const char *text, case_layout layout, const ry_target *target)
{
    kernel_case c;
    ry_tensor in[CASE_OPERANDS], out[CASE_OPERANDS];
    ry_choice choice;
    ry_error error;
    kernel_case_parse(&c, text);
    const ry_problem problem = kernel_case_problem(&c, layout, in, out);
    assert_int_equal(ry_predict_choose(&problem, target, ~0u, NULL, &choice, &error), RYND_OK);
    kernel_case_end(&c);
    return choice.seconds;
}

/* A softmax is an exponential an element, and its short rows are parts of vectors: it is not the
 * price of reading and writing. */
static void softmax_is_dearer_than_a_copy(void **state)
{
    (void)state;
    ry_cpu_info cpu;
    ry_cpu_detect(&cpu);
    const ry_target *target = every_kernel_target(cpu.isa);
    const char *softmax = "softmax x0=1x17x160x160:f32 y0=1x17x160x160:f32 axis=1";
    const double copy =
        predicted("copy x0=1x17x160x160:f32 y0=1x17x160x160:f32", CASE_NCHW, target);
    const double columns = predicted(softmax, CASE_NCHW, target),
                 by_rows = predicted(softmax, CASE_NHWC, target);
    assert_true(columns > 2 * copy);
    assert_true(by_rows > 1.5 * columns);
}

/* Each stored output pays for its activation; a bound is free. */
static void activations_are_paid_for(void **state)
{
    (void)state;
    static const struct {
        const char *plain, *active;
        double outputs;
    } cases[] = {
        {"conv x0=1x16x56x56:f32 x1=96x16x1x1:f32 y0=1x96x56x56:f32 activation=clip act_beta=6",
         "conv x0=1x16x56x56:f32 x1=96x16x1x1:f32 y0=1x96x56x56:f32 activation=silu", 96 * 56 * 56},
        {"matmul x0=64x96:f32 x1=96x80:f32 y0=64x80:f32 activation=relu",
         "matmul x0=64x96:f32 x1=96x80:f32 y0=64x80:f32 activation=gelu", 64 * 80},
        {"separable_conv x0=1x64x28x28:f32 x1=64x1x3x3:f32 x2=64:f32 "
         "x3=48x64x1x1:f32 x4=48:f32 y0=1x48x28x28:f32 "
         "pads=1,1,1,1 mid_activation=relu",
         "separable_conv x0=1x64x28x28:f32 x1=64x1x3x3:f32 x2=64:f32 "
         "x3=48x64x1x1:f32 x4=48:f32 y0=1x48x28x28:f32 "
         "pads=1,1,1,1 mid_activation=hard_swish",
         64 * 28 * 28},
    };
    ry_cpu_info cpu;
    ry_cpu_detect(&cpu);
    const ry_target *target = every_kernel_target(cpu.isa);
    const double least = 4; /* operations an output (activation_costs.inc) */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double more = predicted(cases[i].active, CASE_NHWC, target) -
                            predicted(cases[i].plain, CASE_NHWC, target);
        if (more < 0.99 * least * cases[i].outputs / target->machine->f32.all) {
            fail_msg("%s: %g s more than a bound", cases[i].active, more);
        }
    }
}

/* Few channels fill no vectors: their pixels cost more than rows of one channel. */
static void pixels_of_few_channels_are_dearer_than_rows(void **state)
{
    (void)state;
    ry_cpu_info cpu;
    ry_cpu_detect(&cpu);
    const ry_target *target = every_kernel_target(cpu.isa);
    const char *resize =
        "resize x0=1x21x20x20:f32 y0=1x21x320x320:f32 mode=linear scales=1,1,16,16";
    assert_true(predicted(resize, CASE_NHWC, target) > 1.5 * predicted(resize, CASE_NCHW, target));
}

/* A reference, which alone takes a pool or a resize from one layout to the other, is dearer than a
 * kernel and a copy, also where everything stays in a core's cache: its loops are not counted. */
static void references_are_dearer_than_copies(void **state)
{
    (void)state;
    ry_cpu_info cpu;
    ry_cpu_detect(&cpu);
    const ry_target *target = every_kernel_target(cpu.isa);
    static const struct {
        const char *mixed, *kernel, *copy;
    } cases[] = {
        {"pool x0=1x24x112x112:f32 y0=1x24x56x56:f32:nhwc kernel=3,3 stride=2,2 pads=1,1,1,1",
         "pool x0=1x24x112x112:f32 y0=1x24x56x56:f32 kernel=3,3 stride=2,2 pads=1,1,1,1",
         "copy x0=1x24x56x56:f32 y0=1x24x56x56:f32:nhwc"},
        {"resize x0=1x21x20x20:f32:nhwc y0=1x21x40x40:f32 mode=linear scales=1,1,2,2",
         "resize x0=1x21x20x20:f32 y0=1x21x40x40:f32 mode=linear scales=1,1,2,2",
         "copy x0=1x21x20x20:f32:nhwc y0=1x21x20x20:f32"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text[] = {cases[i].mixed, cases[i].kernel, cases[i].copy};
        double seconds[3];
        ry_arena arena;
        ry_arena_init(&arena, &ry_system_allocator);
        for (int k = 0; k < 3; k++) {
            ry_problem problem;
            ry_choice choice;
            ry_error error;
            assert_int_equal(ry_problem_parse(text[k], &arena, &problem, &error), RYND_OK);
            assert_int_equal(ry_predict_choose(&problem, target, ~0u, NULL, &choice, &error),
                             RYND_OK);
            assert_int_equal(choice.prepared.kernel->reference, k == 0);
            seconds[k] = choice.seconds;
        }
        assert_true(seconds[0] > 10 * (seconds[1] + seconds[2]));
        ry_arena_free(&arena);
    }
}

/* In a network whose weights are more than the caches hold, they come from memory in each run;
 * where all of it stays near, nothing is different. */
static void weights_of_a_network_come_from_afar(void **state)
{
    (void)state;
    ry_cpu_info cpu;
    ry_cpu_detect(&cpu);
    const ry_target *target = every_kernel_target(cpu.isa);
    ry_arena arena;
    ry_problem problem;
    ry_choice choice;
    ry_error error;
    ry_arena_init(&arena, &ry_system_allocator);
    assert_int_equal(
        ry_problem_parse("conv n=1 c=256 h=7 w=7 k=256 r=3 s=3 pad=1", &arena, &problem, &error),
        RYND_OK);
    assert_int_equal(ry_predict_choose(&problem, target, ~1u, NULL, &choice, &error), RYND_OK);
    const ry_machine *machine = target->machine;
    const ry_time alone = ry_predict_parts(&choice.prepared, machine, 1, 2, 0, 1);
    const ry_time small =
        ry_predict_parts(&choice.prepared, machine, 1, 2, choice.prepared.counts.bytes, 1);
    const ry_time large = ry_predict_parts(&choice.prepared, machine, 1, 2, 1e12, 1);
    assert_true(alone.all == ry_predict_time(&choice.prepared, target->machine, 1));
    assert_true(small.all > 0.999 * alone.all && small.all < 1.001 * alone.all);
    assert_true(large.memory > alone.memory && large.all > alone.all);
    assert_true(large.arithmetic == alone.arithmetic);
    ry_arena_free(&arena);
}

/* On `target`, of the reference if it is wanted, else of the choice. */
static double seconds_of(const char *text, const ry_target *target, const char *kernel)
{
    ry_arena arena;
    ry_problem problem;
    ry_choice choice;
    ry_error error;
    const ry_wanted wanted = {.kernel = kernel ? ry_kernel_find(kernel) : NULL,
                              .form = ry_form_free()};
    ry_arena_init(&arena, &ry_system_allocator);
    assert_int_equal(ry_problem_parse(text, &arena, &problem, &error), RYND_OK);
    assert_int_equal(
        ry_predict_choose(&problem, target, ~0u, kernel ? &wanted : NULL, &choice, &error),
        RYND_OK);
    ry_arena_free(&arena);
    return choice.seconds;
}

/* The reference computes the depthwise sums again for each of 16 output channels. */
static void references_count_what_they_repeat(void **state)
{
    (void)state;
    const ry_target *target = every_kernel_target(RY_ISA_generic);
    const double one = seconds_of("separable_conv x0=1x32x14x14:f32 x1=32x1x3x3:f32 "
                                  "x3=1x32x1x1:f32 y0=1x1x14x14:f32 pads=1,1,1,1",
                                  target, "separable_conv_ref"),
                 many = seconds_of("separable_conv x0=1x32x14x14:f32 x1=32x1x3x3:f32 "
                                   "x3=16x32x1x1:f32 y0=1x16x14x14:f32 pads=1,1,1,1",
                                   target, "separable_conv_ref");
    assert_true(many > 5 * one);
}

/* A second-level cache of twice the bandwidth does not halve the time of a copy that transposes. */
static void permutations_do_not_follow_the_cache(void **state)
{
    (void)state;
    const char *copy = "copy x0=1x128x32x32:f32 y0=1x128x32x32:f32:nhwc";
    ry_target target = *every_kernel_target(RY_ISA_generic);
    ry_machine machine = *target.machine;
    machine.level[RYND_LEVEL_L2].bytes = (size_t)8 << 20;
    machine.region_seconds = 0;
    target.machine = &machine;
    const double before = seconds_of(copy, &target, NULL);
    machine.level[RYND_LEVEL_L2].bandwidth.one *= 2;
    machine.level[RYND_LEVEL_L2].bandwidth.all *= 2;
    assert_true(seconds_of(copy, &target, NULL) > 0.6 * before);
}

/* Lines that hold the ends of two pixels are written twice. */
static void part_lines_take_longer(void **state)
{
    (void)state;
    const char *odd = "conv n=1 c=64 h=224 w=224 k=97 layout=nhwc",
               *whole = "conv n=1 c=64 h=224 w=224 k=112 layout=nhwc";
    ry_target target = *every_kernel_target(RY_ISA_avx512);
    ry_machine machine = *target.machine;
    strcpy(machine.vendor, "AuthenticAMD");
    target.machine = &machine;
    if (!kernel_case_machine_has(RY_ISA_avx512)) {
        print_message("skipped: the machine has no AVX-512\n");
        skip();
    }
    assert_true(seconds_of(odd, &target, NULL) > 1.02 * seconds_of(whole, &target, NULL));
}

typedef struct family {
    const char *architecture, *name;
    double factor;
} family;

/* clang-format off */
static const family families[] = {
#define RY_RESIDUAL(architecture, family, factor, spread) {architecture, family, factor},
#include "predict/residuals.inc"
#undef RY_RESIDUAL
};
/* clang-format on */
enum { FAMILIES = sizeof families / sizeof *families };

static ry_machine machine_of(const char *architecture)
{
    ry_machine machine = *every_kernel_target(RY_ISA_generic)->machine;
    snprintf(machine.architecture, sizeof machine.architecture, "%s", architecture);
    return machine;
}

/* Each row of the residuals is for its own machines; the last is for all others. */
static void residuals_are_of_their_machine(void **state)
{
    (void)state;
    const ry_machine other = machine_of("a machine without rows");
    for (int i = 0; i < FAMILIES; i++) {
        const ry_machine machine = machine_of(families[i].architecture);
        const ry_kernel kernel = {.family = families[i].name};
        assert_true(ry_forecast_residual(&machine, &kernel).factor == families[i].factor);
        assert_true(ry_forecast_residual(&other, &kernel).factor == families[FAMILIES - 1].factor);
        const ry_forecast rest = ry_forecast_step(&other, &kernel, 1);
        assert_true(rest.median == 1 && rest.low < 0.45 && rest.high > 2.2);
    }
}

static size_t workspace_of(const ry_prepared *prepared, const ry_machine *machine)
{
    return ry_prepared_workspace(prepared) + prepared->scratch * machine->cores;
}

/* Gives a kernel's family the factor with which the kernel is predicted at `seconds`. */
static void calibrate_to(ry_machine *machine, const ry_query *query, double seconds)
{
    rynd_family_error *own = &machine->families[0];
    double low = 0, high = 10;
    machine->family_count = 1;
    snprintf(own->family, sizeof own->family, "%s", query->kernel->family);
    for (int i = 0; i < 60; i++) {
        ry_choice choice;
        const ry_wanted wanted = {query->kernel, ry_form_free()};
        own->factor = (float)((low + high) / 2);
        assert_int_equal(
            ry_predict_choose(query->problem, query->target, ~0u, &wanted, &choice, NULL), RYND_OK);
        *(choice.seconds < seconds ? &low : &high) = (double)own->factor;
    }
}

/* A kernel that is 1% slower than the best is chosen if it needs less workspace; one that is 5%
 * slower is not. */
static void ties_go_to_the_smaller_workspace(void **state)
{
    (void)state;
    ry_machine machine = *every_kernel_target(RY_ISA_generic)->machine;
    const ry_target target = {RY_DEVICE_cpu, RY_ISA_generic, &machine, 0, NULL};
    ry_arena arena;
    ry_problem problem;
    ry_error error;
    ry_choice best, choice;
    int taken = 0, left = 0;
    size_t at = 0;
    ry_arena_init(&arena, &ry_system_allocator);
    assert_int_equal(
        ry_problem_parse("conv c=64 h=28 w=28 k=64 r=3 s=3 pad=1", &arena, &problem, &error),
        RYND_OK);
    assert_int_equal(ry_predict_choose(&problem, &target, ~0u, NULL, &best, &error), RYND_OK);
    assert_int_equal(best.saved, 0);
    for (const ry_kernel *k; (k = ry_kernel_next(&problem, &target, &at)) != NULL;) {
        const ry_query query = {k, &problem, &target, NULL};
        ry_prepared other;
        if (strcmp(k->family, best.prepared.kernel->family) == 0) {
            continue;
        }
        assert_int_equal(ry_prepare(&query, ~0u, &other, &error), RYND_OK);
        const size_t own = workspace_of(&other, &machine),
                     most = workspace_of(&best.prepared, &machine);
        const bool smaller = own + RY_TIE_BYTES < most;
        calibrate_to(&machine, &query, 1.01 * best.seconds);
        assert_int_equal(ry_predict_choose(&problem, &target, ~0u, NULL, &choice, &error), RYND_OK);
        assert_true(choice.prepared.kernel == (smaller ? k : best.prepared.kernel));
        assert_int_equal(choice.saved, smaller ? most - own : 0);
        char reason[RY_REASON_LENGTH];
        ry_choice_reason(&choice, false, reason, sizeof reason);
        assert_true((strstr(reason, "a tie with") != NULL) == smaller);
        *(smaller ? &taken : &left) += 1;
        calibrate_to(&machine, &query, 1.05 * best.seconds);
        assert_int_equal(ry_predict_choose(&problem, &target, ~0u, NULL, &choice, &error), RYND_OK);
        assert_true(choice.prepared.kernel == best.prepared.kernel && choice.saved == 0);
    }
    assert_true(taken > 0 && taken + left > 1);
    ry_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_of_a_network_come_from_afar),
        cmocka_unit_test(products),
        cmocka_unit_test(ties_go_to_the_smaller_workspace),
        cmocka_unit_test(softmax_is_dearer_than_a_copy),
        cmocka_unit_test(activations_are_paid_for),
        cmocka_unit_test(pixels_of_few_channels_are_dearer_than_rows),
        cmocka_unit_test(references_are_dearer_than_copies),
        cmocka_unit_test(references_count_what_they_repeat),
        cmocka_unit_test(permutations_do_not_follow_the_cache),
        cmocka_unit_test(part_lines_take_longer),
        cmocka_unit_test(residuals_are_of_their_machine),
        cmocka_unit_test(made_without_a_measured_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
