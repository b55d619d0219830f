/* SPDX-License-Identifier: Apache-2.0 */
/* The self-test of a device: its problems reach every kernel of GPUs, and it finds the CPU right.
 */
#include "kernels/kernel.h"
#include "kernels/refusals.h"
#include "machine/machine.h"

#include <rynd/rynd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const char *const problems[] = {
#define RY_CHECK(reach, text) text,
#include "tune/check_problems.inc"
#undef RY_CHECK
};
enum { PROBLEMS = sizeof problems / sizeof *problems };

static bool is_reached(const ry_kernel *kernel, const ry_target *target)
{
    bool reached = false;
    for (int i = 0; i < PROBLEMS && !reached; i++) {
        ry_arena arena;
        ry_problem problem;
        ry_error error = {""};
        ry_arena_init(&arena, &ry_system_allocator);
        if (ry_problem_parse(problems[i], &arena, &problem, &error) != RYND_OK) {
            fail_msg("%s: %s", problems[i], error.text);
        }
        reached = ry_kernel_takes(kernel, &problem, target);
        ry_arena_free(&arena);
    }
    return reached;
}

static void reaches_every_kernel_of_gpus(void **state)
{
    (void)state;
    const ry_machine machine = {.cores = 4,
                                .group_items = 1024,
                                .step_items = 32,
                                .unit_groups = 4,
                                .local_bytes = 48 << 10,
                                .fp64 = 1,
                                .matrix_units = 1};
    ry_machine processor = machine, hopper = machine;
    processor.step_items = 1;
    hopper.local_bytes = 227 << 10;
    strcpy(hopper.architecture, "sm_90a");
    const ry_target targets[] = {{RY_DEVICE_gpu, RY_ISA_generic, &machine, 0, NULL},
                                 {RY_DEVICE_gpu, RY_ISA_generic, &processor, 0, NULL},
                                 {RY_DEVICE_gpu, RY_ISA_generic, &hopper, 0, NULL}};
    for (size_t i = 0; i < ry_kernel_count; i++) {
        bool reached = ry_kernels[i]->device != RY_DEVICE_gpu;
        for (size_t t = 0; t < sizeof targets / sizeof *targets && !reached; t++) {
            reached = is_reached(ry_kernels[i], &targets[t]);
        }
        if (!reached) {
            fail_msg("no problem reaches %s", ry_kernels[i]->name);
        }
    }
}

static void finds_the_cpu_right(void **state)
{
    (void)state;
    rynd_context *context;
    const char *path = "";
    rynd_checked_kernel kernel = RYND_SIZED(rynd_checked_kernel);
    size_t right = 0;
    assert_int_equal(rynd_context_create(NULL, &context), RYND_OK);
    assert_int_equal(rynd_context_check(context, NULL, &path), RYND_OK);
    const size_t count = rynd_context_checked_count(context);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(rynd_context_get_checked(context, i, &kernel), RYND_OK);
        if (kernel.finding > RYND_FINDING_RIGHT) {
            fail_msg("%s is %s: %s: %s", kernel.kernel, rynd_finding_text(kernel.finding),
                     kernel.problem, kernel.why);
        }
        right += kernel.finding == RYND_FINDING_RIGHT;
    }
    assert_true(right > 20);
    assert_int_equal(rynd_context_get_checked(context, count, &kernel), RYND_ERROR_ARGUMENT);
    rynd_context_destroy(context);
}

static int end_at_second(void *user, const rynd_progress *progress)
{
    size_t *calls = user;
    assert_true(++*calls == progress->done && progress->done < progress->all);
    return *calls == 2;
}

static void can_be_ended(void **state)
{
    (void)state;
    rynd_context *context;
    size_t calls = 0;
    const rynd_check_options options =
        RYND_SIZED(rynd_check_options, .progress = end_at_second, .progress_user = &calls);
    assert_int_equal(rynd_context_create(NULL, &context), RYND_OK);
    assert_int_equal(rynd_context_check(context, &options, NULL), RYND_ERROR_CANCELLED);
    assert_int_equal(calls, 2);
    rynd_context_destroy(context);
}

/* The next kernel takes the problem; without any other, nothing does. */
static void refuses_what_is_refused(void **state)
{
    (void)state;
    const ry_machine machine = {.cores = 4, .group_items = 256, .step_items = 32};
    ry_refusals refusals = {0};
    const ry_target target = {RY_DEVICE_gpu, RY_ISA_generic, &machine, 0, &refusals};
    const ry_kernel *softmax = ry_kernel_find("softmax_gpu");
    ry_problem problem;
    ry_error error = {""};
    ry_arena arena;
    size_t at = 0;
    ry_arena_init(&arena, &ry_system_allocator);
    assert_int_equal(
        ry_problem_parse("softmax x0=5x37:f32 y0=5x37:f32 axis=1", &arena, &problem, &error),
        RYND_OK);
    assert_true(ry_kernel_takes(softmax, &problem, &target));
    assert_null(ry_kernel_refused(&problem, &target));
    ry_refusals_add(&refusals, softmax);
    ry_refusals_add(&refusals, softmax);
    assert_int_equal(refusals.count, 1);
    assert_false(ry_kernel_takes(softmax, &problem, &target));
    assert_ptr_equal(ry_kernel_refused(&problem, &target), softmax);
    assert_null(ry_kernel_next(&problem, &target, &at));
    ry_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reaches_every_kernel_of_gpus),
        cmocka_unit_test(finds_the_cpu_right),
        cmocka_unit_test(can_be_ended),
        cmocka_unit_test(refuses_what_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
