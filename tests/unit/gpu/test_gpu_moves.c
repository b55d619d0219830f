/* SPDX-License-Identifier: Apache-2.0 */
/* Moves of a GPU beside the CPU's: elements whose neighbours change, of every size, in squares that are not
 * whole, too. */
#include "gpu_run.h"
#include "kernel_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

enum { ROOM = 20000 };
static double expected[ROOM];

/* Both kernels' outputs, in every layout. */
static void check(kernel_case *c, const char *gpu_name, const char *cpu_name)
{
    const ry_kernel *gpu = every_kernel_find(gpu_name), *cpu = every_kernel_find(cpu_name);
    int layouts = 0;
    assert_true(gpu && cpu);
    for (case_layout layout = 0; layout < CASE_LAYOUTS; layout++) {
        const int64_t count = ry_tensor_count(&c->out[0]);
        if (!kernel_case_applicable(c, gpu, layout) || !kernel_case_applicable(c, cpu, layout)) {
            continue;
        }
        assert_true(count <= ROOM);
        kernel_case_run(c, cpu, layout);
        for (int64_t i = 0; i < count; i++) {
            expected[i] = kernel_case_get(c, 0, i);
        }
        kernel_case_run(c, gpu, layout);
        kernel_case_expect(c, 0, expected, count, 0);
        layouts++;
    }
    assert_true(layouts > 0);
    kernel_case_end(c);
}

static void check_transpose(ry_dtype dtype, const char *x, const char *y, ry_ints perm)
{
    kernel_case c;
    kernel_case_begin(&c, RY_OP_transpose);
    c.attrs.transpose.perm = perm;
    kernel_case_pattern(&c, dtype, x, 7, 251, 1);
    kernel_case_output(&c, dtype, y);
    check(&c, "transpose_gpu", "transpose_move");
}

static void transposes(void **state)
{
    (void)state;
    static const ry_dtype types[] = {RY_u8, RY_f16, RY_f32, RY_f64};
    gpu_run_need();
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        check_transpose(types[i], "37x70", "70x37", (ry_ints){2, {1, 0}});
        check_transpose(types[i], "3x19x45", "3x45x19", (ry_ints){3, {0, 2, 1}});
        check_transpose(types[i], "5x9x8x11", "11x8x5x9", (ry_ints){4, {3, 2, 0, 1}});
        check_transpose(types[i], "2x33x7x5", "2x7x5x33", (ry_ints){4, {0, 2, 3, 1}});
        check_transpose(types[i], "4x64x4", "64x4x4", (ry_ints){3, {1, 0, 2}});
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(transposes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
