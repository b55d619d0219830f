/* SPDX-License-Identifier: Apache-2.0 */
/* The quantised convolutions of GPUs have the reference's bits, with bytes of the whole range, in
 * every layout, with guards around every operand. */
#include "every_kernel.h"
#include "gpu_run.h"
#include "kernels/form.h"
#include "machine/machine.h"
#include "qconv_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct check {
    const char *kernel;
    qconv_kind kind;
    qconv_case shapes;
} check;

#define PADDED                                                              \
    {                                                                       \
        "2x24x9x5", "37x24x3x3", "2x37x9x5", {4, {1, 1, 1, 1}}, {0}, {0}, 1 \
    }
#define STRIDED                                                                              \
    {                                                                                        \
        "1x16x12x13", "24x4x3x2", "1x24x6x5", {4, {0, 1, 2, 0}}, {2, {2, 3}}, {2, {2, 1}}, 4 \
    }
#define FIRST                                                                         \
    {                                                                                 \
        "1x3x21x19", "17x3x7x7", "1x17x11x10", {4, {3, 3, 3, 3}}, {2, {2, 2}}, {0}, 1 \
    }
#define PRODUCT                                           \
    {                                                     \
        "5x300x1", "70x300x1", "5x70x1", {0}, {0}, {0}, 1 \
    }

/* Compilers take a second for each. */
static const check checks[] = {
    {"qconv_igemm_gpu", QCONV_RESIDUAL, STRIDED},
    {"qconv_igemm_gpu", QCONV_BYTES, FIRST},
    {"qconv_panels_gpu", QCONV_RESIDUAL, PADDED},
    {"qconv_panels_gpu", QCONV_FLOATS, STRIDED},
    {"qconv_units_gpu", QCONV_BYTES, FIRST},
    {"qconv_units_gpu", QCONV_FLOATS, STRIDED},
    {"qconv_units_gpu", QCONV_RESIDUAL, PADDED},
    {"qconv_units_gpu", QCONV_SUMS, PRODUCT},
    {"qconv_depthwise_gpu",
     QCONV_BYTES,
     {"2x37x12x10", "37x1x5x5", "2x37x6x5", {4, {2, 2, 2, 2}}, {2, {2, 2}}, {0}, 37}},
    {"qconv_depthwise_gpu",
     QCONV_SUMS,
     {"1x20x11x13", "20x1x3x2", "1x20x7x12", {4, {0, 0, 0, 1}}, {0}, {2, {2, 2}}, 20}},
};

/* What copied tiles take, and wide ones, of which a case takes one: chunks of 16 channels, taps that share a tile and
 * tiles that share a tap, groups, strides, rows and columns beyond the last. */
static const struct {
    case_layout layout;
    qconv_kind kind;
    qconv_case shapes;
    const char *wide;
} copied[] = {
    {CASE_NHWC,
     QCONV_RESIDUAL,
     {"2x96x9x5", "74x48x3x3", "2x74x6x4", {4, {1, 2, 1, 2}}, {2, {2, 2}}, {0}, 2},
     "wide64x128"},
    {CASE_NHWC,
     QCONV_BYTES,
     {"1x16x7x9", "37x16x3x3", "1x37x7x9", {4, {1, 1, 1, 1}}, {0}, {0}, 1},
     "wide256x128"},
    {CASE_NHWC,
     QCONV_FLOATS,
     {"3x320x5x7", "70x320x1x1", "3x70x5x7", {0}, {0}, {0}, 1},
     "wide128x256"},
    {CASE_NCHW, QCONV_SUMS, {"5x304x1", "70x304x1", "5x70x1", {0}, {0}, {0}, 1}, "wide128x128"},
};

static bool runs_here(const kernel_case *c, const char *name)
{
    const ry_kernel *kernel = ry_kernel_find(name);
    ry_tensor in[CASE_OPERANDS], out[CASE_OPERANDS];
    const ry_problem problem = kernel_case_problem(c, CASE_NCHW, in, out);
    assert_non_null(kernel);
    return ry_kernel_takes(kernel, &problem, gpu_run_target());
}

static void all_are_exact(void **state)
{
    (void)state;
    gpu_run_need();
    for (uint32_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        kernel_case c;
        qconv_case_begin(&c, &checks[i].shapes, checks[i].kind, i);
        if (runs_here(&c, checks[i].kernel)) {
            kernel_case_check(&c, checks[i].kernel, 0);
        }
        kernel_case_end(&c);
    }
}

/* The reference's output, which the caller frees. */
static double *expected_of(kernel_case *c, int64_t *count)
{
    kernel_case_run(c, every_kernel_find("qconv_ref"), CASE_NCHW);
    *count = ry_tensor_count(&c->out[0]);
    double *expected = calloc((size_t)*count, sizeof *expected);
    assert_non_null(expected);
    for (int64_t i = 0; i < *count; i++) {
        expected[i] = kernel_case_get(c, 0, i);
    }
    return expected;
}

/* Runs a row-major problem with x one byte behind an aligned address: its chunks are not copied at
 * once. */
static void run_behind(kernel_case *c, const ry_query *query)
{
    gpu_operand in[CASE_OPERANDS] = {0};
    const gpu_operand out = {c->out[0].data, ry_tensor_bytes(&c->out[0]), c->out[0].data};
    for (int i = 0; i < c->inputs; i++) {
        if (ry_tensor_present(&c->in[i])) {
            in[i] = (gpu_operand){c->in[i].data, ry_tensor_bytes(&c->in[i]), c->in[i].data};
        }
    }
    char *behind = malloc(in[0].size + 1);
    ry_error error = {""};
    assert_non_null(behind);
    memcpy(behind + 1, in[0].data, in[0].size);
    in[0] = (gpu_operand){behind, in[0].size + 1, behind + 1};
    if (gpu_run(query, in, &out, &error) != RYND_OK) {
        fail_msg("%s", error.text);
    }
    free(behind);
}

/* Runs all forms whose tile's word begins so, with few splits. Returns how many. */
static int check_forms(kernel_case *c, const ry_kernel *kernel, case_layout layout,
                       const char *word)
{
    ry_tensor in[CASE_OPERANDS], out[CASE_OPERANDS];
    const ry_problem problem = kernel_case_problem(c, layout, in, out);
    ry_query query = {kernel, &problem, gpu_run_target(), NULL};
    int64_t count;
    int checked = 0;
    double *expected = expected_of(c, &count);
    ry_form form;
    for (size_t at = 0; ry_form_at(&query, at, &form); at++) {
        if (form.value[1] > 2 ||
            strncmp(kernel->knobs[0].words[form.value[0]], word, strlen(word)) != 0) {
            continue;
        }
        c->form = &form;
        kernel_case_run(c, kernel, layout);
        kernel_case_expect(c, 0, expected, count, 0);
        if (layout == CASE_NCHW) {
            const ry_query formed = {kernel, &problem, query.target, &form};
            run_behind(c, &formed);
            kernel_case_expect(c, 0, expected, count, 0);
        }
        checked++;
    }
    c->form = NULL;
    free(expected);
    return checked;
}

/* A product is channels last as it is. */
static void copied_tiles_are_exact(void **state)
{
    (void)state;
    gpu_run_need();
    const ry_kernel *kernel = every_kernel_find("qconv_units_gpu");
    if (!gpu_run_target()->machine->matrix_units) {
        print_message("skipped: the device has no matrix units\n");
        skip();
    }
    const bool wide = strcmp(gpu_run_target()->machine->architecture, "sm_90a") == 0;
    for (uint32_t i = 0; i < sizeof copied / sizeof *copied; i++) {
        kernel_case c;
        qconv_case_begin(&c, &copied[i].shapes, copied[i].kind, i);
        assert_true(check_forms(&c, kernel, copied[i].layout, "copied") >= 4);
        assert_true((check_forms(&c, kernel, copied[i].layout, copied[i].wide) > 0) == wide);
        kernel_case_end(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_are_exact),
                                       cmocka_unit_test(copied_tiles_are_exact)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
