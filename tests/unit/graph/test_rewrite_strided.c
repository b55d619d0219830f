/* SPDX-License-Identifier: Apache-2.0 */
/* Windows that are far apart become windows over blocks: transposed convolutions and weight
 * gradients of random geometry keep their outputs, and small strides stay as they are. */
#include "rewrite_case.h"

#include "base/integer.h"

typedef struct geometry {
    int rank;                                                     /* spatial dims */
    int64_t groups, inner, outer;                                 /* channels of a group */
    ry_ints taps, stride, dilation, pads, output_padding, extent; /* the small side */
} geometry;

static int64_t draw(uint32_t *seed, int64_t least, int64_t most)
{
    (void)noise(seed);
    return least + (int64_t)(*seed >> 8) % (most - least + 1);
}

/* Strides whose product is 65 or more. */
static geometry draw_geometry(uint32_t *seed)
{
    static const int64_t least[4] = {0, 65, 9, 5};
    geometry g = {.rank = (int)draw(seed, 1, 3)};
    g.groups = draw(seed, 1, 2);
    g.inner = draw(seed, 1, 3);
    g.outer = draw(seed, 1, 3);
    g.taps.count = g.stride.count = g.dilation.count = g.output_padding.count = g.extent.count =
        g.rank;
    g.pads.count = 2 * g.rank;
    for (int i = 0; i < g.rank; i++) {
        g.stride.at[i] = draw(seed, least[g.rank], least[g.rank] + 3);
        g.dilation.at[i] = draw(seed, 1, 2);
        g.taps.at[i] = draw(seed, 1, 2 * g.stride.at[i] / g.dilation.at[i] + 2);
        g.extent.at[i] = draw(seed, 1, 3);
        const int64_t reach = (g.taps.at[i] - 1) * g.dilation.at[i] + 1;
        g.pads.at[i] = draw(seed, 0, (reach - 1) / 2);
        g.pads.at[g.rank + i] = draw(seed, 0, (reach - 1) / 2);
        g.output_padding.at[i] = draw(seed, 0, 1) * draw(seed, 0, g.stride.at[i] - 1);
    }
    return g;
}

static void transposed_convolutions(void **state)
{
    (void)state;
    uint32_t seed = 5;
    for (int round = 0; round < 60; round++) {
        const geometry g = draw_geometry(&seed);
        fixture f = begin();
        ry_attrs attrs = ry_attrs_default(RY_OP_convt);
        attrs.convt.stride = g.stride;
        attrs.convt.dilation = g.dilation;
        attrs.convt.pads = g.pads;
        attrs.convt.output_padding = g.output_padding;
        attrs.convt.groups = g.groups;
        int64_t x[5] = {draw(&seed, 1, 2), g.groups * g.inner},
                w[5] = {g.groups * g.inner, g.outer}, channels = g.groups * g.outer;
        for (int i = 0; i < g.rank; i++) {
            x[2 + i] = g.extent.at[i];
            w[2 + i] = g.taps.at[i];
        }
        const ry_value_id in[] = {input(&f, 2 + g.rank, x),
                                  round % 2 ? input(&f, 2 + g.rank, w)
                                            : constant(&f, 2 + g.rank, w, 0),
                                  round % 3 ? constant(&f, 1, &channels, 1) : RY_NO_VALUE};
        rewrite(&f, node(&f, RY_OP_convt, &attrs, 3, in));
        assert_int_equal(count(f.graph, RY_OP_convt), 0);
        assert_int_equal(count(f.graph, RY_OP_conv), 1);
        end(&f);
    }
}

/* The sum of both outputs: the weights' gradient and the bias'. */
static ry_value_id weight_gradient(fixture *f, const ry_attrs *attrs, const ry_value_id in[2],
                                   const ry_shape *w)
{
    ry_attrs column = ry_attrs_default(RY_OP_reshape);
    column.reshape.shape = (ry_ints){.count = w->rank, .at = {w->dim[0], 1, 1, 1, 1}};
    const ry_value_id out[] = {ry_graph_add_value(f->graph, NULL, RY_NONE, w),
                               ry_graph_add_value(f->graph, NULL, RY_NONE, NULL)};
    const ry_node_id id =
        ry_graph_add_node(f->graph, RY_OP_conv, NULL, "Test", attrs, 2, in, 2, out);
    rynd_status status;
    assert_int_equal(ry_infer_node(f->graph, &f->graph->nodes[id], &f->error, &status),
                     RY_INFER_DONE);
    return expr2(f, "x0 + x1", out[0], node(f, RY_OP_reshape, &column, 1, &out[1]));
}

static void weight_gradients(void **state)
{
    (void)state;
    uint32_t seed = 6;
    for (int round = 0; round < 60; round++) {
        const geometry g = draw_geometry(&seed);
        fixture f = begin();
        ry_attrs attrs = ry_attrs_default(RY_OP_conv);
        attrs.conv.dir = RY_direction_bwd_weights;
        attrs.conv.stride = g.stride;
        attrs.conv.dilation = g.dilation;
        attrs.conv.pads = g.pads;
        attrs.conv.groups = g.groups;
        const int64_t batch = draw(&seed, 1, 2);
        int64_t x[5] = {batch, g.groups * g.inner}, dy[5] = {batch, g.groups * g.outer};
        ry_shape w = {.rank = 2 + g.rank, .dim = {g.groups * g.outer, g.inner}};
        for (int i = 0; i < g.rank; i++) {
            const int64_t reach = (g.taps.at[i] - 1) * g.dilation.at[i] + 1;
            /* behind the last window some elements are left over */
            x[2 + i] = ry_max((g.extent.at[i] - 1) * g.stride.at[i] + reach - g.pads.at[i] -
                                  g.pads.at[g.rank + i],
                              1) +
                       g.output_padding.at[i];
            dy[2 + i] =
                (x[2 + i] + g.pads.at[i] + g.pads.at[g.rank + i] - reach) / g.stride.at[i] + 1;
            w.dim[2 + i] = g.taps.at[i];
        }
        const ry_value_id in[] = {input(&f, 2 + g.rank, x), input(&f, 2 + g.rank, dy)};
        rewrite(&f, weight_gradient(&f, &attrs, in, &w));
        const ry_ints *stride = &only(f.graph, RY_OP_conv)->attrs.conv.stride;
        for (int i = 0; i < g.rank; i++) {
            assert_int_equal(ry_ints_get(stride, i, 1), 1);
        }
        end(&f);
    }
}

static void small_strides_stay(void **state)
{
    (void)state;
    fixture f = begin();
    ry_attrs attrs = ry_attrs_default(RY_OP_convt);
    attrs.convt.stride = (ry_ints){2, {8, 8}};
    const ry_value_id in[] = {input(&f, 4, (int64_t[]){1, 2, 3, 3}),
                              constant(&f, 4, (int64_t[]){2, 3, 9, 9}, 0)};
    rewrite(&f, node(&f, RY_OP_convt, &attrs, 2, in));
    assert_int_equal(f.graph->node_count, 1);
    end(&f);
}

/* Blocks as large as the strides would need more memory than there is. */
static void huge_strides_take_no_memory(void **state)
{
    (void)state;
    static const struct {
        int64_t x, pads;
        int convs;
    } cases[] = {{1, 0, 1}, {2, 1 << 30, 0}}; /* one position; outputs that pads crop */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture f = begin();
        ry_attrs attrs = ry_attrs_default(RY_OP_convt);
        attrs.convt.stride = (ry_ints){1, {1 << 30}};
        attrs.convt.pads = (ry_ints){2, {cases[i].pads, 0}};
        const ry_value_id in[] = {input(&f, 3, (int64_t[]){1, 2, cases[i].x}),
                                  constant(&f, 3, (int64_t[]){2, 3, 5}, 0)};
        rewrite(&f, node(&f, RY_OP_convt, &attrs, 2, in));
        assert_int_equal(count(f.graph, RY_OP_conv), cases[i].convs);
        end(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transposed_convolutions),
        cmocka_unit_test(weight_gradients),
        cmocka_unit_test(small_strides_stay),
        cmocka_unit_test(huge_strides_take_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
