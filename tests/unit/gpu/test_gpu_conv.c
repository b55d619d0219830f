/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of GPUs against the reference on random odd shapes: any rank, stride, dilation,
 * groups, padding, layout, type, epilogue. */
#include "gpu_product.h"
#include "gpu_run.h"
#include "machine/machine.h"
#include "random_conv.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static int check_case(product_case *c, int forms)
{
    const bool forward = c->problem.op == RY_OP_conv;
    const char *reference = forward ? "conv_ref" : "convt_ref";
    c->problem.accuracy = RY_ACCURACY_strict;
    case_fill(c);
    const int checked =
        gpu_product_check(c, forward ? "conv_fwd_f32_igemm_gpu" : "convt_fwd_f32_igemm_gpu",
                          reference, forms) +
        gpu_product_check(c, forward ? "conv_fwd_f32_depthwise_gpu" : "convt_fwd_f32_depthwise_gpu",
                          reference, forms);
    case_free(c);
    return checked;
}

enum { UNITS_KERNELS = 4 };
static const char *const units_kernels[][UNITS_KERNELS] = {
    {"conv_fwd_half_units_gpu", "conv_fwd_tf32_units_gpu", "conv_fwd_bf16_units_gpu",
     "conv_fwd_f32_units_gpu"},
    {"convt_fwd_half_units_gpu", "convt_fwd_tf32_units_gpu", "convt_fwd_bf16_units_gpu",
     "convt_fwd_f32_units_gpu"}};

/* The kernels of matrix units: a device without them takes none. */
static int check_units(product_case *c, int forms)
{
    const bool forward = c->problem.op == RY_OP_conv;
    int checked = 0;
    c->problem.accuracy = RY_ACCURACY_bf16;
    case_fill(c);
    for (int i = 0; i < UNITS_KERNELS; i++) {
        checked += gpu_product_check(c, units_kernels[!forward][i],
                                     forward ? "conv_ref" : "convt_ref", forms);
    }
    case_free(c);
    return checked;
}

static bool has_matrix_units(void)
{
    gpu_run_need();
    return gpu_run_target()->machine->matrix_units != 0;
}

static void check_many(int count, conv_limits l)
{
    gpu_run_need();
    int checked = 0;
    for (int i = 0; i < count; i++) {
        product_case c;
        if (random_conv(&c, &l)) {
            checked += check_case(&c, 1);
        }
    }
    assert_true(checked >= count / 2);
}

static void test_small(void **state)
{
    (void)state;
    check_many(5, (conv_limits){.channels = 9, .size = 12, .kernel = 5, .dtype = RY_f32});
}

static void test_channels(void **state)
{
    (void)state;
    check_many(8, (conv_limits){.channels = 70, .size = 12, .kernel = 3, .dtype = RY_f32});
    check_many(4, (conv_limits){
                      .channels = 150, .size = 9, .kernel = 1, .dtype = RY_f32, .pointwise = true});
}

static void test_large_images(void **state)
{
    (void)state;
    check_many(5, (conv_limits){.channels = 5, .size = 40, .kernel = 11, .dtype = RY_f32});
}

static void test_strided(void **state)
{
    (void)state;
    check_many(
        5, (conv_limits){.channels = 20, .size = 17, .kernel = 3, .dtype = RY_f32, .stride = 5});
}

static void test_transposed(void **state)
{
    (void)state;
    check_many(10, (conv_limits){.channels = 20,
                                 .size = 9,
                                 .kernel = 5,
                                 .dtype = RY_f32,
                                 .stride = 3,
                                 .transposed = true});
    check_many(5, (conv_limits){
                      .channels = 9, .size = 9, .kernel = 4, .dtype = RY_f32, .transposed = true});
    check_many(5, (conv_limits){.channels = 9,
                                .size = 9,
                                .kernel = 4,
                                .dtype = RY_f32,
                                .transposed = true,
                                .phases = true});
}

static void test_half_types(void **state)
{
    (void)state;
    check_many(4, (conv_limits){.channels = 20, .size = 12, .kernel = 3, .dtype = RY_f16});
    check_many(4, (conv_limits){.channels = 20, .size = 12, .kernel = 3, .dtype = RY_bf16});
}

/* Every tile and every number of groups that share a sum, in both layouts. */
static void test_forms(void **state)
{
    (void)state;
    gpu_run_need();
    for (int layout = 0; layout < 2; layout++) {
        product_case c = {.problem = {.op = RY_OP_conv, .inputs = 4}};
        const case_layout l = layout ? CASE_CHANNELS_LAST : CASE_ROW_MAJOR;
        c.problem.attrs = ry_attrs_default(RY_OP_conv);
        c.problem.attrs.conv.pads = (ry_ints){4, {1, 1, 1, 1}};
        c.problem.attrs.conv.activation = RY_activation_relu;
        c.in[0] = case_tensor(RY_f32, 4, (const int64_t[]){2, 23, 9, 13}, l);
        c.in[1] = case_tensor(RY_f32, 4, (const int64_t[]){137, 23, 3, 3}, CASE_ROW_MAJOR);
        c.in[2] = case_tensor(RY_f32, 1, (const int64_t[]){137}, CASE_ROW_MAJOR);
        c.in[3] = c.out[0] = case_tensor(RY_f32, 4, (const int64_t[]){2, 137, 9, 13}, l);
        c.terms = 23 * 9;
        assert_true(check_case(&c, 0) > 20);
    }
}

/* On odd shapes: where a device has no matrix units, none of their kernels takes anything. */
static void test_matrix_units(void **state)
{
    (void)state;
    static const conv_limits limits[] = {
        {.channels = 9, .size = 12, .kernel = 5, .dtype = RY_f32},
        {.channels = 70, .size = 12, .kernel = 3, .dtype = RY_f32},
        {.channels = 150, .size = 9, .kernel = 1, .dtype = RY_f32, .pointwise = true},
        {.channels = 20, .size = 17, .kernel = 3, .dtype = RY_f32, .stride = 5},
        {.channels = 40, .size = 12, .kernel = 3, .dtype = RY_f16},
        {.channels = 40, .size = 12, .kernel = 3, .dtype = RY_bf16},
        {.channels = 20, .size = 9, .kernel = 5, .dtype = RY_f32, .stride = 3, .transposed = true},
        {.channels = 20, .size = 9, .kernel = 4, .dtype = RY_f16, .transposed = true},
    };
    const bool there = has_matrix_units();
    int checked = 0;
    for (size_t i = 0; i < 3 * sizeof limits / sizeof *limits; i++) {
        product_case c;
        if (random_conv(&c, &limits[i / 3])) {
            checked += check_units(&c, 1);
        }
    }
    assert_true(there ? checked > 30 : checked == 0);
}

/* Every tile and split of matrix units, in both layouts and every type. */
static void test_matrix_unit_forms(void **state)
{
    (void)state;
    static const ry_dtype types[] = {RY_f32, RY_f16, RY_bf16};
    for (int i = 0; has_matrix_units() && i < 6; i++) {
        product_case c = {.problem = {.op = RY_OP_conv, .inputs = 4}};
        const case_layout l = i % 2 ? CASE_CHANNELS_LAST : CASE_ROW_MAJOR;
        const ry_dtype type = types[i / 2];
        c.problem.attrs = ry_attrs_default(RY_OP_conv);
        c.problem.attrs.conv.pads = (ry_ints){4, {1, 1, 1, 1}};
        c.problem.attrs.conv.groups = 2;
        c.problem.attrs.conv.activation = RY_activation_relu;
        c.in[0] = case_tensor(type, 4, (const int64_t[]){2, 30, 5, 13}, l);
        c.in[1] = case_tensor(type, 4, (const int64_t[]){142, 15, 3, 3}, CASE_ROW_MAJOR);
        c.in[2] = case_tensor(RY_f32, 1, (const int64_t[]){142}, CASE_ROW_MAJOR);
        c.in[3] = c.out[0] = case_tensor(RY_f32, 4, (const int64_t[]){2, 142, 5, 13}, l);
        c.terms = 15 * 9;
        assert_true(check_units(&c, 0) > 14);
    }
}

/* Forms whose tiles are copied: chunks of neighbouring channels, taps that share a tile and tiles that
 * share a tap, rows and columns beyond the last. */
static void test_copied_forms(void **state)
{
    (void)state;
    static const struct {
        ry_dtype type;
        case_layout y;
        int64_t channels, stride;
        bool forward;
    } rows[] = {
        {RY_f32, CASE_CHANNELS_LAST, 8, 1, true},   {RY_bf16, CASE_CHANNELS_LAST, 8, 2, true},
        {RY_f16, CASE_ROW_MAJOR, 40, 1, true},      {RY_f32, CASE_ROW_MAJOR, 36, 1, true},
        {RY_f16, CASE_CHANNELS_LAST, 64, 2, false}, {RY_f32, CASE_CHANNELS_LAST, 32, 2, false}};
    for (size_t i = 0; has_matrix_units() && i < sizeof rows / sizeof *rows; i++) {
        const bool forward = rows[i].forward;
        const int64_t in = rows[i].channels, stride = rows[i].stride, out = 70;
        const int64_t height = forward ? (5 - 1) / stride + 1 : (5 - 1) * stride + 1,
                      width = forward ? (13 - 1) / stride + 1 : (13 - 1) * stride + 1;
        product_case c = {.problem = {.op = forward ? RY_OP_conv : RY_OP_convt, .inputs = 3}};
        c.problem.attrs = ry_attrs_default(c.problem.op);
        ry_conv_attrs *conv = &c.problem.attrs.conv;
        ry_convt_attrs *convt = &c.problem.attrs.convt;
        *(forward ? &conv->pads : &convt->pads) = (ry_ints){4, {1, 1, 1, 1}};
        *(forward ? &conv->stride : &convt->stride) = (ry_ints){2, {stride, stride}};
        *(forward ? &conv->groups : &convt->groups) = 2;
        c.in[0] =
            case_tensor(rows[i].type, 4, (const int64_t[]){2, 2 * in, 5, 13}, CASE_CHANNELS_LAST);
        c.in[1] =
            case_tensor(rows[i].type, 4,
                        (const int64_t[]){forward ? 2 * out : 2 * in, forward ? in : out, 3, 3},
                        CASE_ROW_MAJOR);
        c.in[2] = case_tensor(RY_f32, 1, (const int64_t[]){2 * out}, CASE_ROW_MAJOR);
        c.out[0] =
            case_tensor(rows[i].type, 4, (const int64_t[]){2, 2 * out, height, width}, rows[i].y);
        c.terms = (double)(in * 9);
        c.problem.accuracy = RY_ACCURACY_bf16;
        case_fill(&c);
        int checked = 0;
        for (int k = 0; k < UNITS_KERNELS; k++) {
            checked += gpu_product_check_word(&c, units_kernels[!forward][k],
                                              forward ? "conv_ref" : "convt_ref", "copied",
                                              ry_dtype_size(rows[i].type));
        }
        assert_true(checked >= (rows[i].type == RY_f32 ? 12 : 4));
        case_free(&c);
    }
}

/* The same of positions beside each other: floats of shifted taps, chunks of one tap, terms and columns that end
 * within a tile, images that end within one. */
static void test_copied_across(void **state)
{
    (void)state;
    static const struct {
        ry_dtype type;
        int64_t channels, height, width, window, stride;
    } rows[] = {{RY_f32, 32, 5, 13, 3, 1}, {RY_f32, 32, 6, 7, 3, 2}, {RY_f32, 19, 6, 6, 1, 1},
                {RY_f32, 35, 5, 7, 1, 2},  {RY_f16, 44, 8, 7, 1, 1}, {RY_bf16, 64, 4, 6, 1, 1},
                {RY_f32, 48, 9, 8, 1, 1}};
    for (size_t i = 0; has_matrix_units() && i < sizeof rows / sizeof *rows; i++) {
        const int64_t in = rows[i].channels, window = rows[i].window, stride = rows[i].stride,
                      pad = window / 2, out = 70, height = (rows[i].height - 1) / stride + 1,
                      width = (rows[i].width - 1) / stride + 1;
        product_case c = {.problem = {.op = RY_OP_conv, .inputs = 3}};
        c.problem.attrs = ry_attrs_default(RY_OP_conv);
        c.problem.attrs.conv.pads = (ry_ints){4, {pad, pad, pad, pad}};
        c.problem.attrs.conv.stride = (ry_ints){2, {stride, stride}};
        c.problem.attrs.conv.groups = 2;
        c.in[0] = case_tensor(rows[i].type, 4,
                              (const int64_t[]){3, 2 * in, rows[i].height, rows[i].width},
                              CASE_ROW_MAJOR);
        c.in[1] = case_tensor(rows[i].type, 4, (const int64_t[]){2 * out, in, window, window},
                              CASE_ROW_MAJOR);
        c.in[2] = case_tensor(RY_f32, 1, (const int64_t[]){2 * out}, CASE_ROW_MAJOR);
        c.out[0] = case_tensor(rows[i].type, 4, (const int64_t[]){3, 2 * out, height, width},
                               i % 2 ? CASE_CHANNELS_LAST : CASE_ROW_MAJOR);
        c.terms = (double)(in * window * window);
        c.problem.accuracy = RY_ACCURACY_bf16;
        case_fill(&c);
        int checked = 0;
        for (int k = 0; k < UNITS_KERNELS; k++) {
            checked += gpu_product_check_word(&c, units_kernels[0][k], "conv_ref", "copied",
                                              ry_dtype_size(rows[i].type));
        }
        assert_true(checked >= (rows[i].type == RY_f32 ? 12 : 4));
        case_free(&c);
    }
}

static int check_groups(int64_t groups, int64_t in, int64_t out, int64_t window, int64_t stride,
                        ry_op op, case_layout layout)
{
    const bool forward = op == RY_OP_conv;
    const int64_t height = case_between(5, 15), width = case_between(5, 40), pad = window / 2;
    product_case c = {.problem = {.op = op, .inputs = 3}};
    c.problem.attrs = ry_attrs_default(op);
    ry_conv_attrs *conv = &c.problem.attrs.conv;
    ry_convt_attrs *convt = &c.problem.attrs.convt;
    *(forward ? &conv->pads : &convt->pads) = (ry_ints){4, {pad, pad, pad, pad}};
    *(forward ? &conv->stride : &convt->stride) = (ry_ints){2, {stride, stride}};
    *(forward ? &conv->groups : &convt->groups) = groups;
    const int64_t x[4] = {2, groups * in, height, width};
    const int64_t w[4] = {groups * (forward ? out : in), forward ? in : out, window, window};
    const int64_t y[4] = {2, groups * out,
                          forward ? (height + 2 * pad - window) / stride + 1
                                  : (height - 1) * stride - 2 * pad + window,
                          forward ? (width + 2 * pad - window) / stride + 1
                                  : (width - 1) * stride - 2 * pad + window};
    c.in[0] = case_tensor(RY_f32, 4, x, layout);
    c.in[1] = case_tensor(RY_f32, 4, w, CASE_ROW_MAJOR);
    c.in[2] = case_tensor(RY_f32, 1, y + 1, CASE_ROW_MAJOR);
    c.out[0] = case_tensor(RY_f32, 4, y, layout);
    c.terms = (double)(in * window * window);
    return check_case(&c, 1);
}

/* Groups of few input channels, some outputs a work-item. */
static void test_depthwise(void **state)
{
    (void)state;
    gpu_run_need();
    for (int i = 0; i < 12; i++) {
        const int64_t in = i % 3 ? 1 : case_between(2, 4), window = i % 4 == 3 ? 2 : i % 4 * 2 + 1;
        assert_true(check_groups(case_between(2, 40), in, case_between(1, 3), window, 1 + i % 5 / 3,
                                 i % 6 == 5 ? RY_OP_convt : RY_OP_conv,
                                 (case_layout)(i % CASE_LAYOUTS)) > 1);
    }
    /* four channels an item */
    for (int64_t window = 3; window <= 5; window += 2) {
        assert_true(check_groups(8, 1, 1, window, 1 + window / 5, RY_OP_conv, CASE_CHANNELS_LAST) >
                    1);
    }
}

/* What an item sums in vectors on processors: parts of rows, residues of strides, channels that share a
 * copy, few columns, in all forms, with everything that is fused. */
static void test_vectors(void **state)
{
    static const struct {
        int64_t groups, in, out, height, width, window, stride, dilation;
    } rows[] = {{3, 1, 1, 6, 300, 3, 1, 1}, {1, 3, 19, 9, 37, 5, 2, 1}, {20, 1, 2, 7, 7, 3, 1, 1},
                {5, 2, 3, 12, 61, 3, 1, 2}, {33, 1, 1, 9, 40, 3, 2, 1}, {2, 1, 9, 13, 16, 3, 3, 2},
                {16, 1, 1, 1, 65, 1, 1, 1}, {7, 1, 1, 11, 1, 3, 1, 1}};
    (void)state;
    gpu_run_need();
    for (size_t i = 0; i < 2 * sizeof rows / sizeof *rows; i++) {
        const int64_t groups = rows[i / 2].groups, in = rows[i / 2].in, out = rows[i / 2].out,
                      window = rows[i / 2].window, stride = rows[i / 2].stride,
                      dilation = rows[i / 2].dilation, field = (window - 1) * dilation,
                      pad = field / 2;
        const case_layout layout = i % 2 ? CASE_CHANNELS_LAST : CASE_ROW_MAJOR;
        product_case c = {.problem = {.op = RY_OP_conv, .inputs = 4}};
        c.problem.attrs = ry_attrs_default(RY_OP_conv);
        c.problem.attrs.conv.pads = (ry_ints){4, {pad, pad, pad, pad}};
        c.problem.attrs.conv.stride = (ry_ints){2, {stride, stride}};
        c.problem.attrs.conv.dilation = (ry_ints){2, {dilation, dilation}};
        c.problem.attrs.conv.groups = groups;
        c.problem.attrs.conv.activation = RY_activation_relu;
        c.problem.accuracy = RY_ACCURACY_strict;
        const int64_t x[4] = {2, groups * in, rows[i / 2].height, rows[i / 2].width},
                      y[4] = {2, groups * out, (x[2] + 2 * pad - field - 1) / stride + 1,
                              (x[3] + 2 * pad - field - 1) / stride + 1};
        c.in[0] = case_tensor(RY_f32, 4, x, layout);
        c.in[1] =
            case_tensor(RY_f32, 4, (const int64_t[]){y[1], in, window, window}, CASE_ROW_MAJOR);
        c.in[2] = case_tensor(RY_f32, 1, y + 1, CASE_ROW_MAJOR);
        c.in[3] = c.out[0] = case_tensor(RY_f32, 4, y, layout);
        c.terms = (double)(in * window * window);
        case_fill(&c);
        assert_true(gpu_product_check(&c, "conv_fwd_f32_depthwise_gpu", "conv_ref", 0) > 1);
        case_free(&c);
    }
}

/* A layer of 3x3 taps with odd sizes, padding and everything that is fused. */
static product_case winograd_case(ry_dtype type, case_layout layout)
{
    product_case c = {.problem = {.op = RY_OP_conv, .inputs = 4}};
    c.problem.attrs = ry_attrs_default(RY_OP_conv);
    c.problem.attrs.conv.pads = (ry_ints){4, {1, 0, 2, 1}};
    c.problem.attrs.conv.activation = RY_activation_relu;
    c.problem.accuracy = RY_ACCURACY_near32;
    c.in[0] = case_tensor(type, 4, (const int64_t[]){2, 23, 9, 13}, layout);
    c.in[1] = case_tensor(type, 4, (const int64_t[]){37, 23, 3, 3}, CASE_ROW_MAJOR);
    c.in[2] = case_tensor(RY_f32, 1, (const int64_t[]){37}, CASE_ROW_MAJOR);
    c.in[3] = c.out[0] = case_tensor(type, 4, (const int64_t[]){2, 37, 10, 12}, layout);
    c.terms = 23 * 9;
    return c;
}

/* The same as a transposed convolution, as a data gradient is. */
static product_case winograd_transposed(ry_dtype type, case_layout layout)
{
    product_case c = winograd_case(type, layout);
    c.problem.op = RY_OP_convt;
    c.problem.attrs = ry_attrs_default(RY_OP_convt);
    c.problem.attrs.convt.pads = (ry_ints){4, {1, 0, 2, 1}};
    c.problem.attrs.convt.activation = RY_activation_relu;
    c.in[1] = case_tensor(RY_f32, 4, (const int64_t[]){23, 37, 3, 3}, CASE_ROW_MAJOR);
    c.in[3] = c.out[0] = case_tensor(type, 4, (const int64_t[]){2, 37, 8, 14}, layout);
    return c;
}

/* Winograd's form in every one of its forms, in both layouts. */
static void test_winograd_forms(void **state)
{
    (void)state;
    gpu_run_need();
    for (int i = 0; i < 2; i++) {
        product_case c = winograd_case(RY_f32, i ? CASE_CHANNELS_LAST : CASE_ROW_MAJOR);
        case_fill(&c);
        assert_true(gpu_product_check(&c, "conv_fwd_f32_winograd_gpu", "conv_ref", 0) > 10);
        assert_true(gpu_product_check(&c, "conv_fwd_f32_winograd_strict_gpu", "conv_ref", 0) > 5);
        case_free(&c);
    }
}

static void test_winograd_transposed(void **state)
{
    (void)state;
    gpu_run_need();
    for (case_layout layout = 0; layout < CASE_LAYOUTS; layout++) {
        product_case c = winograd_transposed(RY_f32, layout);
        case_fill(&c);
        assert_true(gpu_product_check(&c, "convt_fwd_f32_winograd_gpu", "convt_ref", 2) == 3);
        assert_true(gpu_product_check(&c, "convt_fwd_f32_winograd_strict_gpu", "convt_ref", 1) ==
                    2);
        case_free(&c);
    }
}

/* Other types, and gaps between elements. */
static void test_winograd_types(void **state)
{
    (void)state;
    static const ry_dtype types[] = {RY_f16, RY_bf16, RY_f32};
    gpu_run_need();
    for (int i = 0; i < 3; i++) {
        product_case c = winograd_case(types[i], CASE_STRIDED);
        case_fill(&c);
        assert_true(gpu_product_check(&c, "conv_fwd_f32_winograd_gpu", "conv_ref", 1) == 2);
        case_free(&c);
    }
}

/* What has another window than its text is written for is declined. */
static void test_winograd_declines(void **state)
{
    (void)state;
    gpu_run_need();
    for (int i = 0; i < 3; i++) {
        product_case c = winograd_case(RY_f32, CASE_ROW_MAJOR);
        c.problem.in = c.in;
        c.problem.out = c.out;
        c.problem.outputs = 1;
        ry_conv_attrs *conv = &c.problem.attrs.conv;
        c.problem.inputs = 2;
        assert_true(ry_kernel_takes(every_kernel_find("conv_fwd_f32_winograd_gpu"), &c.problem,
                                    gpu_run_target()));
        if (i == 0) {
            conv->stride = (ry_ints){2, {2, 2}};
            c.out[0] = case_tensor(RY_f32, 4, (const int64_t[]){2, 37, 5, 6}, CASE_ROW_MAJOR);
        } else if (i == 1) {
            conv->dilation = (ry_ints){2, {2, 2}};
            c.out[0] = case_tensor(RY_f32, 4, (const int64_t[]){2, 37, 8, 10}, CASE_ROW_MAJOR);
        } else {
            conv->groups = 23;
            c.in[1] = case_tensor(RY_f32, 4, (const int64_t[]){46, 1, 3, 3}, CASE_ROW_MAJOR);
            c.out[0] = case_tensor(RY_f32, 4, (const int64_t[]){2, 46, 10, 12}, CASE_ROW_MAJOR);
        }
        assert_false(ry_kernel_takes(every_kernel_find("conv_fwd_f32_winograd_gpu"), &c.problem,
                                     gpu_run_target()));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small),
        cmocka_unit_test(test_channels),
        cmocka_unit_test(test_large_images),
        cmocka_unit_test(test_strided),
        cmocka_unit_test(test_transposed),
        cmocka_unit_test(test_half_types),
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_depthwise),
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_matrix_units),
        cmocka_unit_test(test_matrix_unit_forms),
        cmocka_unit_test(test_copied_forms),
        cmocka_unit_test(test_copied_across),
        cmocka_unit_test(test_winograd_forms),
        cmocka_unit_test(test_winograd_types),
        cmocka_unit_test(test_winograd_declines),
        cmocka_unit_test(test_winograd_transposed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
