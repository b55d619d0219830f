/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products by wide tiles on the stand-in for CUDA: every kernel, batches of both matrices and of one,
 * transpositions of b, types, ends, last tiles of rows, columns and terms, terms that end within a chunk. */
#include "gpu_product.h"
#include "gpu_run.h"
#include "machine/machine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

typedef struct row {
    const char *kernel, *tile;
    ry_dtype a, b;
    int64_t rows, columns, terms, row_step; /* row_step: from row to row of a */
    int64_t batches_a, batches_b;
    bool turned, ends; /* turned: b's terms are beside each other */
    int forms;
} row;

static const row rows[] = {
    {"matmul_half_wide_gpu", "wide64x128", RY_f16, RY_f16, 131, 70, 130, 136, 1, 1, false, true, 2},
    {"matmul_half_wide_gpu", "wide256x128", RY_bf16, RY_bf16, 20, 258, 70, 72, 2, 2, true, false,
     1},
    {"matmul_tf32_wide_gpu", "wide128x128", RY_f32, RY_f32, 129, 60, 37, 40, 1, 1, false, true, 1},
    {"matmul_tf32_wide_gpu", "wide64x128", RY_f32, RY_f16, 30, 64, 192, 192, 3, 1, true, false, 2},
    {"matmul_bf16_wide_gpu", "wide128x256", RY_f32, RY_f32, 40, 129, 70, 72, 2, 2, false, false, 1},
};

/* batches x height x width, steps from one row to the next */
static ry_tensor matrices(ry_dtype type, int64_t batches, int64_t height, int64_t width,
                          int64_t step)
{
    const int64_t dim[] = {batches, height, width};
    ry_tensor t = case_tensor(type, 3, dim, CASE_ROW_MAJOR);
    t.stride[1] = step;
    t.stride[0] = height * step;
    return t;
}

static product_case case_of(const row *r)
{
    product_case c = {
        .problem = {.op = RY_OP_matmul, .inputs = r->ends ? 4 : 2, .accuracy = RY_ACCURACY_bf16}};
    ry_matmul_attrs *attrs = &c.problem.attrs.matmul;
    c.problem.attrs = ry_attrs_default(RY_OP_matmul);
    attrs->trans_b = r->turned;
    attrs->activation = r->ends ? RY_activation_relu : attrs->activation;
    c.in[0] = matrices(r->a, r->batches_a, r->rows, r->terms, r->row_step);
    c.in[1] = r->turned ? matrices(r->b, r->batches_b, r->columns, r->terms, r->terms)
                        : matrices(r->b, r->batches_b, r->terms, r->columns, r->columns);
    c.out[0] = matrices(r->a, r->batches_a, r->rows, r->columns, r->columns);
    if (r->ends) {
        c.in[2] = case_tensor(RY_f32, 1, &r->columns, CASE_ROW_MAJOR);
        c.in[3] = c.out[0];
    }
    c.terms = (double)r->terms;
    return c;
}

static void every_product(void **state)
{
    (void)state;
    gpu_run_need();
    if (strcmp(gpu_run_target()->machine->architecture, "sm_90a") != 0) {
        print_message("skipped: the device has no wide matrix units\n");
        skip();
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        product_case c = case_of(&rows[i]);
        case_fill(&c);
        const int checked = gpu_product_check_word(&c, rows[i].kernel, "matmul_ref", rows[i].tile,
                                                   ry_dtype_size(rows[i].a));
        if (checked != rows[i].forms) {
            fail_msg("row %zu: %d forms instead of %d", i, checked, rows[i].forms);
        }
        case_free(&c);
    }
}

/* a of which terms are not beside each other, or rows not at steps of whole chunks. */
static void others_are_declined(void **state)
{
    (void)state;
    static const row odd = {
        "matmul_half_wide_gpu", "wide", RY_f16, RY_f16, 20, 70, 130, 131, 1, 1, false, false, 0};
    product_case c = case_of(&odd);
    c.problem.in = c.in;
    c.problem.out = c.out;
    c.problem.outputs = 1;
    assert_false(every_kernel_find(odd.kernel)->applicable(&c.problem));
    c.problem.attrs.matmul.trans_a = true;
    c.in[0] = matrices(RY_f16, 1, 130, 24, 24);
    assert_false(every_kernel_find(odd.kernel)->applicable(&c.problem));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_product),
                                       cmocka_unit_test(others_are_declined)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
