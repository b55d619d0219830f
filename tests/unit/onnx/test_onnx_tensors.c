/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors of models made byte by byte: their data in each of its fields, and the message for each
 * bad one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "onnx_load.h"

#include <stdlib.h>
#include <string.h>

static const int64_t three[] = {3};

static rynd_status load_tensor(onnx_bytes tensor, ry_onnx_model *model, ry_error *error)
{
    onnx_bytes graph = graph_of(make_node("Identity", "x", "y"));
    add_initializer(&graph, tensor);
    /* The initializer must stay: it is an output as well. */
    add_output(&graph, make_value("w", -1, NULL));
    onnx_bytes node = make_node("Identity", "v", "w");
    add_node(&graph, node);
    return load(8, 17, graph, model, error);
}

static void expect_tensor_error(onnx_bytes tensor, rynd_status status, const char *part)
{
    ry_onnx_model model;
    ry_error error;
    assert_int_equal(load_tensor(tensor, &model, &error), status);
    if (!strstr(error.text, part)) {
        fail_msg("the message \"%s\" does not say \"%s\"", error.text, part);
    }
}

static void test_bad_tensors(void **state)
{
    (void)state;
    const float numbers[] = {1, 2, 3, 4};
    const int64_t four[] = {4}, huge[] = {INT64_C(1) << 40, INT64_C(1) << 40},
                  large[] = {INT64_C(1) << 33}, negative[] = {-2};
    onnx_bytes t = make_tensor("v", 1, 1, three);
    put_bytes(&t, 9, numbers, sizeof numbers);
    expect_tensor_error(t, RYND_ERROR_SHAPE,
                        "tensor 'v': its shape 3 of f32 needs 12 bytes, but it has 16");

    t = make_tensor("v", 1, 1, four);
    put_bytes(&t, 4, numbers, 12);
    expect_tensor_error(t, RYND_ERROR_SHAPE, "needs 16 bytes, but it has 12");

    t = make_tensor("v", 7, 1, three);
    put_int(&t, 7, 1);
    expect_tensor_error(t, RYND_ERROR_SHAPE, "needs 3 numbers, but it has 1");

    expect_tensor_error(make_tensor("v", 1, 1, three), RYND_ERROR_SHAPE,
                        "needs 12 bytes, but it has 0");
    expect_tensor_error(make_tensor("v", 1, 2, huge), RYND_ERROR_SHAPE,
                        "its size overflows 64 bits");
    expect_tensor_error(make_tensor("v", 1, 1, large), RYND_ERROR_SHAPE, "but it has 0");
    expect_tensor_error(make_tensor("v", 1, 1, negative), RYND_ERROR_SHAPE,
                        "dimension 0 is negative (-2)");
    expect_tensor_error(make_tensor("v", 8, 1, three), RYND_ERROR_UNSUPPORTED,
                        "tensor 'v' has the ONNX data type 8");
    expect_tensor_error(make_tensor(NULL, 1, 0, NULL), RYND_ERROR_SHAPE, "tensor ''");

    onnx_bytes graph = graph_of(make_node("Relu", "x", "y"));
    put_message(&graph, 15, make_tensor(NULL, 1, 0, NULL));
    expect_error(graph, RYND_ERROR_UNSUPPORTED, "sparse");
}

/* A number where a name, a list of messages or raw bytes belong. */
static void test_wrong_wire_type(void **state)
{
    (void)state;
    static const unsigned fields[] = {2, 1, 5, 11};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        onnx_bytes graph = graph_of(make_node("Relu", "x", "y"));
        put_int(&graph, fields[i], 7);
        expect_error(graph, RYND_ERROR_FORMAT, "a number where bytes belong");
    }
    onnx_bytes t = make_tensor("v", 1, 1, three);
    put_int(&t, 9, 7);
    expect_tensor_error(t, RYND_ERROR_FORMAT, "a number where bytes belong");
}

static void test_zero_size_tensor(void **state)
{
    (void)state;
    ry_onnx_model model;
    ry_error error;
    const int64_t none[] = {0, 5};
    assert_int_equal(load_tensor(make_tensor("v", 1, 2, none), &model, &error), RYND_OK);
    ry_onnx_free(&model);
}

/* Each way to store numbers gives the same tensor. */
typedef struct typed_data {
    int onnx;
    unsigned field;
    int64_t numbers[3];
} typed_data;

static void check_typed(const typed_data *expected, const onnx_bytes *t)
{
    ry_arena arena;
    ry_arena_init(&arena, &ry_system_allocator);
    const char *name;
    ry_tensor tensor;
    ry_error error;
    assert_int_equal(ry_onnx_tensor_read(t->data, t->size, &arena, &name, &tensor, &error),
                     RYND_OK);
    assert_string_equal(name, "v");
    assert_int_equal(tensor.dim[0], 3);
    for (int k = 0; k < 3; k++) {
        if (expected->onnx == 1) {
            assert_true(((const float *)tensor.data)[k] == (float)k + 0.5f);
        } else {
            assert_int_equal(ry_get_i64((ry_dtype)tensor.dtype, tensor.data, k),
                             expected->numbers[k]);
        }
    }
    ry_arena_free(&arena);
}

static void test_typed_data(void **state)
{
    (void)state;
    static const typed_data cases[] = {
        {1, 4, {0, 0, 0}},          /* float: fixed 32 bits, filled below */
        {3, 5, {-1, 2, 127}},       /* int8 */
        {2, 5, {255, 2, 0}},        /* uint8 */
        {5, 5, {-300, 2, 300}},     /* int16 */
        {4, 5, {65535, 2, 0}},      /* uint16 */
        {6, 5, {-70000, 2, 70000}}, /* int32 */
        {9, 5, {1, 0, 1}},          /* bool */
        {7, 7, {-5, INT64_MAX, INT64_MIN}},
        {12, 11, {0, 5, 4294967295}}, /* uint32 */
        {13, 11, {0, 5, -1}},         /* uint64 */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int packed = 0; packed < 2; packed++) {
            onnx_bytes t = make_tensor("v", cases[i].onnx, 1, three), list = {0};
            for (int k = 0; k < 3; k++) {
                if (cases[i].onnx == 1) {
                    float f = (float)k + 0.5f;
                    packed ? (put_float(&list, 1, f), (void)0) : put_float(&t, 4, f);
                } else if (packed) {
                    put_varint(&list, (uint64_t)cases[i].numbers[k]);
                } else {
                    put_int(&t, cases[i].field, cases[i].numbers[k]);
                }
            }
            if (packed && cases[i].onnx == 1) {
                const float floats[] = {0.5f, 1.5f, 2.5f};
                put_bytes(&t, 4, floats, sizeof floats);
            } else if (packed) {
                put_bytes(&t, cases[i].field, list.data, list.size);
            }
            onnx_bytes_free(&list);
            check_typed(&cases[i], &t);
            onnx_bytes_free(&t);
        }
    }
}

/* f16 in int32_data is its bits. */
static void test_half_data(void **state)
{
    (void)state;
    onnx_bytes t = make_tensor("v", 10, 1, (const int64_t[]){1});
    put_int(&t, 5, 0x3C00);
    ry_arena arena;
    ry_arena_init(&arena, &ry_system_allocator);
    const char *name;
    ry_tensor tensor;
    ry_error error;
    assert_int_equal(ry_onnx_tensor_read(t.data, t.size, &arena, &name, &tensor, &error), RYND_OK);
    assert_true(ry_get_f64((ry_dtype)tensor.dtype, tensor.data, 0) == 1.0);
    ry_arena_free(&arena);
    onnx_bytes_free(&t);
}

/* Large weights are used where they are stored, at any address; small ones at an odd address are
 * copied. */
static void test_zero_copy(void **state)
{
    (void)state;
    enum { LARGE = 100000 };
    float *numbers = calloc(LARGE, sizeof *numbers);
    assert_non_null(numbers);
    for (int i = 0; i < LARGE; i++) {
        numbers[i] = (float)i;
    }
    for (int shift = 0; shift < 4; shift++) {
        onnx_bytes graph = {0};
        put_bytes(&graph, 10, "abcd", (size_t)shift); /* moves what follows */
        add_node(&graph, make_node("Add", "x,v", "y"));
        add_input(&graph, make_value("x", 1, (const int64_t[]){LARGE}));
        add_initializer(&graph, make_floats("v", 1, (const int64_t[]){LARGE}, numbers));
        add_output(&graph, make_value("y", -1, NULL));
        onnx_bytes bytes = make_model(8, 17, graph);
        ry_onnx_model model;
        ry_error error;
        assert_int_equal(
            ry_onnx_load_memory(bytes.data, bytes.size, NULL, &ry_system_allocator, &model, &error),
            RYND_OK);
        const ry_value *v = &model.graph->values[ry_graph_find(model.graph, "v")];
        const uint8_t *data = v->constant;
        assert_true(data > bytes.data && data < bytes.data + bytes.size);
        assert_int_equal(v->unaligned, (uintptr_t)data % sizeof(float) != 0);
        assert_memory_equal(data, numbers, LARGE * sizeof *numbers);
        assert_true(model.graph->arena.total < LARGE * sizeof *numbers / 2);
        ry_onnx_free(&model);
        onnx_bytes_free(&bytes);
    }
    free(numbers);
}

static void test_tensor_write(void **state)
{
    (void)state;
    ry_arena arena;
    ry_arena_init(&arena, &ry_system_allocator);
    ry_error error;
    for (int dtype = RY_NONE + 1; dtype < RY_DTYPES; dtype++) {
        uint64_t storage[6] = {0};
        const ry_shape shape = {.rank = 2, .dim = {2, 3}};
        ry_tensor tensor = ry_tensor_row_major((ry_dtype)dtype, &shape, storage);
        /* Stored column by column: the file is row by row. */
        tensor.stride[0] = 1;
        tensor.stride[1] = 2;
        for (int i = 0; i < 6; i++) {
            ry_set_i64((ry_dtype)dtype, storage, i, dtype == RY_bool ? i % 2 : i);
        }
        const void *data;
        size_t size;
        const char *name;
        ry_tensor back;
        assert_int_equal(ry_onnx_tensor_write("t", &tensor, &arena, &data, &size, &error), RYND_OK);
        assert_int_equal(ry_onnx_tensor_read(data, size, &arena, &name, &back, &error), RYND_OK);
        assert_string_equal(name, "t");
        assert_int_equal(back.dtype, dtype);
        assert_int_equal(back.rank, 2);
        for (int r = 0; r < 2; r++) {
            for (int c = 0; c < 3; c++) {
                int64_t is = ry_get_i64((ry_dtype)dtype, back.data, r * 3 + c), want = c * 2 + r;
                assert_int_equal(is, dtype == RY_bool ? want % 2 : want);
            }
        }
    }
    ry_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_tensors),      cmocka_unit_test(test_wrong_wire_type),
        cmocka_unit_test(test_zero_size_tensor), cmocka_unit_test(test_typed_data),
        cmocka_unit_test(test_half_data),        cmocka_unit_test(test_zero_copy),
        cmocka_unit_test(test_tensor_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
