/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of GPUs hold each output's error where numbers differ by far (outlier_case.h). */
#include "gpu_run.h"
#include "kernels/form.h"
#include "machine/machine.h"
#include "outlier_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* Tiles that the outputs' edges cut; padding on one side; several chunks of channels; windows of a
 * single position. */
static const char *const winograd_problems[] = {
    "conv c=20 h=11 w=14 k=9 r=3 s=3 pad=1",
    "conv n=2 c=3 h=8 w=9 k=5 r=3 s=3 pad=2,0,1,2",
    "conv c=130 h=7 w=6 k=12 r=3 s=3",
    "conv c=4 h=1 w=5 k=6 r=3 s=3 pad=2",
    "convt c=20 h=11 w=14 k=9 r=3 s=3 pad=2,0,1,1",
};
enum { WINOGRAD_PROBLEMS = sizeof winograd_problems / sizeof *winograd_problems };

static const char *const other_problems[] = {
    "conv c=12 h=9 w=10 k=9 r=3 s=3 pad=1 stride=2",
    "conv c=12 h=9 w=7 k=12 r=3 s=3 pad=1 groups=12",
    "convt c=9 h=6 w=7 k=8 r=4 s=4 stride=2 pad=1",
};

static bool is_tried(const kernel_case *c, const ry_kernel *kernel)
{
    (void)c;
    return kernel->device == RY_DEVICE_gpu &&
           (!kernel->matrix_units || gpu_run_target()->machine->matrix_units) &&
           (strncmp(kernel->name, "conv_fwd_f32_", 13) == 0 ||
            strncmp(kernel->name, "convt_fwd_f32_", 14) == 0);
}

static void test_winograd(void **state)
{
    (void)state;
    gpu_run_need();
    int failures = 0;
    for (int64_t points = 4; points <= 6; points += 2) {
        const outlier_subject subject = {is_tried, points};
        int compared = 0;
        for (size_t i = 0; i < WINOGRAD_PROBLEMS; i++) {
            failures += outlier_failures(winograd_problems[i], (uint32_t)i, &subject, &compared);
        }
        /* two layouts, 33 kinds of outliers; near32, and strict for four points */
        assert_int_equal(compared, WINOGRAD_PROBLEMS * 2 * 33 * (points == 4 ? 2 : 1));
    }
    assert_int_equal(failures, 0);
}

static void test_others(void **state)
{
    (void)state;
    gpu_run_need();
    const outlier_subject subject = {is_tried, RY_KNOB_FREE};
    int failures = 0, compared = 0;
    for (size_t i = 0; i < sizeof other_problems / sizeof *other_problems; i++) {
        failures += outlier_failures(other_problems[i], 8 + (uint32_t)i, &subject, &compared);
    }
    assert_int_equal(failures, 0);
    assert_true(compared >= 3 * 2 * 33);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_winograd),
        cmocka_unit_test(test_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
