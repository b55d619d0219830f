/* SPDX-License-Identifier: Apache-2.0 */
/* Every kernel with sums of products in f32 holds the promise of its accuracy class, on ordinary
 * and on hard data, in both layouts. A kernel that no problem of accuracy_problems reaches fails.
 */
#include "accuracy_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int check(accuracy_case *c, bool *reached)
{
    int failures = 0;
    for (size_t i = 0; i < every_kernel_count(); i++) {
        for (case_layout layout = CASE_NCHW; layout <= CASE_NHWC; layout++) {
            if (!accuracy_is_measured(every_kernel(i)) ||
                !accuracy_case_applicable(c, every_kernel(i), layout)) {
                continue;
            }
            char message[256];
            reached[i] = true;
            const accuracy_error error = accuracy_case_measure(c, every_kernel(i), layout);
            if (!accuracy_case_judge(c, every_kernel(i)->accuracy, error, message,
                                     sizeof message)) {
                print_error("%s, %s data, %s, %s: %s\n", every_kernel(i)->name,
                            accuracy_data_names[c->data], layout == CASE_NHWC ? "nhwc" : "nchw",
                            c->kernel.text, message);
                failures++;
            }
        }
    }
    return failures;
}

static void classes_hold(void **state)
{
    int failures = 0;
    for (const char *const *problem = accuracy_problems; *problem; problem++) {
        for (accuracy_data data = 0; data < ACCURACY_DATA; data++) {
            accuracy_case c;
            accuracy_case_begin(&c, *problem, data);
            failures += check(&c, *state);
            accuracy_case_end(&c);
        }
    }
    assert_int_equal(failures, 0);
}

static void all_are_reached(void **state)
{
    const bool *reached = *state;
    int missing = 0;
    for (size_t i = 0; i < every_kernel_count(); i++) {
        if (accuracy_is_measured(every_kernel(i)) && !reached[i]) {
            print_error("no problem of accuracy_problems reaches %s\n", every_kernel(i)->name);
            missing++;
        }
    }
    assert_int_equal(missing, 0);
}

/* The judgement itself: results that are wrong in each of the ways are refused. */
static void errors_are_seen(void **state)
{
    (void)state;
    accuracy_case c;
    char message[256];
    accuracy_case_begin(&c, accuracy_problems[0], ACCURACY_NONFINITE);
    memcpy(c.result, c.direct, (size_t)c.outputs * sizeof *c.result);
    assert_true(accuracy_case_judge(&c, RY_ACCURACY_strict, accuracy_case_compare(&c, c.result),
                                    message, sizeof message));
    int64_t whole = 0;
    while (!isfinite(c.direct[whole])) {
        whole++;
    }
    c.result[whole] = NAN;
    assert_false(accuracy_case_judge(&c, RY_ACCURACY_bf16, accuracy_case_compare(&c, c.result),
                                     message, sizeof message));
    c.result[whole] = c.direct[whole] + 1e-3f;
    assert_false(accuracy_case_judge(&c, RY_ACCURACY_near32, accuracy_case_compare(&c, c.result),
                                     message, sizeof message));
    assert_true(accuracy_case_judge(&c, RY_ACCURACY_bf16, accuracy_case_compare(&c, c.result),
                                    message, sizeof message));
    for (int64_t i = 0; i < c.outputs; i++) {
        c.result[i] = c.direct[i] * 1.000003f;
    }
    assert_false(accuracy_case_judge(&c, RY_ACCURACY_strict, accuracy_case_compare(&c, c.result),
                                     message, sizeof message));
    assert_true(accuracy_case_judge(&c, RY_ACCURACY_near32, accuracy_case_compare(&c, c.result),
                                    message, sizeof message));
    accuracy_case_end(&c);
}

static int begin(void **state)
{
    *state = calloc(every_kernel_count(), sizeof(bool));
    return *state ? 0 : -1;
}

static int end(void **state)
{
    free(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_hold),
        cmocka_unit_test(all_are_reached),
        cmocka_unit_test(errors_are_seen),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
