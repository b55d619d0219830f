/* SPDX-License-Identifier: Apache-2.0 */
/* The expression evaluators against the reference: random programs, types, broadcast shapes,
 * strides and axes, on guarded memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "every_kernel.h"
#include "expr_random.h"

#include <string.h>

enum { GUARD = EXPR_GUARD, GUARD_BYTE = EXPR_GUARD_BYTE, WORKERS = 3 };

/* Runs all tasks from the last to the first on alternating workers, with garbage in scratch and
 * workspace. */
static void run_kernel(const ry_kernel *kernel, const expr_case *c, unsigned char *const *blocks)
{
    ry_prepared prepared = {0};
    ry_error error;
    const void *in[8];
    void *out[8];
    if (!kernel->applicable(&c->problem)) {
        fail_msg("%s is not applicable to %s", kernel->name, c->name);
    }
    if (every_kernel_prepare(kernel, &c->problem, &prepared, &error) != RYND_OK) {
        fail_msg("%s: %s", c->name, error.text);
    }
    assert_true(prepared.scratch % RY_ALIGNMENT == 0);
    size_t work = prepared.workspace + 64, scratch = WORKERS * prepared.scratch + 64;
    void *state = ry_allocate(&ry_system_allocator, prepared.state_size);
    char *workspace = ry_allocate(&ry_system_allocator, work),
         *scratch_memory = ry_allocate(&ry_system_allocator, scratch);
    assert_true(state && workspace && scratch_memory);
    memset(workspace, 0xC7, work);
    memset(scratch_memory, 0xC7, scratch);
    for (int i = 0; i < c->problem.inputs; i++) {
        in[i] = expr_operand_data(&c->given[i]);
    }
    for (int o = 0; o < c->problem.outputs; o++) {
        memset(blocks[o], GUARD_BYTE, c->given[4 + o].size + 2 * GUARD);
        out[o] = blocks[o] + GUARD + c->given[4 + o].start;
    }
    every_kernel_initialise(&prepared, state);
    ry_cpu_launch launch = {
        .problem = &c->problem, .prepared = &prepared, .state = state, .in = in, .out = out};
    launch.workspace = workspace;
    launch.scratch = scratch_memory;
    for (int phase = 0; phase < prepared.phases; phase++) {
        for (size_t task = prepared.tasks[phase]; task-- > 0;) {
            every_kernel_run(&launch, phase, task, (unsigned)(task % WORKERS));
        }
    }
    for (int i = 0; i < 64; i++) {
        assert_int_equal((unsigned char)workspace[prepared.workspace + (size_t)i], 0xC7);
        assert_int_equal((unsigned char)scratch_memory[WORKERS * prepared.scratch + (size_t)i],
                         0xC7);
    }
    ry_release(&ry_system_allocator, state);
    ry_release(&ry_system_allocator, workspace);
    ry_release(&ry_system_allocator, scratch_memory);
}

static void check_case(const expr_case *c)
{
    static const char *const names[] = {"expr_generic", "expr_neon", "expr_avx2", "expr_avx512"};
    const ry_kernel *reference = every_kernel_find("expr_ref");
    unsigned char *expected[4], *got[4];
    ry_cpu_info cpu;
    int outputs = c->problem.outputs, ran = 0;
    ry_cpu_detect(&cpu);
    assert_non_null(reference);
    for (int o = 0; o < outputs; o++) {
        expected[o] = malloc(c->given[4 + o].size + 2 * GUARD);
        got[o] = malloc(c->given[4 + o].size + 2 * GUARD);
        assert_true(expected[o] && got[o]);
    }
    run_kernel(reference, c, expected);
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        const ry_kernel *kernel = every_kernel_find(names[k]);
        if (kernel && kernel->isa <= cpu.isa) {
            run_kernel(kernel, c, got);
            ran++;
            for (int o = 0; o < outputs; o++) {
                expr_case_compare(kernel, c, o, got[o], expected[o]);
            }
        }
    }
    assert_true(ran > 0);
    for (int o = 0; o < outputs; o++) {
        free(expected[o]);
        free(got[o]);
    }
}

static void pointwise(void **state)
{
    (void)state;
    expr_random_pointwise(700, check_case);
}

static void transposed(void **state)
{
    (void)state;
    expr_random_transposed(120, check_case);
}

static void reductions(void **state)
{
    (void)state;
    expr_random_reductions(700, check_case);
}

static void large_reductions(void **state)
{
    (void)state;
    expr_random_large_reductions(30, check_case);
}

static void casts(void **state)
{
    (void)state;
    expr_random_casts(1, check_case);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pointwise),  cmocka_unit_test(transposed),
        cmocka_unit_test(reductions), cmocka_unit_test(large_reductions),
        cmocka_unit_test(casts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
