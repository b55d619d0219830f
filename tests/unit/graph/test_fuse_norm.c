/* SPDX-License-Identifier: Apache-2.0 */
/* What moves into batch normalisations before they are differentiated, and what must not. */
#include "rewrite_case.h"

#include "train/fuse_norm.h"

static const int64_t image[4] = {2, 3, 4, 5};

/* In training: x normalised by its batch, with all five outputs; y is returned. */
static ry_value_id norm(fixture *f, ry_value_id x)
{
    static const int64_t channels = 3;
    const ry_attrs attrs = ry_attrs_default(RY_OP_batch_norm_train);
    ry_value_id in[5] = {x}, out[5];
    const ry_shape unknown = {.rank = -1};
    for (int i = 0; i < 5; i++) {
        in[i] = i ? constant(f, 1, &channels, i == 2 || i == 3 ? 0.2f : 1) : x;
        out[i] = ry_graph_add_value(f->graph, NULL, RY_NONE, &unknown);
    }
    const ry_node_id id =
        ry_graph_add_node(f->graph, RY_OP_batch_norm_train, NULL, "Test", &attrs, 5, in, 5, out);
    rynd_status status;
    assert_int_equal(ry_infer_node(f->graph, &f->graph->nodes[id], &f->error, &status),
                     RY_INFER_DONE);
    return out[0];
}

static void fill(float *data, int64_t count)
{
    uint32_t seed = 5;
    for (int64_t i = 0; i < count; i++) {
        data[i] = noise(&seed) * 4;
    }
}

/* Fuses, and compares the output with what it was. */
static void fuse(fixture *f, ry_value_id output)
{
    enum { COUNT = 2 * 3 * 4 * 5 };
    float data[COUNT];
    void *const inputs[] = {data};
    fill(data, COUNT);
    assert_true(ry_graph_add_output(f->graph, output));
    assert_int_equal(ry_graph_compact(f->graph, &f->error), RYND_OK);
    graph_run_result before = graph_run(f->graph, inputs);
    assert_int_equal(ry_training_fuse_norms(f->graph, &f->error), RYND_OK);
    assert_int_equal(ry_graph_verify(f->graph, &f->error), RYND_OK);
    graph_run_result after = graph_run(f->graph, inputs);
    const float *wanted = before.data[output], *got = after.data[output];
    for (int i = 0; i < COUNT; i++) {
        if (!(fabsf(wanted[i] - got[i]) <= 1e-5f * fmaxf(1, fabsf(wanted[i])))) {
            fail_msg("element %d: %g before, %g after", i, (double)wanted[i], (double)got[i]);
        }
    }
    graph_run_free(&before);
    graph_run_free(&after);
}

static void residual_and_relu_move_in(void **state)
{
    (void)state;
    fixture f = begin();
    const ry_value_id x = input(&f, 4, image), shortcut = norm(&f, x), y = norm(&f, x);
    fuse(&f, expr1(&f, "max(x0, 0)", expr2(&f, "x0 + x1", y, shortcut)));
    assert_int_equal(f.graph->node_count, 2);
    const ry_node *last = &f.graph->nodes[1];
    assert_int_equal(last->attrs.batch_norm_train.activation, RY_activation_relu);
    assert_int_equal(last->inputs, 6);
    assert_int_equal(last->in[5], f.graph->nodes[0].out[0]);
    end(&f);
}

static void clip_with_bounds_beside_it_moves_in(void **state)
{
    (void)state;
    fixture f = begin();
    const ry_value_id y = norm(&f, input(&f, 4, image));
    const ry_value_id in[3] = {y, ry_graph_add_scalar(f.graph, RY_f32, -0.25),
                               ry_graph_add_scalar(f.graph, RY_f32, 0.5)};
    fuse(&f, expr_axes(&f, "min(max(x0, x1), x2)", 3, in, 0, NULL));
    const ry_batch_norm_train_attrs *attrs =
        &only(f.graph, RY_OP_batch_norm_train)->attrs.batch_norm_train;
    assert_int_equal(f.graph->node_count, 1);
    assert_int_equal(attrs->activation, RY_activation_clip);
    assert_true(attrs->act_alpha == -0.25 && attrs->act_beta == 0.5);
    end(&f);
}

static void what_others_read_stays(void **state)
{
    (void)state;
    fixture f = begin();
    const ry_value_id y = norm(&f, input(&f, 4, image));
    fuse(&f, expr2(&f, "x0 * x1", expr1(&f, "max(x0, 0)", y), y));
    assert_int_equal(f.graph->node_count, 3);
    assert_int_equal(only(f.graph, RY_OP_batch_norm_train)->attrs.batch_norm_train.activation,
                     RY_activation_none);
    end(&f);
}

static void other_activations_and_broadcasts_stay(void **state)
{
    (void)state;
    fixture f = begin();
    const ry_value_id y = norm(&f, input(&f, 4, image));
    const ry_value_id row = constant(&f, 1, &image[3], 0);
    fuse(&f, expr1(&f, "tanh(x0)", expr2(&f, "x0 + x1", y, row)));
    assert_int_equal(f.graph->node_count, 3);
    assert_int_equal(only(f.graph, RY_OP_batch_norm_train)->inputs, 5);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(residual_and_relu_move_in),
        cmocka_unit_test(clip_with_bounds_beside_it_moves_in),
        cmocka_unit_test(what_others_read_stays),
        cmocka_unit_test(other_activations_and_broadcasts_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
