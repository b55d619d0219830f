/* SPDX-License-Identifier: Apache-2.0 */
/* The list of kernels: unique names, complete rows, choosing by rank, instruction set, accuracy and constants. */
#include "kernel_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void rows_are_complete_and_unique(void **state)
{
    (void)state;
    assert_true(ry_kernel_count > 20);
    for (size_t i = 0; i < ry_kernel_count; i++) {
        const ry_kernel *kernel = ry_kernels[i];
        assert_non_null(kernel->applicable);
        assert_non_null(kernel->prepare);
        assert_non_null(kernel->run);
        assert_string_equal(kernel->device, "cpu");
        assert_ptr_equal(ry_kernel_find(kernel->name), kernel);
    }
    assert_null(ry_kernel_find("conv"));
}

static kernel_case small_conv(ry_dtype dtype)
{
    kernel_case c;
    kernel_case_begin(&c, RY_OP_conv);
    kernel_case_random(&c, dtype, "1x2x4x4", 1);
    kernel_case_random(&c, dtype, "2x2x1x1", 2);
    kernel_case_output(&c, dtype, "1x2x4x4");
    return c;
}

static void choice_is_applicable_and_of_highest_rank(void **state)
{
    (void)state;
    kernel_case c = small_conv(RY_f32);
    ry_tensor in[CASE_OPERANDS], out[CASE_OPERANDS];
    ry_problem problem = kernel_case_problem(&c, CASE_NCHW, in, out);
    for (ry_isa isa = RY_ISA_generic; isa < RY_ISAS; isa++) {
        const ry_kernel *best = ry_kernel_choose(&problem, isa, ~0u);
        assert_non_null(best);
        assert_true(best->isa <= isa && best->accuracy <= problem.accuracy && best->applicable(&problem));
        for (size_t i = 0; i < ry_kernel_count; i++) {
            const ry_kernel *other = ry_kernels[i];
            if (other->op == RY_OP_conv && other->isa <= isa && other->accuracy <= problem.accuracy && other->applicable(&problem)) {
                assert_true(other->rank <= best->rank);
            }
        }
    }
    kernel_case_end(&c);
}

static void no_constant_means_no_packing(void **state)
{
    (void)state;
    kernel_case c = small_conv(RY_f32);
    ry_tensor in[CASE_OPERANDS], out[CASE_OPERANDS];
    ry_problem problem = kernel_case_problem(&c, CASE_NCHW, in, out);
    const ry_kernel *best = ry_kernel_choose(&problem, RY_ISA_avx512, 0);
    assert_non_null(best);
    assert_int_equal(best->constant_inputs & 3u, 0);
    kernel_case_end(&c);
}

static void the_reference_takes_what_no_other_does(void **state)
{
    (void)state;
    kernel_case c = small_conv(RY_i16);
    ry_tensor in[CASE_OPERANDS], out[CASE_OPERANDS];
    ry_problem problem = kernel_case_problem(&c, CASE_GAPS, in, out);
    assert_string_equal(ry_kernel_choose(&problem, RY_ISA_avx512, ~0u)->name, "conv_ref");
    kernel_case_end(&c);
    c = small_conv(RY_bool);
    problem = kernel_case_problem(&c, CASE_NCHW, in, out);
    assert_null(ry_kernel_choose(&problem, RY_ISA_avx512, ~0u));
    kernel_case_end(&c);
}

/* Gives memory `left` times, then none. */
static void *take_some(void *user, size_t size, size_t alignment)
{
    int *left = user;
    return (*left)-- > 0 ? ry_system_allocator.allocate(NULL, size, alignment) : NULL;
}

static void give_back(void *user, void *memory)
{
    (void)user;
    ry_system_allocator.release(NULL, memory);
}

static void execute_reports_exhausted_memory(void **state)
{
    (void)state;
    kernel_case c;
    kernel_case_begin(&c, RY_OP_topk);
    c.attrs.topk.k = 2;
    kernel_case_random(&c, RY_f32, "7", 1);
    kernel_case_output(&c, RY_f32, "2");
    ry_tensor in[CASE_OPERANDS], out[CASE_OPERANDS];
    ry_problem problem = kernel_case_problem(&c, CASE_NCHW, in, out);
    const void *in_data[] = {c.in[0].data};
    void *out_data[] = {c.out[0].data};
    int failures = 0;
    for (int n = 0;; n++) {
        int left = n;
        ry_allocator allocator = {take_some, give_back, &left};
        ry_error error = {0};
        rynd_status status = ry_kernel_execute(ry_kernel_find("topk_ref"), &problem, in_data, out_data, NULL, &allocator, &error);
        if (status == RYND_OK) {
            break;
        }
        assert_int_equal(status, RYND_ERROR_OUT_OF_MEMORY);
        assert_true(strlen(error.text) > 0);
        failures++;
    }
    assert_int_equal(failures, 2);
    kernel_case_end(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_complete_and_unique),     cmocka_unit_test(choice_is_applicable_and_of_highest_rank),
        cmocka_unit_test(no_constant_means_no_packing),     cmocka_unit_test(the_reference_takes_what_no_other_does),
        cmocka_unit_test(execute_reports_exhausted_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
