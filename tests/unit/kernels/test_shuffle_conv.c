/* SPDX-License-Identifier: Apache-2.0 */
/* A convolution and the pixel shuffle behind it become one transposed convolution, which computes
 * what they computed. */
#include "rewrite_case.h"

#include "graph/shuffle_conv.h"

#include <string.h>

typedef struct shuffled {
    int64_t channels, out, block;
    int64_t window[2], pads[4];
    int64_t stride, dilation, groups;
    bool crd, bias;
} shuffled;

static ry_value_id shuffle(fixture *f, ry_value_id x, int64_t block, bool crd)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_depth_to_space);
    attrs.depth_to_space.block = block;
    attrs.depth_to_space.crd = crd;
    return node(f, RY_OP_depth_to_space, &attrs, 1, &x);
}

static ry_value_id convolve(fixture *f, ry_value_id x, const shuffled *s)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_conv);
    attrs.conv.pads.count = 4;
    memcpy(attrs.conv.pads.at, s->pads, sizeof s->pads);
    attrs.conv.stride = (ry_ints){2, {s->stride, 1}};
    attrs.conv.dilation = (ry_ints){2, {1, s->dilation}};
    attrs.conv.groups = s->groups;
    const int64_t k = s->out * s->block * s->block,
                  w[4] = {k, s->channels / s->groups, s->window[0], s->window[1]};
    const ry_value_id in[3] = {x, constant(f, 4, w, 0),
                               s->bias ? constant(f, 1, &k, 0) : RY_NO_VALUE};
    return node(f, RY_OP_conv, &attrs, 3, in);
}

/* Joins what can be joined, and compares. Returns whether anything was. */
static bool join(fixture *f, ry_value_id y)
{
    assert_true(ry_graph_add_output(f->graph, y));
    assert_int_equal(ry_graph_compact(f->graph, &f->error), RYND_OK);
    float x[2 * 6 * 7 * 8];
    uint32_t seed = 9;
    for (size_t i = 0; i < sizeof x / sizeof *x; i++) {
        x[i] = noise(&seed);
    }
    void *data[] = {x};
    graph_run_result before = graph_run(f->graph, data);
    bool joined = false;
    for (ry_node_id n = 0; n < f->graph->node_count; n++) {
        ry_shuffle_conv pair;
        if (ry_shuffle_conv_of(f->graph, n, &pair)) {
            assert_int_equal(ry_shuffle_conv_join(f->graph, &pair, &joined, &f->error), RYND_OK);
        }
    }
    assert_int_equal(ry_graph_compact(f->graph, &f->error), RYND_OK);
    assert_int_equal(ry_graph_verify(f->graph, &f->error), RYND_OK);
    graph_run_result after = graph_run(f->graph, data);
    const float *was = before.data[f->graph->outputs[0]], *is = after.data[f->graph->outputs[0]];
    const ry_tensor t = ry_graph_tensor(f->graph, f->graph->outputs[0]);
    for (int64_t i = 0; i < ry_tensor_count(&t); i++) {
        assert_true(fabsf(was[i] - is[i]) <= 1e-5f * (1 + fabsf(was[i])));
    }
    graph_run_free(&before);
    graph_run_free(&after);
    assert_int_equal(count(f->graph, RY_OP_convt), joined);
    return joined;
}

static const int64_t image[4] = {2, 6, 7, 8};

static void all_shapes_are_joined(void **state)
{
    (void)state;
    static const shuffled shapes[] = {
        {6, 1, 2, {1, 1}, {0, 0, 0, 0}, 1, 1, 1, false, true},
        {6, 3, 3, {3, 3}, {1, 1, 1, 1}, 1, 1, 1, false, true},
        {6, 2, 2, {5, 2}, {4, 1, 0, 0}, 1, 1, 1, false, true},
        {6, 5, 4, {3, 1}, {0, 0, 2, 0}, 1, 2, 1, false, false},
        {6, 4, 2, {2, 4}, {1, 0, 0, 3}, 1, 1, 1, false, true},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        for (int crd = 0; crd < 2; crd++) {
            shuffled s = shapes[i];
            s.crd = crd;
            fixture f = begin();
            assert_true(
                join(&f, shuffle(&f, convolve(&f, input(&f, 4, image), &s), s.block, s.crd)));
            const ry_node *convt = only(f.graph, RY_OP_convt);
            assert_int_equal(f.graph->node_count, 1);
            assert_int_equal(convt->inputs, s.bias ? 3 : 2);
            assert_true(!s.bias || f.graph->values[convt->in[2]].shape.rank == 3);
            end(&f);
        }
    }
}

static void equal_biases_are_one_a_channel(void **state)
{
    (void)state;
    for (int crd = 0; crd < 2; crd++) {
        const shuffled s = {6, 3, 2, {3, 3}, {1, 1, 1, 1}, 1, 1, 1, crd, true};
        fixture f = begin();
        const ry_value_id y = convolve(&f, input(&f, 4, image), &s);
        float *bias = ry_graph_constant_data(f.graph, only(f.graph, RY_OP_conv)->in[2]);
        for (int i = 0; i < 12; i++) {
            bias[i] = (float)(crd ? i / 4 : i % 3);
        }
        assert_true(join(&f, shuffle(&f, y, s.block, crd)));
        assert_int_equal(f.graph->values[only(f.graph, RY_OP_convt)->in[2]].shape.rank, 1);
        end(&f);
    }
}

static void others_stay(void **state)
{
    (void)state;
    static const shuffled shapes[] = {
        {6, 3, 2, {3, 3}, {1, 1, 1, 1}, 2, 1, 1, true, true}, /* a stride */
        {6, 3, 2, {3, 3}, {1, 1, 1, 1}, 1, 2, 1, true, true}, /* gaps in the window */
        {6, 3, 2, {3, 3}, {1, 1, 1, 1}, 1, 1, 3, true, true}, /* groups */
        {6, 3, 2, {3, 3}, {1, 1, 3, 1}, 1, 1, 1, true, true}, /* windows of padding only */
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        fixture f = begin();
        assert_false(join(&f, shuffle(&f, convolve(&f, input(&f, 4, image), &shapes[i]), 2, true)));
        end(&f);
    }
    const shuffled s = {6, 3, 2, {3, 3}, {1, 1, 1, 1}, 1, 1, 1, true, true};
    fixture f = begin();
    const ry_value_id seen = convolve(&f, input(&f, 4, image), &s);
    assert_true(ry_graph_add_output(f.graph, seen));
    assert_false(join(&f, shuffle(&f, seen, 2, true)));
    end(&f);
}

/* Channels in the other order, and back. */
static void orders_are_exchanged(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        const shuffled s = {6, 5, 3, {3, 1}, {1, 0, 1, 0}, 1, 1, 1, i % 2, i / 2};
        fixture f = begin();
        const ry_value_id y = shuffle(&f, convolve(&f, input(&f, 4, image), &s), s.block, s.crd);
        float x[2 * 6 * 7 * 8];
        uint32_t seed = 9;
        for (size_t e = 0; e < sizeof x / sizeof *x; e++) {
            x[e] = noise(&seed);
        }
        void *data[] = {x};
        assert_true(ry_graph_add_output(f.graph, y));
        graph_run_result before = graph_run(f.graph, data);
        ry_shuffle_conv pair;
        assert_true(ry_shuffle_conv_of(f.graph, f.graph->values[y].producer, &pair));
        assert_int_equal(ry_shuffle_conv_reorder(f.graph, &pair, !s.crd, &f.error), RYND_OK);
        assert_int_equal(only(f.graph, RY_OP_depth_to_space)->attrs.depth_to_space.crd, !s.crd);
        graph_run_result after = graph_run(f.graph, data);
        const ry_tensor t = ry_graph_tensor(f.graph, y);
        for (int64_t e = 0; e < ry_tensor_count(&t); e++) {
            assert_true(((float *)before.data[y])[e] == ((float *)after.data[y])[e]);
        }
        graph_run_free(&before);
        graph_run_free(&after);
        end(&f);
    }
}

/* Behind the shuffle, a BatchNormalization scales every phase's bias. */
static void scales_reach_the_biases_of_phases(void **state)
{
    (void)state;
    const shuffled s = {6, 3, 2, {3, 3}, {1, 1, 1, 1}, 1, 1, 1, true, true};
    fixture f = begin();
    const ry_value_id x = convolve(&f, input(&f, 4, image), &s), y = shuffle(&f, x, 2, true);
    ry_shuffle_conv pair;
    bool joined = false;
    assert_true(ry_shuffle_conv_of(f.graph, f.graph->values[y].producer, &pair));
    assert_int_equal(ry_shuffle_conv_join(f.graph, &pair, &joined, &f.error), RYND_OK);
    assert_true(joined);
    rewrite(&f,
            expr2(&f, "x0 + x1", expr2(&f, "x0 * x1", y, constant(&f, 3, (int64_t[]){3, 1, 1}, 1)),
                  constant(&f, 3, (int64_t[]){3, 1, 1}, 1)));
    assert_int_equal(f.graph->node_count, 1);
    assert_int_equal(f.graph->values[only(f.graph, RY_OP_convt)->in[2]].shape.rank, 3);
    end(&f);
}

/* An activation goes before the shuffle, into the convolution. */
static void activations_go_before_the_shuffle(void **state)
{
    (void)state;
    const shuffled s = {6, 3, 2, {3, 3}, {1, 1, 1, 1}, 1, 1, 1, true, true};
    fixture f = begin();
    rewrite(&f,
            expr1(&f, "max(x0, 0)", shuffle(&f, convolve(&f, input(&f, 4, image), &s), 2, true)));
    assert_int_equal(f.graph->node_count, 2);
    assert_int_equal(only(f.graph, RY_OP_conv)->attrs.conv.activation, RY_activation_relu);
    assert_int_equal(only(f.graph, RY_OP_depth_to_space)->attrs.depth_to_space.crd, true);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_shapes_are_joined),
        cmocka_unit_test(equal_biases_are_one_a_channel),
        cmocka_unit_test(others_stay),
        cmocka_unit_test(orders_are_exchanged),
        cmocka_unit_test(scales_reach_the_biases_of_phases),
        cmocka_unit_test(activations_go_before_the_shuffle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
