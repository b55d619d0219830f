/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions by wide tiles (wgmma) on the stand-in for CUDA, which takes matrices as their descriptors say
 * and copies as fences show them: every tile, last tiles, splits, groups, strides, dilations, types, ends. */
#include "gpu_product.h"
#include "gpu_run.h"
#include "machine/machine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { AXES = 2 };

typedef struct row {
    ry_dtype type;
    case_layout y;
    int64_t channels, out; /* per group */
    int64_t groups, stride, dilation, window;
    bool transposed, ends; /* ends: a residual and an activation */
    const char *kernel[2], *tile;
    int forms; /* forms checked, both kernels together */
} row;

#define F32_KERNELS                                          \
    {                                                        \
        "conv_fwd_tf32_units_gpu", "conv_fwd_bf16_units_gpu" \
    }
#define F32_TRANSPOSED                                         \
    {                                                          \
        "convt_fwd_tf32_units_gpu", "convt_fwd_bf16_units_gpu" \
    }
#define HALF_KERNELS              \
    {                             \
        "conv_fwd_half_units_gpu" \
    }

/* Every tile for y along channels and along positions; sums are split, too, where they are long. */
static const row rows[] = {
    {RY_f32, CASE_CHANNELS_LAST, 8, 33, 1, 1, 2, 3, false, false, F32_KERNELS, "wide64x128", 2},
    {RY_f16, CASE_ROW_MAJOR, 8, 70, 1, 1, 1, 3, false, true, HALF_KERNELS, "wide128x64", 1},
    {RY_f32, CASE_CHANNELS_LAST, 20, 70, 2, 1, 1, 3, false, true, F32_KERNELS, "wide128x128", 4},
    {RY_f32, CASE_CHANNELS_LAST, 72, 20, 1, 2, 1, 1, false, false, F32_KERNELS, "wide256x128", 2},
    {RY_f32, CASE_CHANNELS_LAST, 8, 20, 1, 1, 1, 3, false, false, F32_KERNELS, "wide128x256", 2},
    {RY_f32, CASE_CHANNELS_LAST, 64, 20, 1, 2, 1, 3, true, false, F32_TRANSPOSED, "wide64x128", 4},
    {RY_bf16, CASE_CHANNELS_LAST, 16, 140, 2, 1, 1, 3, false, false, HALF_KERNELS, "wide128x256",
     2},
    {RY_f16, CASE_CHANNELS_LAST, 8, 270, 1, 1, 1, 3, false, true, HALF_KERNELS, "wide256x128", 1},
    {RY_f16, CASE_ROW_MAJOR, 24, 40, 1, 1, 1, 3, false, false, HALF_KERNELS, "wide256x128", 2},
};

static int64_t extent_of(const row *r, int64_t in)
{
    const int64_t field = (r->window - 1) * r->dilation, pad = r->window / 2;
    return r->transposed ? (in - 1) * r->stride - 2 * pad + field + 1
                         : (in + 2 * pad - field - 1) / r->stride + 1;
}

static void set_attributes(product_case *c, const row *r)
{
    const int64_t pad = r->window / 2;
    const ry_ints pads = {2 * AXES, {pad, pad, pad, pad}}, stride = {AXES, {r->stride, r->stride}},
                  dilation = {AXES, {r->dilation, r->dilation}};
    c->problem.attrs = ry_attrs_default(c->problem.op);
    if (r->transposed) {
        ry_convt_attrs *a = &c->problem.attrs.convt;
        a->pads = pads;
        a->stride = stride;
        a->dilation = dilation;
        a->groups = r->groups;
        return;
    }
    ry_conv_attrs *a = &c->problem.attrs.conv;
    a->pads = pads;
    a->stride = stride;
    a->dilation = dilation;
    a->groups = r->groups;
    a->activation = r->ends ? RY_activation_relu : a->activation;
}

static product_case case_of(const row *r, int64_t images, int64_t height, int64_t width)
{
    product_case c = {.problem = {.op = r->transposed ? RY_OP_convt : RY_OP_conv,
                                  .inputs = r->ends ? 4 : 3,
                                  .accuracy = RY_ACCURACY_bf16}};
    const int64_t in = r->groups * r->channels, out = r->groups * r->out;
    const int64_t y[] = {images, out, extent_of(r, height), extent_of(r, width)};
    set_attributes(&c, r);
    c.in[0] =
        case_tensor(r->type, 4, (const int64_t[]){images, in, height, width}, CASE_CHANNELS_LAST);
    c.in[1] =
        case_tensor(r->type, 4,
                    (const int64_t[]){r->transposed ? in : out,
                                      r->transposed ? r->out : r->channels, r->window, r->window},
                    CASE_ROW_MAJOR);
    c.in[2] = case_tensor(RY_f32, 1, &y[1], CASE_ROW_MAJOR);
    c.out[0] = case_tensor(r->type, 4, y, r->y);
    if (r->ends) {
        c.in[3] = c.out[0];
    }
    c.terms = (double)(r->channels * r->window * r->window);
    return c;
}

static bool has_wide_units(void)
{
    gpu_run_need();
    return strcmp(gpu_run_target()->machine->architecture, "sm_90a") == 0;
}

static void check_rows(size_t count, int64_t images, int64_t height, int64_t width)
{
    if (!has_wide_units()) {
        print_message("skipped: the device has no wide matrix units\n");
        skip();
    }
    for (size_t i = 0; i < count; i++) {
        product_case c = case_of(&rows[i], images, height, width);
        const char *reference = rows[i].transposed ? "convt_ref" : "conv_ref";
        int checked = 0;
        case_fill(&c);
        for (int k = 0; k < 2 && rows[i].kernel[k]; k++) {
            checked += gpu_product_check_word(&c, rows[i].kernel[k], reference, rows[i].tile,
                                              ry_dtype_size(rows[i].type));
        }
        if (checked != rows[i].forms) {
            fail_msg("row %zu: %d forms instead of %d", i, checked, rows[i].forms);
        }
        case_free(&c);
    }
}

static void every_tile(void **state)
{
    (void)state;
    check_rows(sizeof rows / sizeof *rows, 1, 5, 7);
}

/* Two tiles of positions, the last of 16. */
static void last_tiles(void **state)
{
    (void)state;
    check_rows(2, 2, 9, 8);
}

/* Three products of tf32 have no wide tile, nor has x of which chunks are not whole. */
static void others_are_declined(void **state)
{
    (void)state;
    if (!has_wide_units()) {
        skip();
    }
    static const row odd = {RY_f32, CASE_CHANNELS_LAST, 6,      70, 1, 1, 1, 3, false,
                            false,  F32_KERNELS,        "wide", 0};
    product_case c = case_of(&rows[0], 1, 5, 5), d = case_of(&odd, 1, 5, 5);
    case_fill(&c);
    case_fill(&d);
    assert_int_equal(gpu_product_check_word(&c, "conv_fwd_f32_units_gpu", "conv_ref", "wide", 0),
                     0);
    for (int k = 0; k < 2; k++) {
        assert_int_equal(gpu_product_check_word(&d, odd.kernel[k], "conv_ref", "wide", 0), 0);
    }
    case_free(&c);
    case_free(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_tile), cmocka_unit_test(last_tiles),
                                       cmocka_unit_test(others_are_declined)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
