/* SPDX-License-Identifier: Apache-2.0 */
/* The list of kernels: unique names, complete rows, the walk through those that take a problem,
 * packing. */
#include "kernel_case.h"
#include "kernels/kernel_source.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void rows_are_complete_and_unique(void **state)
{
    (void)state;
    assert_true(every_kernel_count() > 20);
    for (size_t i = 0; i < every_kernel_count(); i++) {
        const ry_kernel *kernel = every_kernel(i);
        assert_non_null(kernel->applicable);
        assert_non_null(kernel->prepare);
        assert_true((kernel->run == NULL) == (kernel->gpu != NULL));
        assert_int_equal(kernel->device, kernel->gpu ? RY_DEVICE_gpu : RY_DEVICE_cpu);
        assert_true(strncmp(kernel->name, kernel->family, strlen(kernel->family)) == 0 ||
                    kernel->reference);
        assert_ptr_equal(every_kernel_find(kernel->name), kernel);
    }
    assert_null(every_kernel_find("conv"));
}

/* What is asked before a kernel runs is the same code for every instruction set: none of it is
 * compiled for one. */
static void families_are_planned_by_the_same_code(void **state)
{
    (void)state;
    for (size_t i = 1; i < ry_kernel_count; i++) {
        const ry_kernel *a = ry_kernels[i - 1], *b = ry_kernels[i];
        if (strcmp(a->family, b->family) == 0 &&
            (a->prepare != b->prepare || a->initialise != b->initialise || a->values != b->values ||
             a->knobs != b->knobs)) {
            fail_msg("%s and %s are not planned by the same code", a->name, b->name);
        }
    }
}

/* Each row's file is in the table that the build made. */
static void every_kernel_has_a_source(void **state)
{
    (void)state;
    for (size_t i = 0; i < every_kernel_count(); i++) {
        const ry_kernel *kernel = every_kernel(i);
        if (!kernel->file || ry_kernel_source(kernel) <= 1) {
            fail_msg("%s: its file '%s' has no hash", kernel->name, kernel->file);
        }
    }
    const ry_kernel *igemm = ry_kernel_find("conv_fwd_f32_igemm_generic"),
                    *same = ry_kernel_find("convt_fwd_f32_igemm_generic"),
                    *other = ry_kernel_find("conv_fwd_f32_winograd_generic");
    assert_true(ry_kernel_source(igemm) == ry_kernel_source(same));
    assert_true(ry_kernel_source(igemm) != ry_kernel_source(other));
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

static void walk_gives_each_family_once_at_its_best(void **state)
{
    (void)state;
    kernel_case c = small_conv(RY_f32);
    ry_tensor in[CASE_OPERANDS], out[CASE_OPERANDS];
    const ry_problem problem = kernel_case_problem(&c, CASE_NCHW, in, out);
    for (ry_isa isa = RY_ISA_generic; isa < RY_ISAS; isa++) {
        const ry_kernel *seen[64];
        size_t at = 0, count = 0;
        for (const ry_kernel *kernel;
             (kernel = ry_kernel_next(&problem, every_kernel_target(isa), &at)) != NULL;
             seen[count++] = kernel) {
            assert_true(count < 64 && kernel->isa <= isa && kernel->accuracy <= problem.accuracy &&
                        kernel->applicable(&problem));
            assert_false(kernel->reference);
            for (size_t i = 0; i < count; i++) {
                assert_string_not_equal(seen[i]->family, kernel->family);
            }
            for (size_t i = 0; i < ry_kernel_count; i++) {
                const ry_kernel *other = ry_kernels[i];
                assert_false(other->isa > kernel->isa && other->isa <= isa &&
                             strcmp(other->family, kernel->family) == 0);
            }
        }
        assert_true(count > 0);
    }
    kernel_case_end(&c);
}

static void what_is_not_constant_is_packed_before_every_run(void **state)
{
    (void)state;
    kernel_case c = small_conv(RY_f32);
    ry_tensor in[CASE_OPERANDS], out[CASE_OPERANDS];
    const ry_problem problem = kernel_case_problem(&c, CASE_NCHW, in, out);
    const ry_query query = {every_kernel_find("conv_fwd_f32_igemm_generic"), &problem,
                            every_kernel_target(RY_ISA_generic), NULL};
    ry_prepared constant, variable;
    ry_error error = {0};
    assert_int_equal(ry_prepare(&query, 1u << 1, &constant, &error), RYND_OK);
    assert_int_equal(ry_prepare(&query, 1u << 0, &variable, &error), RYND_OK);
    assert_true(!constant.packs && ry_prepared_packed(&constant) > 0);
    assert_true(variable.packs && ry_prepared_packed(&variable) == 0);
    assert_true(ry_prepared_workspace(&variable) >=
                ry_prepared_workspace(&constant) + ry_prepared_packed(&constant));
    kernel_case_end(&c);
}

static void the_reference_takes_what_no_other_does(void **state)
{
    (void)state;
    kernel_case c = small_conv(RY_i16);
    ry_tensor in[CASE_OPERANDS], out[CASE_OPERANDS];
    ry_problem problem = kernel_case_problem(&c, CASE_GAPS, in, out);
    in[1].dtype = RYND_DTYPE_I8; /* operands of several types */
    assert_string_equal(every_kernel_first(&problem, RY_ISA_avx512)->name, "conv_ref");
    kernel_case_end(&c);
    c = small_conv(RY_bool);
    problem = kernel_case_problem(&c, CASE_NCHW, in, out);
    assert_null(every_kernel_first(&problem, RY_ISA_avx512));
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
        rynd_status status = every_kernel_execute(every_kernel_find("topk_ref"), &problem, in_data,
                                                  out_data, NULL, &allocator, &error);
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
        cmocka_unit_test(rows_are_complete_and_unique),
        cmocka_unit_test(every_kernel_has_a_source),
        cmocka_unit_test(families_are_planned_by_the_same_code),
        cmocka_unit_test(walk_gives_each_family_once_at_its_best),
        cmocka_unit_test(what_is_not_constant_is_packed_before_every_run),
        cmocka_unit_test(the_reference_takes_what_no_other_does),
        cmocka_unit_test(execute_reports_exhausted_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
