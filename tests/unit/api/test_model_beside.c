/* SPDX-License-Identifier: Apache-2.0 */
/* Models written with a file of data beside them: what is there, and that both are read again. */
#define _XOPEN_SOURCE 700

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "onnx/onnx.h"
#include "onnx/wire.h"
#include "onnx_bytes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 600, PAGE = 4096 };

static char folder[] = "/tmp/test_model_beside.XXXXXX";

static int begin(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : 1;
}

static int end(void **state)
{
    (void)state;
    return rmdir(folder);
}

static const char *at(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void write_file(const char *name, const void *data, size_t size)
{
    FILE *file = fopen(at(name), "wb");
    assert_true(file && fwrite(data, 1, size, file) == size && fclose(file) == 0);
}

static void count_up(float *values, float first)
{
    for (int i = 0; i < N; i++) {
        values[i] = first + (float)i;
    }
}

/* y = x + w + v + u + t + s: w is an initializer, v a Constant's, u an Identity of w, t in a file
 * of its own, and s small. */
static onnx_bytes make(void)
{
    float w[N], v[N];
    const int64_t dim[] = {N};
    onnx_bytes graph = {0}, entry = {0};
    count_up(w, 1);
    count_up(v, 2);
    put_text(&graph, 2, "test");
    onnx_bytes constant = make_node("Constant", "", "v");
    add_tensor_attribute(&constant, "value", make_floats("", 1, dim, v));
    add_node(&graph, constant);
    add_node(&graph, make_node("Identity", "w", "u"));
    add_node(&graph, make_node("Sum", "x,w,v,u,t,s", "y"));
    add_initializer(&graph, make_floats("w", 1, dim, w));
    add_initializer(&graph, make_floats("s", 1, (const int64_t[]){1}, w));
    onnx_bytes t = make_tensor("t", 1, 1, dim);
    put_text(&entry, 1, "location");
    put_text(&entry, 2, "t.bin");
    put_message(&t, 13, entry);
    put_int(&t, 14, 1);
    add_initializer(&graph, t);
    add_input(&graph, make_value("x", 2, (const int64_t[]){-1, N}));
    add_output(&graph, make_value("y", -1, NULL));
    return make_model(8, 17, graph);
}

typedef struct memory {
    uint8_t bytes[16 * PAGE];
    size_t size;
} memory;

static bool put(void *user, const void *bytes, size_t count)
{
    memory *to = user;
    assert_true(to->size + count <= sizeof to->bytes);
    memcpy(to->bytes + to->size, bytes, count);
    to->size += count;
    return true;
}

static void write_model(const ry_onnx_model *model, const ry_onnx_replacement *replacements,
                        size_t count)
{
    static memory file, data;
    ry_error error = {""};
    ry_wire_out counted[2] = {{0}},
                out[2] = {{.put = put, .user = &file}, {.put = put, .user = &data}};
    const ry_onnx_output first = {&counted[0], "m.onnx.data", &counted[1]},
                         then = {&out[0], "m.onnx.data", &out[1]};
    file.size = data.size = 0;
    assert_int_equal(ry_onnx_write(model, replacements, count, &first, &error), RYND_OK);
    assert_int_equal(ry_onnx_write(model, replacements, count, &then, &error), RYND_OK);
    assert_int_equal(file.size, counted[0].size);
    assert_true(file.size < N * sizeof(float)); /* none of the large ones is inside */
    /* w, v, u and t, each from a page on */
    assert_int_equal(data.size, 3 * PAGE + N * sizeof(float));
    write_file("m.onnx", file.bytes, file.size);
    write_file("m.onnx.data", data.bytes, data.size);
}

static const float *constant_of(const ry_onnx_model *model, const char *name)
{
    const ry_value_id v = ry_graph_find(model->graph, name);
    assert_true(v != RY_NO_VALUE && model->graph->values[v].constant);
    return model->graph->values[v].constant;
}

static void expect(const ry_onnx_model *model, const char *name, float first)
{
    const float *values = constant_of(model, name);
    for (int i = 0; i < N; i++) {
        assert_true(values[i] == first + (float)i);
    }
}

static void test_beside(void **state)
{
    (void)state;
    float w[N], v[N], u[N], t[N];
    onnx_bytes bytes = make();
    ry_onnx_model model, again;
    ry_error error = {""};
    const ry_shape shape = {.rank = 1, .dim = {N}};
    count_up(w, 10);
    count_up(v, 20);
    count_up(u, 30);
    count_up(t, 40);
    write_file("t.bin", t, sizeof t);
    assert_int_equal(
        ry_onnx_load_memory(bytes.data, bytes.size, folder, &ry_system_allocator, &model, &error),
        RYND_OK);
    const ry_onnx_replacement replacements[] = {{"u", ry_tensor_row_major(RY_f32, &shape, u)},
                                                {"w", ry_tensor_row_major(RY_f32, &shape, w)},
                                                {"v", ry_tensor_row_major(RY_f32, &shape, v)}};
    write_model(&model, replacements, 3);
    assert_int_equal(ry_onnx_load(at("m.onnx"), &ry_system_allocator, &again, &error), RYND_OK);
    expect(&again, "w", 10);
    expect(&again, "v", 20);
    expect(&again, "u", 30);
    expect(&again, "t", 40);
    assert_true(constant_of(&again, "s")[0] == 1);
    ry_onnx_free(&again);
    ry_onnx_free(&model);
    onnx_bytes_free(&bytes);
    unlink(at("t.bin"));
    unlink(at("m.onnx"));
    unlink(at("m.onnx.data"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_beside),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
