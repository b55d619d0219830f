/* SPDX-License-Identifier: Apache-2.0 */
/* Which values have channels: images and what is elementwise with them; neither attention's scores
 * nor rows of tokens nor what a transpose makes. */
#include "small_net.h"

#include "plan/channels.h"

static ry_value_id input_of(small_net *n, int rank, const int64_t *dim)
{
    const ry_shape shape = ry_shape_of(rank, dim);
    const ry_value_id v = ry_graph_add_value(n->builder.graph, NULL, RY_f32, &shape);
    assert_true(ry_graph_add_input(n->builder.graph, v));
    return v;
}

static const bool *channels_of(small_net *n)
{
    bool *channels;
    assert_int_equal(ry_plan_find_channels(n->builder.graph, &n->plan.arena, &channels, &n->error),
                     RYND_OK);
    return channels;
}

static void images_have_channels(void **state)
{
    (void)state;
    small_net n;
    small_net_begin(&n, 1e12);
    const ry_value_id x = small_net_input(&n),
                      before = small_net_expression(&n, "max(x0, 0)", 1, &x);
    const ry_value_id convolved = small_net_convolve(&n, before, 3, 1), other = small_net_input(&n),
                      pair[] = {convolved, other};
    const ry_value_id sum = small_net_expression(&n, "x0 + x1", 2, pair),
                      viewed = small_net_view(&n, sum);
    const ry_value_id pooled = small_net_pool(&n, viewed);
    const bool *channels = channels_of(&n);
    assert_true(channels[x] && channels[before] && channels[convolved] && channels[other] &&
                channels[sum]);
    assert_true(channels[viewed] && channels[pooled]);
    small_net_end(&n);
}

static void tokens_and_scores_have_none(void **state)
{
    (void)state;
    small_net n;
    small_net_begin(&n, 1e12);
    ry_attrs swap = ry_attrs_default(RY_OP_transpose), softmax = ry_attrs_default(RY_OP_softmax);
    swap.transpose.perm = (ry_ints){.count = 4, .at = {0, 2, 3, 1}};
    const ry_value_id image = small_net_pool(&n, small_net_input(&n)),
                      pixels = small_net_node(&n, RY_OP_transpose, &swap, 1, &image);
    const ry_value_id scaled = small_net_expression(&n, "2 * x0", 1, &pixels);
    const ry_value_id q = input_of(&n, 4, (int64_t[]){1, 4, 50, 16}),
                      k = input_of(&n, 4, (int64_t[]){1, 4, 16, 50}), heads[] = {q, k};
    const ry_value_id scores = small_net_node(&n, RY_OP_matmul, NULL, 2, heads);
    const ry_value_id weights = small_net_node(&n, RY_OP_softmax, &softmax, 1, &scores);
    const bool *channels = channels_of(&n);
    assert_true(channels[image]);
    assert_false(channels[pixels] || channels[scaled]);
    assert_false(channels[q] || channels[k] || channels[scores] || channels[weights]);
    small_net_end(&n);
}

/* A bias of a lower rank is no image, though it is added to one. */
static void operands_of_other_ranks_are_apart(void **state)
{
    (void)state;
    small_net n;
    small_net_begin(&n, 1e12);
    const ry_value_id image = small_net_pool(&n, small_net_input(&n)),
                      bias = input_of(&n, 3, (int64_t[]){CHANNELS, SIDE, SIDE});
    const ry_value_id pair[] = {image, bias}, sum = small_net_expression(&n, "x0 + x1", 2, pair);
    const bool *channels = channels_of(&n);
    assert_true(channels[sum]);
    assert_false(channels[bias]);
    small_net_end(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(images_have_channels),
                                       cmocka_unit_test(tokens_and_scores_have_none),
                                       cmocka_unit_test(operands_of_other_ranks_are_apart)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
