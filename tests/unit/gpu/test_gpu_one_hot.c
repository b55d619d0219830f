/* SPDX-License-Identifier: Apache-2.0 */
/* one_hot on a GPU beside the CPU's kernel: any axis, types of classes and values, classes that
 * count from the end or are none. */
#include "gpu_run.h"
#include "kernel_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { ROOM = 1024 };

/* Both kernels' outputs, in every layout. */
static void check(ry_dtype classes, ry_dtype values, const char *indices, const char *y,
                  int64_t axis, int64_t depth)
{
    static const double on_off[] = {-0.5, 3};
    const double depths[] = {(double)depth};
    const ry_kernel *gpu = every_kernel_find("one_hot_gpu"),
                    *cpu = every_kernel_find("one_hot_move");
    kernel_case c;
    assert_true(gpu && cpu);
    kernel_case_begin(&c, RY_OP_one_hot);
    c.attrs.one_hot.axis = axis;
    kernel_case_pattern(&c, classes, indices, 7, 17, 1); /* -8 to 8: some are no classes */
    kernel_case_values(&c, RY_i64, "", depths);
    kernel_case_values(&c, values, "2", on_off);
    kernel_case_output(&c, values, y);
    int layouts = 0;
    for (case_layout layout = 0; layout < CASE_LAYOUTS; layout++) {
        double expected[ROOM];
        const int64_t count = ry_tensor_count(&c.out[0]);
        if (!kernel_case_applicable(&c, gpu, layout)) {
            continue;
        }
        assert_true(count <= ROOM && kernel_case_applicable(&c, cpu, layout));
        kernel_case_run(&c, cpu, layout);
        for (int64_t i = 0; i < count; i++) {
            expected[i] = kernel_case_get(&c, 0, i);
        }
        kernel_case_run(&c, gpu, layout);
        kernel_case_expect(&c, 0, expected, count, 0);
        layouts++;
    }
    assert_true(layouts >= 2);
    kernel_case_end(&c);
}

static void agrees_with_the_cpu(void **state)
{
    (void)state;
    gpu_run_need();
    check(RY_i64, RY_f32, "19", "19x5", 1, 5);
    check(RY_i32, RY_f32, "3x4x5", "3x7x4x5", 1, 7);
    check(RY_i64, RY_f16, "3x4", "6x3x4", 0, 6);
    check(RY_i8, RY_f64, "2x9", "2x9x4", -1, 4);
    check(RY_i64, RY_i8, "2x3x4", "2x3x5x4", 2, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(agrees_with_the_cpu)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
