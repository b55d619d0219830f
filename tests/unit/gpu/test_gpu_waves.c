/* SPDX-License-Identifier: Apache-2.0 */
/* Forms of tiles on cards that need not be here, and their times: by examples computed by hand. */
#include "device/cuda/cuda_info.h"
#include "device/opencl/opencl_info.h"
#include "kernels/gpu/gpu_costs.h"
#include "kernels/gpu/gpu_tile.h"
#include "kernels/gpu/gpu_waves.h"
#include "kernels/prepared.h"
#include "machine/occupancy.h"
#include "problem/problem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "every_kernel.h"

typedef struct card {
    rynd_machine machine;
    ry_target target;
} card;

static void take_card(card *c, const char *name)
{
    size_t i = 0;
    while (ry_cuda_card_name(i) && strcmp(ry_cuda_card_name(i), name) != 0) {
        i++;
    }
    if (ry_cuda_card_name(i)) {
        ry_cuda_card(i, &c->machine);
    } else {
        for (i = 0; strcmp(ry_opencl_card_name(i), name) != 0;) {
            i++;
        }
        ry_opencl_card(i, &c->machine);
    }
    c->target = (ry_target){.device = RY_DEVICE_gpu, .machine = &c->machine};
}

static ry_prepared prepared_on(const card *c, const char *kernel, const char *text,
                               ry_problem *problem, ry_arena *arena)
{
    ry_error error;
    ry_prepared prepared;
    assert_int_equal(ry_problem_parse(text, arena, problem, &error), RYND_OK);
    const ry_query query = {every_kernel_find(kernel), problem, &c->target, NULL};
    assert_int_equal(ry_prepare(&query, ~0u, &prepared, &error), RYND_OK);
    return prepared;
}

/* Many tiles fill the units: no sum is split, on any card. */
static void many_tiles_split_no_sum(void **state)
{
    static const char *const cards[] = {"h100", "a100", "rtx4090", "rx6800xt", "arc-a770"};
    (void)state;
    for (size_t i = 0; i < sizeof cards / sizeof *cards; i++) {
        card c;
        ry_problem problem;
        ry_arena arena;
        ry_arena_init(&arena, &ry_system_allocator);
        take_card(&c, cards[i]);
        const ry_prepared p =
            prepared_on(&c, "conv_fwd_f32_igemm_gpu", "conv n=16 c=64 h=56 w=56 k=64 r=3 s=3 pad=1",
                        &problem, &arena);
        assert_int_equal(p.form.value[RY_GPU_KNOB_SPLIT], 1);
        assert_int_equal(p.phases, 1);
        assert_int_equal(p.workspace, 0);
        ry_arena_free(&arena);
    }
}

/* A weight gradient has few tiles and 200,704 terms: the split fills the units. */
static void weight_gradients_fill_the_units(void **state)
{
    card c;
    ry_problem problem;
    ry_arena arena;
    (void)state;
    ry_arena_init(&arena, &ry_system_allocator);
    take_card(&c, "h100");
    const ry_prepared p =
        prepared_on(&c, "conv_bwd_weights_f32_igemm_gpu",
                    "conv n=64 c=64 h=56 w=56 k=64 r=1 s=1 dir=bwd_weights", &problem, &arena);
    assert_true(p.form.value[RY_GPU_KNOB_SPLIT] > 16);
    assert_true(p.tasks[0] >= 132 / 2);
    ry_arena_free(&arena);
}

/* 8 by 8 sums read 16 words for 64 products, 4 by 4 ones 8 for 16: the second need 128 bytes a cycle
 * where a unit multiplies 128 floats, which is all that local memory has. */
static void small_items_are_bound_by_local_memory(void **state)
{
    static const ry_gpu_tile small = {64, 32, 16, 4, 4, false, 0, 1, false},
                             tiny = {4, 64, 16, 1, 4, false, 0, 1, false};
    static const ry_gpu_product product = {1, 64, 64, 64, .operands = RY_GPU_F32};
    rynd_machine m = {.cores = 1, .step_items = 32};
    (void)state;
    m.f32.one = 2 * 128e9;
    m.issue.one = 1e15; /* instructions cost nothing here */
    m.level[RYND_LEVEL_L1].bandwidth.one = 128e9;
    /* words: 0.5 * 4 * 8 / 16 bytes, and 4 / 64 + 4 / 32 stored */
    const double expected = 2 * (1 + 4.0 / 64 + 4.0 / 32);
    assert_true(fabs(ry_gpu_tile_operations(&product, &small, 16, &m) - expected) < 1e-9);
    assert_true(ry_gpu_tile_operations(&product, &tiny, 16, &m) > 2 * 2.5);
    m.level[RYND_LEVEL_L1].bandwidth.one = 1e15;
    assert_true(ry_gpu_tile_operations(&product, &small, 16, &m) == 2);
}

/* What NVRTC 12.9 makes for sm_80 (tests/cuda/instructions.txt) and clang 14 for gfx1030: estimates
 * within a fifth. */
static void registers_are_near_the_compilers(void **state)
{
    static const struct {
        ry_gpu_tile tile;
        ry_gpu_operands operands;
        bool window;
        double registers;
        int64_t channels;
        int copied;
    } cases[] = {
        {{128, 128, 8, 8, 8, false, 0, 1, false}, RY_GPU_F32, true, 126, 64, 0},
        {{128, 64, 8, 8, 8, false, 0, 1, false}, RY_GPU_F32, true, 153, 0, 0},
        {{64, 64, 16, 4, 4, false, 0, 1, false}, RY_GPU_F32, true, 77, 64, 0},
        {{64, 64, 16, 4, 4, false, 0, 1, false}, RY_GPU_F32, false, 78, 0, 0},
        {{64, 64, 16, 4, 8, true, 0, 1, false}, RY_GPU_TF32, true, 126, 0, 0},
        {{64, 64, 16, 4, 8, true, 0, 1, false}, RY_GPU_BF16, true, 164, 0, 0},
        {{128, 128, 16, 8, 16, true, 3, 1, false}, RY_GPU_TF32, true, 200, 0, 0},
        {{128, 128, 16, 8, 16, true, 3, 1, false}, RY_GPU_BF16, true, 240, 0, 0},
        {{128, 128, 16, 8, 8, true, 3, 1, false}, RY_GPU_THREE_TF32, true, 174, 0, 0},
        {{128, 128, 16, 8, 16, true, 3, 1, false}, RY_GPU_F16, false, 166, 0, 2},
        {{128, 64, 16, 8, 16, true, 3, 1, false}, RY_GPU_BF16, false, 228, 0, 4},
        {{128, 128, 8, 8, 8, false, 0, 1, false}, RY_GPU_F32, true, 130, 64, 0},
        {{128, 128, 8, 8, 8, false, 0, 1, false}, RY_GPU_F32, false, 119, 0, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const ry_gpu_product product = {.batches = 1,
                                        .rows = 64,
                                        .columns = 64,
                                        .terms = 64,
                                        .window = cases[i].window,
                                        .copied = cases[i].copied,
                                        .channels = cases[i].channels,
                                        .operands = cases[i].operands};
        const double estimate = ry_gpu_tile_registers(&product, &cases[i].tile);
        assert_true(fabs(estimate / cases[i].registers - 1) < 0.2);
    }
}

/* 25 groups of a tile of 128 by 128, of which one fits a unit: one wave; of 133 two. And the second
 * cache bounds groups that compute nothing. */
static void phases_take_waves_and_traffic(void **state)
{
    card c;
    static const ry_kernel kernel = {.device = RY_DEVICE_gpu};
    ry_prepared p = {.kernel = &kernel, .phases = 1, .tasks = {25}, .group = {256}};
    (void)state;
    take_card(&c, "h100");
    const double unit = c.machine.f32.all / 132;
    p.use[0] = (ry_gpu_use){.registers = 150, .latency = 1e-9, .local = 1024, .many_sums = true};
    p.work[0].all = 25 * unit; /* a second each */
    assert_int_equal(ry_gpu_resident(&p, &c.machine, 0), 1);
    assert_true(fabs(ry_gpu_phase_seconds(&p, &c.machine, 0) - 1) < 1e-9);
    p.tasks[0] = 133;
    p.work[0].all = 133 * unit;
    assert_true(fabs(ry_gpu_phase_seconds(&p, &c.machine, 0) - 2) < 1e-9);
    p.use[0].near =
        5 * ry_gpu_costs_of(&c.machine)->wave_near * c.machine.level[RYND_LEVEL_L2].bandwidth.all;
    assert_true(fabs(ry_gpu_phase_seconds(&p, &c.machine, 0) - 5) < 1e-9);
    p.tasks[0] = 33; /* a quarter of the units */
    assert_true(fabs(ry_gpu_phase_seconds(&p, &c.machine, 0) - 20) < 1e-9);
    p.tasks[0] = 0;
    assert_true(ry_gpu_phase_seconds(&p, &c.machine, 0) == 0);
}

/* A tile of 32 items is one warp: a quarter of one for each of a unit's schedulers, which begin
 * instructions at their full rate with `tile_warps` each. So does a unit of eight times as many groups. */
static void lone_warps_do_not_fill_a_unit(void **state)
{
    card c;
    static const ry_kernel kernel = {.device = RY_DEVICE_gpu};
    ry_prepared p = {.kernel = &kernel, .phases = 1, .tasks = {132}, .group = {32}};
    (void)state;
    take_card(&c, "h100");
    const double unit = c.machine.f32.all / 132, full = 4 * ry_gpu_costs_of(&c.machine)->tile_warps;
    assert_true(full > 1);
    p.use[0] = (ry_gpu_use){.registers = 200, .latency = 1e-9, .local = 1024, .many_sums = true};
    p.work[0].all = 132 * unit; /* a second each */
    assert_true(fabs(ry_gpu_phase_seconds(&p, &c.machine, 0) - full) < 1e-9);
    p.group[0] = 32 * (unsigned)full;
    assert_true(fabs(ry_gpu_phase_seconds(&p, &c.machine, 0) - 1) < 1e-9);
}

/* A layer of few positions and many terms, at batch 1: more than a group a unit, or slices. */
static void few_positions_fill_the_units(void **state)
{
    card c;
    ry_problem problem;
    ry_arena arena;
    (void)state;
    ry_arena_init(&arena, &ry_system_allocator);
    take_card(&c, "h100");
    const ry_prepared p = prepared_on(&c, "conv_fwd_f32_igemm_gpu",
                                      "conv c=512 h=7 w=7 k=512 r=3 s=3 pad=1", &problem, &arena);
    const double warps = (double)p.tasks[0] * p.group[0] / 32;
    assert_true(warps >= 132 * 4);
    ry_arena_free(&arena);
}

/* PoCL divides for each element of a move: twice as many take twice as long. */
static void moves_on_processors_take_their_elements(void **state)
{
    static const char *const texts[] = {
        "transpose x0=1x64x56x56:f32 y0=1x56x56x64:f32 perm=0,2,3,1",
        "transpose x0=2x64x56x56:f32 y0=2x56x56x64:f32 perm=0,2,3,1"};
    card c = {.machine = {.cores = 2, .step_items = 1, .group_items = 4096}};
    double flop[2];
    (void)state;
    strcpy(c.machine.architecture, "PoCL");
    c.target = (ry_target){.device = RY_DEVICE_gpu, .machine = &c.machine};
    for (int i = 0; i < 2; i++) {
        ry_problem problem;
        ry_arena arena;
        ry_arena_init(&arena, &ry_system_allocator);
        flop[i] = prepared_on(&c, "transpose_gpu", texts[i], &problem, &arena).counts.flop;
        ry_arena_free(&arena);
    }
    assert_true(flop[0] >= 64 * 56 * 56 * 50.0);
    assert_true(fabs(flop[1] / flop[0] - 2) < 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_tiles_split_no_sum),
        cmocka_unit_test(weight_gradients_fill_the_units),
        cmocka_unit_test(small_items_are_bound_by_local_memory),
        cmocka_unit_test(registers_are_near_the_compilers),
        cmocka_unit_test(phases_take_waves_and_traffic),
        cmocka_unit_test(lone_warps_do_not_fill_a_unit),
        cmocka_unit_test(few_positions_fill_the_units),
        cmocka_unit_test(moves_on_processors_take_their_elements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
