/* SPDX-License-Identifier: Apache-2.0 */
/* Inference of whole graphs, verification, and binding of open dims. */
#include "graph/infer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* x[N,3,H,W] and scale[2*C]; conv 3x3 with padding and stride 2, flattened. */
typedef struct fixture {
    ry_graph *graph;
    ry_value_id x, scale, w, c, y, s;
    ry_error error;
} fixture;

static int64_t symbol(ry_graph *graph, const char *text)
{
    return ry_graph_symbol(graph, text, strlen(text));
}

static fixture make(void)
{
    fixture f = {0};
    assert_int_equal(ry_graph_create(&ry_system_allocator, &f.graph, &f.error), RYND_OK);
    ry_graph *g = f.graph;
    ry_shape x = {.rank = 4, .dim = {symbol(g, "N"), 3, symbol(g, "H"), symbol(g, "W")}},
             w = {.rank = 4, .dim = {8, 3, 3, 3}};
    ry_shape scale = {.rank = 1, .dim = {symbol(g, "2*C + 1")}};
    f.x = ry_graph_add_value(g, "x", RY_f32, &x);
    f.scale = ry_graph_add_value(g, "scale", RY_f32, &scale);
    f.w = ry_graph_add_constant(g, "w", RY_f32, &w, NULL);
    f.c = ry_graph_add_value(g, "c", RY_NONE, NULL);
    f.y = ry_graph_add_value(g, "y", RY_NONE, NULL);
    f.s = ry_graph_add_value(g, "s", RY_NONE, NULL);
    ry_attrs conv = ry_attrs_default(RY_OP_conv);
    conv.conv.auto_pad = RY_auto_pad_same_upper;
    conv.conv.stride = (ry_ints){2, {2, 2}};
    ry_graph_add_node(g, RY_OP_conv, "conv1", "Conv", &conv, 2, (ry_value_id[]){f.x, f.w}, 1, &f.c);
    ry_graph_add_node(g, RY_OP_flatten, "flat", "Flatten", NULL, 1, &f.c, 1, &f.y);
    ry_graph_add_node(g, RY_OP_identity, "same", "Identity", NULL, 1, &f.scale, 1, &f.s);
    assert_true(ry_graph_add_input(g, f.x) && ry_graph_add_input(g, f.scale) &&
                ry_graph_add_output(g, f.y) && ry_graph_add_output(g, f.s));
    assert_int_equal(ry_graph_verify(g, &f.error), RYND_OK);
    return f;
}

static void assert_shape(const fixture *f, ry_value_id value, const char *text)
{
    char buffer[200];
    assert_string_equal(
        ry_shape_text(f->graph, &f->graph->values[value].shape, buffer, sizeof buffer), text);
}

static void assert_says(const fixture *f, const char *part)
{
    if (!strstr(f->error.text, part)) {
        fail_msg("'%s' does not say '%s'", f->error.text, part);
    }
}

static void test_infer_symbols(void **state)
{
    (void)state;
    fixture f = make();
    assert_int_equal(ry_graph_infer(f.graph, &f.error), RYND_OK);
    assert_shape(&f, f.c, "Nx8x(H+1)/2x(W+1)/2");
    assert_int_equal(f.graph->values[f.y].dtype, RY_f32);
    assert_int_equal(f.graph->values[f.y].shape.dim[0], f.graph->values[f.x].shape.dim[0]);
    /* the pads are not known yet */
    assert_int_equal(f.graph->nodes[0].attrs.conv.auto_pad, RY_auto_pad_same_upper);
    ry_graph_destroy(f.graph);
}

static void test_bind_names(void **state)
{
    (void)state;
    fixture f = make();
    ry_dim_binding dims[] = {{"N", 2}, {"H", 9}, {"W", 8}, {"C", 5}};
    assert_int_equal(ry_graph_infer(f.graph, &f.error), RYND_OK);
    assert_int_equal(ry_graph_bind(f.graph, NULL, dims, 4, &f.error), RYND_OK);
    assert_shape(&f, f.x, "2x3x9x8");
    assert_shape(&f, f.c, "2x8x5x4");
    assert_shape(&f, f.y, "2x160");
    assert_shape(&f, f.s, "11"); /* 2*C + 1 */
    const ry_conv_attrs *conv = &f.graph->nodes[0].attrs.conv;
    assert_int_equal(conv->auto_pad, RY_auto_pad_explicit);
    assert_memory_equal(conv->pads.at, ((int64_t[]){1, 0, 1, 1}), 4 * sizeof(int64_t));
    ry_graph_destroy(f.graph);
}

static void test_bind_shapes(void **state)
{
    (void)state;
    fixture f = make();
    ry_shape shapes[] = {{4, {-1, 3, 9, 8}}, {1, {7}}}; /* the batch is not given here */
    ry_dim_binding batch = {"N", 0};
    assert_int_equal(ry_graph_bind(f.graph, shapes, &batch, 1, &f.error), RYND_OK);
    assert_shape(&f, f.c, "0x8x5x4");
    assert_shape(&f, f.s, "7");
    ry_graph_destroy(f.graph);
}

typedef struct refusal {
    ry_shape shapes[2];
    ry_dim_binding dims[4];
    size_t dim_count;
    rynd_status status;
    const char *says;
} refusal;

static void test_bind_refusals(void **state)
{
    (void)state;
    const ry_shape none = {.rank = -1};
    const refusal cases[] = {
        {{none, none},
         {{"H", 9}},
         1,
         RYND_ERROR_SHAPE,
         "input 'x': dim 0 ('N') is open: give --dim N=1 or --batch 1"},
        {{none, none},
         {{"N", 1}, {"H", 9}},
         2,
         RYND_ERROR_SHAPE,
         "input 'x': dim 3 ('W') is open: give --dim W=1, or"},
        {{none, none},
         {{"N", 1}, {"H", 9}, {"W", 9}},
         3,
         RYND_ERROR_SHAPE,
         "input 'scale': dim 0 ('2*C + 1') is open"},
        {{none, none},
         {{"batch", 1}},
         1,
         RYND_ERROR_NOT_FOUND,
         "no dim named 'batch'; open dims: 'N' (dim 0 of input 'x'), 'H' (dim 2"},
        {{none, none}, {{"N", -1}}, 1, RYND_ERROR_ARGUMENT, "dim 'N' cannot be -1"},
        {{none, none}, {{"N", 1}, {"N", 2}}, 2, RYND_ERROR_SHAPE, "dim 'N' would be both 1 and 2"},
        {{{4, {2, 3, 9, 9}}, none},
         {{"N", 1}},
         1,
         RYND_ERROR_SHAPE,
         "dim 'N' would be both 1 and 2 (the shape of input 'x')"},
        {{{4, {2, 4, 9, 9}}, none},
         {{"C", 1}},
         1,
         RYND_ERROR_SHAPE,
         "input 'x': dim 1 is 4, but the model fixes it to 3"},
        {{{3, {2, 3, 9}}, none},
         {{"C", 1}},
         1,
         RYND_ERROR_SHAPE,
         "input 'x' has rank 3 (2x3x9), expected 4 (Nx3xHxW)"},
        {{{4, {INT64_MAX / 4, 3, 9, 9}}, none}, {{"C", 1}}, 1, RYND_ERROR_SHAPE, "more bytes"},
        {{{4, {INT64_MAX, 3, 9, 9}}, none}, {{"C", 1}}, 1, RYND_ERROR_ARGUMENT, "cannot be"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture f = make();
        assert_int_equal(
            ry_graph_bind(f.graph, cases[i].shapes, cases[i].dims, cases[i].dim_count, &f.error),
            cases[i].status);
        assert_says(&f, cases[i].says);
        ry_graph_destroy(f.graph);
    }
}

/* What a symbol may be as an expression, with C = 7; 0: it is not one, and stays open. */
static void test_expressions(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t size;
    } cases[] = {
        {"2*C", 14},
        {"C*2+1", 15},
        {"(C + 1)/2", 4},
        {"floor(C/2) - 1", 2},
        {"C//2", 3},
        {"C-C*2+8", 1},
        {"((((C))))", 7},
        {"C/(C-7)", 0},
        {"2*D", 0},
        {"2*", 0},
        {"(C", 0},
        {"C)", 0},
        {"C C", 0},
        {"", 0},
        {"*", 0},
        {"99999999999999999999*C", 0},
        {"C*9000000000000000000", 0},
        {"1-C", 0},
        {"-C", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture f = {0};
        assert_int_equal(ry_graph_create(&ry_system_allocator, &f.graph, &f.error), RYND_OK);
        ry_shape shape = {.rank = 2, .dim = {symbol(f.graph, "C"), symbol(f.graph, cases[i].text)}};
        f.x = ry_graph_add_value(f.graph, "x", RY_f32, &shape);
        ry_graph_add_input(f.graph, f.x);
        ry_dim_binding c = {"C", 7};
        rynd_status status = ry_graph_bind(f.graph, NULL, &c, 1, &f.error);
        if (status != (cases[i].size ? RYND_OK : RYND_ERROR_SHAPE) ||
            (cases[i].size && f.graph->values[f.x].shape.dim[1] != cases[i].size)) {
            fail_msg("'%s': status %d, %lld", cases[i].text, (int)status,
                     (long long)f.graph->values[f.x].shape.dim[1]);
        }
        ry_graph_destroy(f.graph);
    }
}

/* A name that looks like an expression is first of all a name; nesting without end is no
 * expression. */
static void test_names_with_signs(void **state)
{
    (void)state;
    fixture f = {0};
    assert_int_equal(ry_graph_create(&ry_system_allocator, &f.graph, &f.error), RYND_OK);
    char deep[400];
    memset(deep, '(', sizeof deep - 1);
    deep[sizeof deep - 1] = 0;
    ry_shape shape = {.rank = 2, .dim = {symbol(f.graph, "batch-size"), symbol(f.graph, deep)}};
    f.x = ry_graph_add_value(f.graph, "x", RY_f32, &shape);
    ry_graph_add_input(f.graph, f.x);
    ry_dim_binding dims[] = {{"batch-size", 3}, {deep, 4}};
    assert_int_equal(ry_graph_bind(f.graph, NULL, dims, 1, &f.error), RYND_ERROR_SHAPE);
    assert_int_equal(ry_graph_bind(f.graph, NULL, dims, 2, &f.error), RYND_OK);
    assert_shape(&f, f.x, "3x4");
    ry_graph_destroy(f.graph);
}

static void test_unknown_rank(void **state)
{
    (void)state;
    fixture f = make();
    f.graph->values[f.scale].shape.rank = -1;
    ry_dim_binding dims[] = {{"N", 2}, {"H", 9}, {"W", 8}};
    assert_int_equal(ry_graph_bind(f.graph, NULL, dims, 3, &f.error), RYND_ERROR_SHAPE);
    assert_says(&f, "input 'scale' has no shape");
    ry_shape shapes[] = {{.rank = -1}, {2, {3, 4}}};
    assert_int_equal(ry_graph_bind(f.graph, shapes, dims, 3, &f.error), RYND_OK);
    assert_shape(&f, f.s, "3x4");
    ry_graph_destroy(f.graph);
}

/* A slice by attributes holds its extents nowhere but in its output once it is canonical: binding
 * must not forget them. */
static void test_bind_keeps_fixed(void **state)
{
    (void)state;
    fixture f = make();
    ry_attrs slice = ry_attrs_default(RY_OP_slice);
    slice.slice.starts = (ry_ints){1, {1}};
    slice.slice.ends = (ry_ints){1, {5}};
    ry_value_id cut = ry_graph_add_value(f.graph, "cut", RY_NONE, NULL);
    ry_graph_add_node(f.graph, RY_OP_slice, "slice", "Slice", &slice, 1, &f.w, 1, &cut);
    ry_graph_add_output(f.graph, cut);
    assert_int_equal(ry_graph_infer(f.graph, &f.error), RYND_OK);
    assert_int_equal(f.graph->nodes[3].attrs.slice.ends.count, 0);
    ry_dim_binding dims[] = {{"N", 2}, {"H", 9}, {"W", 8}, {"C", 5}};
    ry_graph *copy;
    assert_int_equal(ry_graph_clone(f.graph, &copy, &f.error), RYND_OK);
    assert_int_equal(ry_graph_bind(copy, NULL, dims, 4, &f.error), RYND_OK);
    assert_int_equal(copy->values[cut].shape.dim[0], 4);
    ry_graph_destroy(copy);
    ry_graph_destroy(f.graph);
}

/* The content of a shape is known as soon as its dims are. */
static void test_shape_is_constant(void **state)
{
    (void)state;
    fixture f = make();
    ry_value_id part = ry_graph_add_value(f.graph, "part", RY_NONE, NULL),
                all = ry_graph_add_value(f.graph, "all", RY_NONE, NULL);
    ry_attrs attrs = ry_attrs_default(RY_OP_shape);
    ry_graph_add_node(f.graph, RY_OP_shape, NULL, "Shape", &attrs, 1, &f.c, 1, &all);
    attrs.shape.start = 1;
    attrs.shape.end = 2;
    ry_graph_add_node(f.graph, RY_OP_shape, NULL, "Shape", &attrs, 1, &f.c, 1, &part);
    ry_graph_add_output(f.graph, all);
    ry_graph_add_output(f.graph, part);
    assert_int_equal(ry_graph_infer(f.graph, &f.error), RYND_OK);
    assert_null(f.graph->values[all].constant);
    assert_int_equal(ry_get_i64(RY_i64, f.graph->values[part].constant, 0), 8);
    ry_dim_binding dims[] = {{"N", 2}, {"H", 9}, {"W", 8}, {"C", 5}};
    assert_int_equal(ry_graph_bind(f.graph, NULL, dims, 4, &f.error), RYND_OK);
    assert_memory_equal(f.graph->values[all].constant, ((int64_t[]){2, 8, 5, 4}),
                        4 * sizeof(int64_t));
    assert_int_equal(ry_graph_verify(f.graph, &f.error), RYND_OK);
    assert_int_equal(ry_graph_compact(f.graph, &f.error), RYND_OK);
    assert_int_equal(f.graph->node_count, 3); /* neither shape needs its node */
    ry_graph_destroy(f.graph);
}

static void test_declared(void **state)
{
    (void)state;
    static const struct {
        ry_shape shape;
        ry_dtype dtype;
        rynd_status status;
        const char *says; /* as an error, or as a warning */
    } cases[] = {
        {{2, {0, 0}}, RY_f32, RYND_OK, NULL}, /* filled with symbols below */
        {{4, {1, 8, 4, 4}},
         RY_f32,
         RYND_OK,
         "output 'y' is declared 1x8x4x4, but the graph computes N"},
        {{2, {1, 7}},
         RY_i64,
         RYND_ERROR_SHAPE,
         "output 'y' is declared i64, but the graph computes f32"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture f = make();
        ry_value *y = &f.graph->values[f.y];
        y->shape = cases[i].shape;
        y->dtype = cases[i].dtype;
        if (!cases[i].says) {
            y->shape.dim[0] = symbol(f.graph, "batch");
            y->shape.dim[1] = symbol(f.graph, "features");
        }
        assert_int_equal(ry_graph_infer(f.graph, &f.error), cases[i].status);
        assert_int_equal(f.graph->warning_count, cases[i].says && !cases[i].status);
        if (cases[i].status) {
            assert_says(&f, cases[i].says);
        } else if (cases[i].says) {
            assert_non_null(strstr(f.graph->warnings[0], cases[i].says));
            assert_int_equal(f.graph->values[f.y].shape.rank, 2); /* what is computed holds */
        }
        ry_graph_destroy(f.graph);
    }
}

static void test_open_dims(void **state)
{
    (void)state;
    fixture f = make();
    char text[300], small[12];
    assert_string_equal(ry_graph_open_dims(f.graph, text, sizeof text),
                        "'N' (dim 0 of input 'x'), 'H' (dim 2 of input 'x'), 'W' (dim 3 of input "
                        "'x'), '2*C + 1' (dim 0 of input 'scale')");
    assert_int_equal(strlen(ry_graph_open_dims(f.graph, small, sizeof small)), sizeof small - 1);
    ry_graph_destroy(f.graph);
}

typedef void breaker(fixture *f);

static void break_input_twice(fixture *f)
{
    ry_graph_add_input(f->graph, f->x);
}
static void break_input_constant(fixture *f)
{
    ry_graph_add_input(f->graph, f->w);
}
static void break_input_produced(fixture *f)
{
    f->graph->values[f->c].dtype = RY_f32;
    ry_graph_add_input(f->graph, f->c);
}
static void break_source(fixture *f)
{
    f->graph->nodes[1].in[0] = ry_graph_add_value(f->graph, "nowhere", RY_f32, NULL);
}
static void break_index(fixture *f)
{
    f->graph->nodes[1].in[0] = 12345;
}
static void break_output_index(fixture *f)
{
    f->graph->outputs[0] = 12345;
}
static void break_output(fixture *f)
{
    f->graph->outputs[0] = ry_graph_add_value(f->graph, "nowhere", RY_f32, NULL);
}
static void break_produced_twice(fixture *f)
{
    f->graph->nodes[1].out[0] = f->c;
}
static void break_name(fixture *f)
{
    ry_graph_add_value(f->graph, "x", RY_f32, NULL);
}
static void break_rank(fixture *f)
{
    f->graph->values[f->x].shape.rank = RY_MAX_RANK + 1;
}
static void break_dim(fixture *f)
{
    f->graph->values[f->x].shape.dim[1] = -1000;
}
static void break_huge_dim(fixture *f)
{
    f->graph->values[f->x].shape.dim[1] = INT64_MAX;
}
static void break_type(fixture *f)
{
    f->graph->values[f->x].dtype = RY_bool;
}
static void break_count(fixture *f)
{
    f->graph->nodes[0].inputs = 1;
}
static void break_operator(fixture *f)
{
    f->graph->nodes[0].op = (ry_op)999;
}

static void test_verify(void **state)
{
    (void)state;
    static const struct {
        breaker *breaks;
        const char *says;
    } cases[] = {
        {break_input_twice, "graph input 'x' is named twice"},
        {break_input_constant, "graph input 'w' is a constant as well"},
        {break_input_produced,
         "node 'conv1' (Conv): output 0, value 'c', is a graph input as well"},
        {break_source, "node 'flat' (Flatten): input 0, value 'nowhere', is no input, constant or "
                       "output of a node"},
        {break_index, "node 'flat' (Flatten): input 0"},
        {break_output_index, "graph output 0"},
        {break_output, "graph output 0, 'nowhere', is computed by no node"},
        {break_produced_twice,
         "node 'flat' (Flatten): output 0, value 'c', is an output of another node as well"},
        {break_name, "two values are named 'x'"},
        {break_rank, "value 'x'"},
        {break_dim, "value 'x': dim 1"},
        {break_huge_dim, "value 'x': dim 1"},
        {break_type, "node 'conv1' (Conv): input 0, value 'x', is bool"},
        {break_count, "node 'conv1' (Conv): 1 inputs, expected at least 2"},
        {break_operator, "node 'conv1': operator number 999"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture f = make();
        cases[i].breaks(&f);
        assert_int_not_equal(ry_graph_verify(f.graph, &f.error), RYND_OK);
        assert_says(&f, cases[i].says);
        ry_graph_destroy(f.graph);
    }
}

static void test_verify_largest_rank(void **state)
{
    (void)state;
    fixture f = make();
    ry_shape shape = {.rank = RY_MAX_RANK};
    for (int d = 0; d < RY_MAX_RANK; d++) {
        shape.dim[d] = 1;
    }
    ry_graph_add_input(f.graph, ry_graph_add_value(f.graph, "deep", RY_f32, &shape));
    assert_int_equal(ry_graph_verify(f.graph, &f.error), RYND_OK);
    ry_graph_destroy(f.graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_infer_symbols),       cmocka_unit_test(test_bind_names),
        cmocka_unit_test(test_bind_shapes),         cmocka_unit_test(test_bind_refusals),
        cmocka_unit_test(test_expressions),         cmocka_unit_test(test_names_with_signs),
        cmocka_unit_test(test_unknown_rank),        cmocka_unit_test(test_bind_keeps_fixed),
        cmocka_unit_test(test_shape_is_constant),   cmocka_unit_test(test_declared),
        cmocka_unit_test(test_open_dims),           cmocka_unit_test(test_verify),
        cmocka_unit_test(test_verify_largest_rank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
