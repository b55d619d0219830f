/* SPDX-License-Identifier: Apache-2.0 */
/* The rule of each operator of gradients.inc, on odd shapes, beside differences in f64; a rule
 * without a case fails. */
#include "gradient_cases_index.h"
#include "gradient_cases_move.h"
#include "gradient_cases_sample.h"
#include "gradient_cases_window.h"

#include "train/gradient.h"

static ry_value_id conv_case(gradient_case *c, const ry_conv_attrs *attrs, int rank,
                             const int64_t *x, const int64_t *w, bool bias)
{
    ry_attrs all = ry_attrs_default(RY_OP_conv);
    all.conv = *attrs;
    const ry_value_id in[3] = {gradient_input(c, rank, x), gradient_input(c, rank, w),
                               bias ? gradient_input(c, 1, w) : RY_NO_VALUE};
    return gradient_node(c, RY_OP_conv, &all, 3, in);
}

/* The last window ends before the last column, and before the last row. */
static ry_value_id conv_strided(gradient_case *c)
{
    ry_conv_attrs a = ry_attrs_default(RY_OP_conv).conv;
    a.stride = (ry_ints){2, {2, 3}};
    a.pads = (ry_ints){4, {1, 0, 0, 1}};
    return conv_case(c, &a, 4, (int64_t[]){2, 3, 7, 9}, (int64_t[]){4, 3, 3, 2}, true);
}

static ry_value_id conv_dilated_groups(gradient_case *c)
{
    ry_conv_attrs a = ry_attrs_default(RY_OP_conv).conv;
    a.dilation = (ry_ints){2, {2, 1}};
    a.pads = (ry_ints){4, {2, 1, 2, 1}};
    a.groups = 2;
    return conv_case(c, &a, 4, (int64_t[]){2, 4, 5, 6}, (int64_t[]){6, 2, 3, 3}, false);
}

static ry_value_id conv_depthwise_line(gradient_case *c)
{
    ry_conv_attrs a = ry_attrs_default(RY_OP_conv).conv;
    a.stride = (ry_ints){1, {2}};
    a.groups = 3;
    return conv_case(c, &a, 3, (int64_t[]){2, 3, 8}, (int64_t[]){3, 1, 3}, true);
}

static ry_value_id conv_volume(gradient_case *c)
{
    ry_conv_attrs a = ry_attrs_default(RY_OP_conv).conv;
    a.pads = (ry_ints){6, {1, 1, 0, 0, 1, 1}};
    return conv_case(c, &a, 5, (int64_t[]){1, 2, 3, 4, 3}, (int64_t[]){2, 2, 2, 3, 2}, true);
}

/* Weights that are no parameter, and a bias that is. */
static ry_value_id conv_frozen(gradient_case *c)
{
    const ry_value_id in[3] = {gradient_input(c, DIMS(2, 3, 5, 4)),
                               gradient_constant(c, -1, 1, DIMS(4, 3, 3, 3)),
                               gradient_input(c, DIMS(4))};
    return gradient_node(c, RY_OP_conv, NULL, 3, in);
}

static ry_value_id convt_case(gradient_case *c, const ry_convt_attrs *attrs, const int64_t *w,
                              int64_t channels)
{
    ry_attrs all = ry_attrs_default(RY_OP_convt);
    all.convt = *attrs;
    const ry_value_id in[3] = {gradient_input(c, DIMS(2, 4, 3, 4)), gradient_input(c, 4, w),
                               gradient_input(c, 1, &channels)};
    return gradient_node(c, RY_OP_convt, &all, 3, in);
}

static ry_value_id convt_strided(gradient_case *c)
{
    ry_convt_attrs a = ry_attrs_default(RY_OP_convt).convt;
    a.stride = (ry_ints){2, {2, 3}};
    a.output_padding = (ry_ints){2, {1, 2}};
    a.pads = (ry_ints){4, {1, 0, 0, 1}};
    return convt_case(c, &a, (int64_t[]){4, 3, 3, 2}, 3);
}

/* More output padding than the stride is. */
static ry_value_id convt_padded(gradient_case *c)
{
    ry_convt_attrs a = ry_attrs_default(RY_OP_convt).convt;
    a.output_padding = (ry_ints){2, {2, 0}};
    a.dilation = (ry_ints){2, {2, 2}};
    a.groups = 2;
    return convt_case(c, &a, (int64_t[]){4, 3, 2, 2}, 6);
}

static ry_value_id matmul_case(gradient_case *c, bool trans_a, bool trans_b, ry_value_id a,
                               ry_value_id b, ry_value_id added)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_matmul);
    attrs.matmul.trans_a = trans_a;
    attrs.matmul.trans_b = trans_b;
    attrs.matmul.alpha = 1.5;
    attrs.matmul.beta = 0.5;
    return gradient_node(c, RY_OP_matmul, &attrs, 3, (ry_value_id[]){a, b, added});
}

static ry_value_id gemm(gradient_case *c)
{
    const ry_value_id a = gradient_input(c, DIMS(3, 5)), b = gradient_input(c, DIMS(4, 5)),
                      d = gradient_input(c, DIMS(4));
    return matmul_case(c, false, true, a, b, d);
}

static ry_value_id gemm_transposed(gradient_case *c)
{
    const ry_value_id a = gradient_input(c, DIMS(5, 3)), b = gradient_input(c, DIMS(4, 5)),
                      d = gradient_input(c, DIMS(3, 1));
    return matmul_case(c, true, true, a, b, d);
}

static ry_value_id gemm_left_transposed(gradient_case *c)
{
    const ry_value_id a = gradient_input(c, DIMS(5, 3)), b = gradient_input(c, DIMS(5, 2));
    return matmul_case(c, true, false, a, b, RY_NO_VALUE);
}

static ry_value_id matmul_rows(gradient_case *c)
{
    const ry_value_id a = gradient_input(c, DIMS(2, 3, 2, 4)), b = gradient_input(c, DIMS(4, 3));
    return matmul_case(c, false, false, a, b, RY_NO_VALUE);
}

static ry_value_id matmul_broadcast(gradient_case *c)
{
    const ry_value_id a = gradient_input(c, DIMS(3, 1, 2, 4)), b = gradient_input(c, DIMS(2, 4, 3)),
                      d = gradient_input(c, DIMS(2, 1, 3));
    return matmul_case(c, false, false, a, b, d);
}

static ry_value_id matmul_row(gradient_case *c)
{
    const ry_value_id a = gradient_input(c, DIMS(4)), b = gradient_input(c, DIMS(2, 4, 3));
    return matmul_case(c, false, false, a, b, RY_NO_VALUE);
}

static ry_value_id matmul_column(gradient_case *c)
{
    const ry_value_id a = gradient_input(c, DIMS(2, 3, 4)), b = gradient_input(c, DIMS(4));
    return matmul_case(c, false, false, a, b, RY_NO_VALUE);
}

static ry_value_id matmul_dot(gradient_case *c)
{
    const ry_value_id a = gradient_input(c, DIMS(4)), b = gradient_input(c, DIMS(4));
    return matmul_case(c, false, false, a, b, RY_NO_VALUE);
}

static ry_value_id batch_norm_frozen(gradient_case *c)
{
    const ry_value_id in[5] = {gradient_input(c, DIMS(2, 3, 2, 3)), gradient_input(c, DIMS(3)),
                               gradient_input(c, DIMS(3)), gradient_constant(c, -1, 1, DIMS(3)),
                               gradient_constant(c, 0.5, 1, DIMS(3))};
    return gradient_node(c, RY_OP_batch_norm, NULL, 5, in);
}

static ry_value_id batch_norm_computed(gradient_case *c)
{
    const ry_value_id in[5] = {gradient_input(c, DIMS(2, 3, 2, 3)), gradient_input(c, DIMS(3)),
                               gradient_input(c, DIMS(3)), gradient_input(c, DIMS(3)),
                               gradient_input_between(c, 0.5, 1, DIMS(3))};
    return gradient_node(c, RY_OP_batch_norm, NULL, 5, in);
}

static ry_value_id batch_norm_by_position(gradient_case *c)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_batch_norm);
    attrs.batch_norm.spatial = 0;
    const ry_value_id in[5] = {gradient_input(c, DIMS(3, 2, 3)), gradient_input(c, DIMS(2, 3)),
                               gradient_input(c, DIMS(2, 3)),
                               gradient_constant(c, -1, 1, DIMS(2, 3)),
                               gradient_constant(c, 0.5, 1, DIMS(2, 3))};
    return gradient_node(c, RY_OP_batch_norm, &attrs, 5, in);
}

static ry_value_id group_norm_case(gradient_case *c, int64_t groups)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_group_norm);
    attrs.group_norm.groups = groups;
    const ry_value_id in[3] = {gradient_input(c, DIMS(2, 6, 3, 2)), gradient_input(c, DIMS(6)),
                               gradient_input(c, DIMS(6))};
    return gradient_node(c, RY_OP_group_norm, &attrs, 3, in);
}

static ry_value_id group_norm(gradient_case *c)
{
    return group_norm_case(c, 3);
}

static ry_value_id instance_norm(gradient_case *c)
{
    return group_norm_case(c, 6);
}

static ry_value_id layer_norm_case(gradient_case *c, bool rms, bool affine)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_layer_norm);
    attrs.layer_norm.axis = 1;
    attrs.layer_norm.rms = rms;
    const ry_value_id x = gradient_input(c, DIMS(3, 2, 5));
    return gradient_node(c, RY_OP_layer_norm, &attrs, 3,
                         (ry_value_id[]){x, affine ? gradient_input(c, DIMS(2, 5)) : RY_NO_VALUE,
                                         affine ? gradient_input(c, DIMS(1, 5)) : RY_NO_VALUE});
}

static ry_value_id layer_norm(gradient_case *c)
{
    return layer_norm_case(c, false, true);
}

static ry_value_id rms_norm(gradient_case *c)
{
    return layer_norm_case(c, true, true);
}

static ry_value_id layer_norm_plain(gradient_case *c)
{
    return layer_norm_case(c, false, false);
}

static ry_value_id dropout(gradient_case *c)
{
    const double steps = 5;
    ry_attrs attrs = ry_attrs_default(RY_OP_dropout);
    attrs.dropout = (ry_dropout_attrs){.ratio = 0.4, .seed = 3, .stream = 8};
    const ry_value_id x = gradient_input(c, DIMS(3, 4, 5)),
                      step = ry_graph_add_scalar(c->graph, RY_f64, steps);
    return gradient_node(c, RY_OP_dropout, &attrs, 2, (ry_value_id[]){x, step});
}

static ry_value_id lrn(gradient_case *c)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_lrn);
    attrs.lrn = (ry_lrn_attrs){.size = 4, .alpha = 0.7, .beta = 0.6, .bias = 1.3};
    const ry_value_id x = gradient_input(c, DIMS(2, 7, 2, 3));
    return gradient_node(c, RY_OP_lrn, &attrs, 1, &x);
}

static ry_value_id softmax_case(gradient_case *c, ry_softmax_kind kind, int64_t axis, bool flatten)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_softmax);
    attrs.softmax = (ry_softmax_attrs){.kind = kind, .axis = axis, .flatten = flatten};
    const ry_value_id x = gradient_input(c, DIMS(2, 3, 4));
    return gradient_node(c, RY_OP_softmax, &attrs, 1, &x);
}

static ry_value_id softmax(gradient_case *c)
{
    return softmax_case(c, RY_softmax_kind_softmax, 1, false);
}

static ry_value_id softmax_flat(gradient_case *c)
{
    return softmax_case(c, RY_softmax_kind_softmax, 1, true);
}

static ry_value_id log_softmax(gradient_case *c)
{
    return softmax_case(c, RY_softmax_kind_log_softmax, -1, false);
}

static ry_value_id hardmax(gradient_case *c)
{
    return softmax_case(c, RY_softmax_kind_hardmax, -1, false);
}

static ry_value_id expr_broadcast(gradient_case *c)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_expr);
    assert_int_equal(ry_expr_parse("mean(x0 * tanh(x1) + x0 / x2)", NULL, 0, &c->graph->arena,
                                   &attrs.expr.program, &c->error),
                     RYND_OK);
    attrs.expr.axes = (ry_ints){2, {0, 2}};
    const ry_value_id in[3] = {gradient_input(c, DIMS(2, 3, 4)), gradient_input(c, DIMS(3, 1)),
                               gradient_input_between(c, 1, 2, DIMS(4))};
    return gradient_node(c, RY_OP_expr, &attrs, 3, in);
}

#define CASE(op, build)           \
    {                             \
        RY_OP_##op, #build, build \
    }

static const struct {
    ry_op op;
    const char *name;
    gradient_build *build;
} cases[] = {
    CASE(expr, expr_broadcast),
    CASE(conv, conv_strided),
    CASE(conv, conv_dilated_groups),
    CASE(conv, conv_depthwise_line),
    CASE(conv, conv_volume),
    CASE(conv, conv_frozen),
    CASE(convt, convt_strided),
    CASE(convt, convt_padded),
    CASE(matmul, gemm),
    CASE(matmul, gemm_transposed),
    CASE(matmul, gemm_left_transposed),
    CASE(matmul, matmul_rows),
    CASE(matmul, matmul_broadcast),
    CASE(matmul, matmul_row),
    CASE(matmul, matmul_column),
    CASE(matmul, matmul_dot),
    CASE(batch_norm, batch_norm_frozen),
    CASE(batch_norm, batch_norm_computed),
    CASE(batch_norm, batch_norm_by_position),
    CASE(batch_norm_train, trained_norm_plain),
    CASE(batch_norm_train, trained_norm_relu),
    CASE(batch_norm_train, trained_norm_clip),
    CASE(batch_norm_train, trained_norm_residual),
    CASE(pool, pool_largest),
    CASE(pool, pool_average),
    CASE(pool, pool_average_with_pad),
    CASE(pool, pool_norm),
    CASE(pool, pool_same),
    CASE(resize, resize_nearest),
    CASE(resize, resize_linear),
    CASE(resize, resize_cubic),
    CASE(grid_sample, grid_linear_zeros_centres),
    CASE(grid_sample, grid_linear_zeros_corners),
    CASE(grid_sample, grid_linear_border_centres),
    CASE(grid_sample, grid_linear_border_corners),
    CASE(grid_sample, grid_linear_reflection_centres),
    CASE(grid_sample, grid_linear_reflection_corners),
    CASE(grid_sample, grid_cubic_zeros_centres),
    CASE(grid_sample, grid_cubic_zeros_corners),
    CASE(grid_sample, grid_cubic_border_centres),
    CASE(grid_sample, grid_cubic_border_corners),
    CASE(grid_sample, grid_cubic_reflection_centres),
    CASE(grid_sample, grid_cubic_reflection_corners),
    CASE(grid_sample, grid_nearest_zeros_centres),
    CASE(grid_sample, grid_nearest_border_corners),
    CASE(grid_sample, grid_nearest_reflection_centres),
    CASE(grid_sample, grid_line),
    CASE(grid_sample, grid_volume),
    CASE(grid_sample, grid_narrow),
    CASE(affine_grid, affine_plane),
    CASE(affine_grid, affine_volume),
    CASE(roi_align, region_centres),
    CASE(roi_align, region_old),
    CASE(deform_columns, columns_plain),
    CASE(deform_columns, columns_masked),
    CASE(deform_columns, columns_groups),
    CASE(deform_columns, columns_few_offsets),
    CASE(col2im, blocks_padded),
    CASE(col2im, blocks_line),
    CASE(group_norm, group_norm),
    CASE(group_norm, instance_norm),
    CASE(layer_norm, layer_norm),
    CASE(layer_norm, rms_norm),
    CASE(layer_norm, layer_norm_plain),
    CASE(dropout, dropout),
    CASE(lrn, lrn),
    CASE(softmax, softmax),
    CASE(softmax, softmax_flat),
    CASE(softmax, log_softmax),
    CASE(softmax, hardmax),
    CASE(gather, gather_first),
    CASE(gather, gather_middle),
    CASE(gather, gather_one),
    CASE(gather_elements, gather_elements),
    CASE(gather_nd, gather_nd),
    CASE(scatter_elements, scatter_elements),
    CASE(scatter_elements, scatter_elements_adds),
    CASE(scatter_nd, scatter_nd),
    CASE(scatter_nd, scatter_nd_adds),
    CASE(max_unpool, max_unpool),
    CASE(topk, topk),
    CASE(cumsum, cumsum),
    CASE(cumsum, cumsum_exclusive),
    CASE(cumsum, cumsum_reverse),
    CASE(trilu, trilu),
    CASE(reverse_sequence, reverse_sequence),
    CASE(einsum, einsum_product),
    CASE(einsum, einsum_implied),
    CASE(einsum, einsum_alone),
    CASE(einsum, einsum_ellipsis),
    CASE(einsum, einsum_deepest),
    CASE(concat, concat),
    CASE(split, split),
    CASE(slice, slice),
    CASE(slice, slice_steps),
    CASE(slice, slice_flipped),
    CASE(pad, pad_constant),
    CASE(pad, pad_reflect),
    CASE(pad, pad_edge),
    CASE(pad, pad_wrap),
    CASE(tile, tile),
    CASE(expand, expand),
    CASE(transpose, transpose),
    CASE(depth_to_space, depth_to_space),
    CASE(space_to_depth, space_to_depth),
    CASE(reshape, reshape),
    CASE(flatten, flatten),
    CASE(squeeze, squeeze),
    CASE(unsqueeze, unsqueeze),
    CASE(identity, identity),
    CASE(copy, copy),
};

static void gradients_agree_with_differences(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gradient_case_run(cases[i].name, cases[i].build);
    }
}

static void every_rule_has_a_case(void **state)
{
    (void)state;
    for (ry_op op = 0; op < RY_OPS; op++) {
        bool found = !ry_gradient_rule_of(op);
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            found |= cases[i].op == op;
        }
        if (!found) {
            fail_msg("%s has a gradient, but no case here", ry_op_name(op));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_agree_with_differences),
        cmocka_unit_test(every_rule_has_a_case),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
