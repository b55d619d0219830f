/* SPDX-License-Identifier: Apache-2.0 */
/* Models above the limit of one message: their data goes into a second file. The limit is lowered,
 * so that no test writes 2 GiB. */
#define _XOPEN_SOURCE 700

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/saving.h"
#include "onnx_bytes.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COUNT = 512, MOST = 1024 }; /* floats of w; bytes of one message */

static rynd_context *context;
static char folder[] = "/tmp/test_model_save_beside.XXXXXX";

static int begin(void **state)
{
    (void)state;
    const rynd_context_options options = RYND_SIZED(rynd_context_options, .threads = 1);
    return !mkdtemp(folder) || rynd_context_create(&options, &context) != RYND_OK;
}

static int end(void **state)
{
    (void)state;
    rynd_context_destroy(context);
    return rmdir(folder);
}

static const char *path_of(const char *name)
{
    static char path[4][128];
    static int next;
    char *to = path[next++ % 4];
    snprintf(to, 128, "%s/%s", folder, name);
    return to;
}

static bool exists(const char *path)
{
    struct stat about;
    return lstat(path, &about) == 0;
}

/* y = x + w, where w is 512 zeros. */
static rynd_model *make(onnx_bytes *bytes)
{
    static const float zeros[COUNT];
    static const int64_t dim[] = {COUNT};
    onnx_bytes graph = {0};
    rynd_model *model = NULL;
    put_text(&graph, 2, "test");
    add_node(&graph, make_node("Add", "x,w", "y"));
    add_initializer(&graph, make_floats("w", 1, dim, zeros));
    add_input(&graph, make_value("x", 1, dim));
    add_output(&graph, make_value("y", 1, dim));
    *bytes = make_model(8, 17, graph);
    assert_int_equal(rynd_model_load_memory(context, bytes->data, bytes->size, &model), RYND_OK);
    return model;
}

/* Writes the model with w = 0, 1, 2 ... */
static rynd_status save(const rynd_model *model, const ry_api_file *to, ry_error *error)
{
    float w[COUNT];
    for (int i = 0; i < COUNT; i++) {
        w[i] = (float)i;
    }
    const ry_shape shape = {.rank = 1, .dim = {COUNT}};
    ry_onnx_replacement replacement = {"w", ry_tensor_row_major(RY_f32, &shape, w)};
    const ry_api_weights weights = {.replacements = &replacement, .count = 1};
    return ry_api_save(model, &weights, to, error);
}

/* The file's model gives y = 1, 2, 3 ... of ones. */
static void expect_saved(const char *path)
{
    float x[COUNT];
    const int64_t dim[] = {COUNT};
    rynd_model *model = NULL;
    rynd_plan *plan = NULL;
    rynd_session *session = NULL;
    for (int i = 0; i < COUNT; i++) {
        x[i] = 1;
    }
    rynd_tensor in = rynd_tensor_of(x, RYND_DTYPE_F32, 1, dim), out;
    assert_int_equal(rynd_model_load(context, path, &model), RYND_OK);
    assert_int_equal(rynd_plan_create(model, NULL, &plan), RYND_OK);
    assert_int_equal(rynd_session_create(plan, &session), RYND_OK);
    assert_int_equal(rynd_session_bind(session, "x", &in), RYND_OK);
    assert_int_equal(rynd_session_run(session), RYND_OK);
    assert_int_equal(rynd_session_get_output(session, 0, &out), RYND_OK);
    for (int i = 0; i < COUNT; i++) {
        assert_true(((const float *)out.data)[i] == (float)(i + 1));
    }
    rynd_session_destroy(session);
    rynd_plan_destroy(plan);
    rynd_model_destroy(model);
}

/* The model names its data from its own folder on, wherever the caller stands. */
static void test_two_files(void **state)
{
    (void)state;
    onnx_bytes bytes;
    rynd_model *model = make(&bytes);
    ry_error error = {""};
    assert_int_equal(save(model, &(ry_api_file){.path = path_of("m.onnx"), .most = MOST}, &error),
                     RYND_OK);
    struct stat about;
    assert_true(stat(path_of("m.onnx"), &about) == 0 && about.st_size < MOST);
    assert_true(stat(path_of("m.onnx.data"), &about) == 0 && about.st_size == COUNT * 4);
    expect_saved(path_of("m.onnx"));
    assert_true(unlink(path_of("m.onnx")) == 0 && unlink(path_of("m.onnx.data")) == 0);

    assert_int_equal(chdir(folder), 0);
    assert_int_equal(save(model, &(ry_api_file){.path = "m.onnx", .most = MOST}, &error), RYND_OK);
    expect_saved("m.onnx");
    assert_true(unlink("m.onnx") == 0 && unlink("m.onnx.data") == 0);
    assert_int_equal(chdir("/"), 0);
    rynd_model_destroy(model);
    onnx_bytes_free(&bytes);
}

/* One file holds exactly its limit. */
static void test_limit(void **state)
{
    (void)state;
    onnx_bytes bytes;
    rynd_model *model = make(&bytes);
    ry_error error = {""};
    void *data = NULL;
    size_t size = 0;
    ry_api_file memory = {.data = &data, .size = &size, .most = RY_ONNX_MOST};
    assert_int_equal(save(model, &memory, &error), RYND_OK);
    rynd_memory_free(context, data);
    const ry_api_file file = {.path = path_of("m.onnx"), .most = size};
    assert_int_equal(save(model, &file, &error), RYND_OK);
    assert_false(exists(path_of("m.onnx.data")));
    expect_saved(path_of("m.onnx"));
    unlink(path_of("m.onnx"));

    memory.most = size;
    assert_int_equal(save(model, &memory, &error), RYND_OK);
    rynd_memory_free(context, data);
    memory.most = size - 1;
    assert_int_equal(save(model, &memory, &error), RYND_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "save it to a file"));
    rynd_model_destroy(model);
    onnx_bytes_free(&bytes);
}

/* The second file does not stay if the first cannot be written. */
static void test_refused(void **state)
{
    (void)state;
    onnx_bytes bytes;
    rynd_model *model = make(&bytes);
    ry_error error = {""};
    assert_int_equal(mkdir(path_of("m.onnx"), 0700), 0);
    assert_int_equal(save(model, &(ry_api_file){.path = path_of("m.onnx"), .most = MOST}, &error),
                     RYND_ERROR_IO);
    assert_non_null(strstr(error.text, "it is a folder"));
    assert_false(exists(path_of("m.onnx.data")));
    assert_int_equal(rmdir(path_of("m.onnx")), 0);
    rynd_model_destroy(model);
    onnx_bytes_free(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_files),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
