/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix units and Winograd's form hold the promises of their accuracy classes, on ordinary and on
 * hard data, in both layouts. Other kernels of GPUs sum as those of the CPU do. */
#include "accuracy_case.h"
#include "gpu_run.h"
#include "kernels/form.h"
#include "machine/machine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const char *const unit_problems[] = {
    "conv c=24 h=9 w=11 k=24 r=3 s=3 pad=1 stride=2 bias=1",
    "convt c=32 h=5 w=6 k=24 r=4 s=4 stride=2 pad=1",
    "matmul x0=33x300:f32 x1=50x300:f32 y0=33x50:f32 trans_b=1",
    NULL,
};

static const char *const winograd_problems[] = {
    "conv c=64 h=15 w=17 k=40 r=3 s=3 pad=1",
    "conv n=2 c=33 h=14 w=14 k=32 r=3 s=3 pad=1 bias=1",
    "conv c=512 h=8 w=7 k=16 r=3 s=3 pad=1",
    "convt c=64 h=15 w=17 k=40 r=3 s=3 pad=1",
    NULL,
};

/* One of matrix units runs as it chooses, one of Winograd's form with the most points. */
typedef struct method {
    const char *const *problems;
    bool (*is_of)(const ry_kernel *kernel);
    bool most_points;
} method;

static bool is_of_units(const ry_kernel *kernel)
{
    return kernel->matrix_units;
}

static bool is_winograd(const ry_kernel *kernel)
{
    return kernel->device == RY_DEVICE_gpu && strstr(kernel->name, "_winograd_");
}

static ry_form form_of(const accuracy_case *c, const ry_kernel *kernel, case_layout layout,
                       const method *how)
{
    ry_form form = ry_form_free();
    ry_tensor in[CASE_OPERANDS], out[CASE_OPERANDS];
    const ry_problem problem = kernel_case_problem(&c->kernel, layout, in, out);
    const ry_query query = {kernel, &problem, gpu_run_target(), NULL};
    if (how->most_points) {
        ry_knob_values points = {0};
        assert_string_equal(kernel->knobs[0].name, "points");
        kernel->values(&query, 0, &points);
        form.value[0] = points.value[points.count - 1];
    }
    return form;
}

static int check(accuracy_case *c, const method *how, int *checked)
{
    int failures = 0;
    for (size_t i = 0; i < every_kernel_count(); i++) {
        const ry_kernel *kernel = every_kernel(i);
        for (case_layout layout = CASE_NCHW; layout <= CASE_NHWC; layout++) {
            char message[256];
            if (!how->is_of(kernel) || !accuracy_case_applicable(c, kernel, layout)) {
                continue;
            }
            const ry_form form = form_of(c, kernel, layout, how);
            c->kernel.form = &form;
            const accuracy_error error = accuracy_case_measure(c, kernel, layout);
            ++*checked;
            if (!accuracy_case_judge(c, kernel->accuracy, error, message, sizeof message)) {
                print_error("%s, %s data, layout %s, %s: %s\n", kernel->name,
                            accuracy_data_names[c->data], kernel_case_layouts[layout],
                            c->kernel.text, message);
                failures++;
            }
        }
    }
    c->kernel.form = NULL;
    return failures;
}

/* Returns how many runs were judged. */
static int check_all(const method *how)
{
    int failures = 0, checked = 0;
    for (int i = 0; how->problems[i]; i++) {
        for (accuracy_data data = 0; data < ACCURACY_DATA; data++) {
            accuracy_case c;
            accuracy_case_begin(&c, how->problems[i], data);
            failures += check(&c, how, &checked);
            accuracy_case_end(&c);
        }
    }
    assert_int_equal(failures, 0);
    return checked;
}

static void matrix_units_hold_their_classes(void **state)
{
    (void)state;
    gpu_run_need();
    if (!gpu_run_target()->machine->matrix_units) {
        print_message("skipped: the device has no matrix units\n");
        skip();
    }
    const method units = {unit_problems, is_of_units, false};
    assert_true(check_all(&units) >= 6 * ACCURACY_DATA);
}

static void winograd_holds_its_classes(void **state)
{
    (void)state;
    gpu_run_need();
    const method winograd = {winograd_problems, is_winograd, true};
    assert_int_equal(check_all(&winograd), 4 * 2 * 2 * ACCURACY_DATA);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(matrix_units_hold_their_classes),
                                       cmocka_unit_test(winograd_holds_its_classes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
