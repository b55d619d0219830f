/* SPDX-License-Identifier: Apache-2.0 */
/* Models that have more of something than it is given room for: numbers beyond a shape, dims beyond
 * RY_MAX_RANK. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "onnx/onnx.h"
#include "onnx_bytes.h"

#include <stdio.h>
#include <string.h>

static void expect_failure(rynd_status got, rynd_status want, const ry_error *error,
                           const char *part)
{
    if (got != want || !strstr(error->text, part)) {
        fail_msg("status %d, \"%s\"; expected %d, \"%s\"", (int)got, error->text, (int)want, part);
    }
}

/* A tensor file; freed. */
static rynd_status read_tensor(onnx_bytes bytes, ry_error *error)
{
    ry_arena arena;
    ry_tensor tensor;
    const char *name;
    ry_arena_init(&arena, &ry_system_allocator);
    const rynd_status status =
        ry_onnx_tensor_read(bytes.data, bytes.size, &arena, &name, &tensor, error);
    ry_arena_free(&arena);
    onnx_bytes_free(&bytes);
    return status;
}

/* Each type that is stored as numbers: a few too many, and more than any block of memory has to
 * spare. */
static void test_numbers(void **state)
{
    (void)state;
    static const struct {
        int onnx;
        unsigned field;
    } types[] = {{3, 5},  {2, 5},  {5, 5}, {4, 5},   {6, 5},  {9, 5},
                 {10, 5}, {16, 5}, {7, 7}, {12, 11}, {13, 11}};
    static const int counts[] = {2, 4, 100000};
    const int64_t three[] = {3};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            ry_error error = {""};
            char part[64];
            onnx_bytes tensor = make_tensor("v", types[i].onnx, 1, three), list = {0};
            for (int k = 0; k < counts[c]; k++) {
                put_varint(&list, 1);
            }
            put_bytes(&tensor, types[i].field, list.data, list.size);
            onnx_bytes_free(&list);
            snprintf(part, sizeof part, "needs 3 numbers, but it has %d", counts[c]);
            expect_failure(read_tensor(tensor, &error), RYND_ERROR_SHAPE, &error, part);
        }
    }
}

/* y = relu(x) with a declared shape; freed. */
static rynd_status load_declared(int rank, const int64_t *dims, bool output, ry_error *error)
{
    ry_onnx_model model;
    onnx_bytes graph = {0};
    add_node(&graph, make_node("Relu", "x", "y"));
    add_input(&graph, make_value("x", output ? 0 : rank, dims));
    add_output(&graph, make_value("y", output ? rank : -1, dims));
    onnx_bytes bytes = make_model(8, 17, graph);
    const rynd_status status =
        ry_onnx_load_memory(bytes.data, bytes.size, NULL, &ry_system_allocator, &model, error);
    if (status == RYND_OK) {
        ry_onnx_free(&model);
    }
    onnx_bytes_free(&bytes);
    return status;
}

/* The most that fits, and each number of dims beyond it up to where any bookkeeping of ours would
 * overflow. */
static void test_dims(void **state)
{
    (void)state;
    const float number = 1;
    int64_t ones[RY_MAX_RANK + 24];
    for (size_t i = 0; i < sizeof ones / sizeof *ones; i++) {
        ones[i] = 1;
    }
    ry_error error = {""};
    assert_int_equal(read_tensor(make_floats("v", RY_MAX_RANK, ones, &number), &error), RYND_OK);
    assert_int_equal(load_declared(RY_MAX_RANK, ones, false, &error), RYND_OK);
    for (int rank = RY_MAX_RANK + 1; rank <= RY_MAX_RANK + 24; rank++) {
        char part[64];
        expect_failure(read_tensor(make_floats("v", rank, ones, &number), &error),
                       RYND_ERROR_UNSUPPORTED, &error, "tensor 'v' has more than 16 dimensions");
        snprintf(part, sizeof part, "value 'x' has %d dimensions; rynd has at most 16", rank);
        expect_failure(load_declared(rank, ones, false, &error), RYND_ERROR_UNSUPPORTED, &error,
                       part);
        snprintf(part, sizeof part, "value 'y' has %d dimensions; rynd has at most 16", rank);
        expect_failure(load_declared(rank, ones, true, &error), RYND_ERROR_UNSUPPORTED, &error,
                       part);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_dims),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
