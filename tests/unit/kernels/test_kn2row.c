/* SPDX-License-Identifier: Apache-2.0 */
/* Products first: row blocks of rows and of slices, and all products before all sums, against the
 * reference. */
#include "kernel_case.h"
#include "kernels/cpu/kn2row/kn2row_prepare.h"
#include "kernels/form.h"
#include "machine/machine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* Relative to the largest magnitude of an output. */
#define BOUND 2e-6

typedef struct row {
    /* that row blocks are along with vectors of 16 lanes: 0 slices, 1 rows, -1 there are none */
    int axis;
    const char *problem;
} row;

static const row rows[] = {
    {1, "conv c=20 h=61 w=53 k=6 r=3 s=3 pad=1 bias=1 act=relu"},
    {1, "conv n=2 c=24 h=50 w=44 k=10 r=5 s=3 pad=2,0,1,3 dilation=2,1 groups=2 residual=1"},
    {1, "conv c=9 h=47 w=90 k=5 r=5 s=5 pad=2 bias=1 act=silu"},
    {1, "convt c=20 h=50 w=47 k=3 r=5 s=5 stride=2 pad=2 opad=1 bias=1"},
    {1, "convt n=2 c=7 h=90 w=37 k=2 r=7 s=6 stride=3 pad=1 residual=1 act=silu"},
    {1, "convt c=20 h=50 w=47 k=3 r=6 s=6 stride=2 pad=2 bias=phases"},
    {0, "convt c=5 d=24 h=12 w=11 k=3 t=3 r=3 s=3 stride=2 pad=1"},
    {0, "conv c=9 d=25 h=13 w=12 k=2 t=2 r=5 s=3 pad=0,2,1 bias=1"},
    {1, "conv n=3 c=70 h=7 w=9 k=5 r=3 s=3 pad=1 residual=1 act=silu"},
    {0, "conv n=2 c=44 d=3 h=5 w=9 k=6 t=3 r=3 s=2 pad=1 groups=2 bias=1"},
    {-1, "convt c=300 h=6 w=5 k=13 r=4 s=4 stride=3 pad=1"},
    /* a whole image is one row block */
    {1, "conv n=4 c=40 w=70 k=2 s=7 pad=3 dilation=2 act=relu"},
    {-1, "conv c=40 w=700 k=2 s=7 pad=3 dilation=2 act=relu"},
    {-1, "conv c=30 h=6 w=7 k=4 r=9 s=9 pad=4 bias=1"},
    {1, "convt c=30 h=9 w=8 k=4 r=2 s=2 stride=3 bias=1 act=relu"}, /* phases without a tap */
    {1, "conv c=20 h=61 w=53 k=6 r=3 s=3 pad=1 bias=1 dtype=f16"},
    {1, "convt c=64 h=9 w=17 k=3 r=4 s=4 stride=2 pad=1 bias=1 dtype=f16"},
};

/* The axis of the row blocks, which cover the grid, each with all that its windows reach of x. */
static int axis_of(const kernel_case *c, bool banded)
{
    static const ry_kernel kernel = {
        .name = "kn2row",
        .accuracy = RY_ACCURACY_strict,
        .simd = {.width = 16, .lane_multiple = 8, .rows = 14, .vectors = 2},
        .knobs = ry_kn2row_knobs,
        .knob_count = KN2ROW_KNOBS};
    static const ry_machine machine = {.cores = 2,
                                       .f32 = {115e9, 230e9},
                                       .task_seconds = 50e-9,
                                       .region_seconds = 2.5e-6,
                                       .level = {{.bytes = 32 << 10, .shared_by = 1},
                                                 {.bytes = 512 << 10, .shared_by = 1},
                                                 {.bytes = 32 << 20, .shared_by = 2}}};
    static const ry_target target = {RY_DEVICE_cpu, RY_ISA_generic, &machine, 0, NULL};
    ry_tensor in[CASE_OPERANDS], out[CASE_OPERANDS];
    const ry_problem problem = kernel_case_problem(c, CASE_NCHW, in, out);
    ry_form form = ry_form_free();
    const ry_query query = {&kernel, &problem, &target, &form};
    assert_true(ry_kn2row_is_possible(&problem));
    kn2row_plan *plan = calloc(1, ry_kn2row_plan_size(&problem));
    assert_non_null(plan);
    ry_knob_values row_blocks = {0};
    ry_kn2row_list_values(&query, KN2ROW_KNOB_ROW_BLOCK, plan, &row_blocks);
    form.value[KN2ROW_KNOB_ROW_BLOCK] = row_blocks.value[banded ? row_blocks.count - 1 : 0];
    assert_true(ry_kn2row_plan_choose(&query, plan));
    const kn2row_row_block *row_block = &plan->row_block;
    const int axis = row_block->out > 0 ? row_block->axis : -1;
    if (axis >= 0) {
        const int64_t count = ry_cut_parts(&plan->tasks.axis[2]);
        assert_true(row_block->out * count >= plan->grid[axis] &&
                    row_block->out * (count - 1) < plan->grid[axis]);
        assert_true(row_block->in <= plan->geometry.in[axis]);
        assert_int_equal(ry_cut_tasks(&plan->tasks),
                         plan->geometry.batch * plan->geometry.groups * count);
    }
    free(plan);
    return axis;
}

static void agrees_with_the_reference(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kernel_case c;
        kernel_case_parse(&c, rows[i].problem);
        if (axis_of(&c, rows[i].axis >= 0) != rows[i].axis) {
            fail_msg("%s: bands along axis %d", rows[i].problem, axis_of(&c, rows[i].axis >= 0));
        }
        kernel_case_check_isas(
            &c, c.op == RY_OP_conv ? "conv_fwd_f32_kn2row" : "convt_fwd_f32_kn2row", BOUND);
        kernel_case_end(&c);
    }
}

static bool is_possible(const char *text)
{
    return kernel_case_is_taken(text, ry_kn2row_is_possible);
}

/* One tap has no sums, a stride would waste products, and the products of large images with large
 * windows are too many. */
static void leaves_to_others(void **state)
{
    (void)state;
    assert_true(is_possible("conv c=8 h=9 w=9 k=64 r=3 s=3"));
    assert_false(is_possible("conv c=8 h=9 w=9 k=65 r=3 s=3"));
    assert_false(is_possible("conv c=8 h=9 w=9 k=4"));
    assert_false(is_possible("conv c=8 h=9 w=9 k=4 r=3 s=3 stride=1,2"));
    assert_false(is_possible("conv c=1 h=600 w=600 k=1 r=7 s=7"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_the_reference),
        cmocka_unit_test(leaves_to_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
