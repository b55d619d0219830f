/* SPDX-License-Identifier: Apache-2.0 */
/* Models written once more: the same bytes where nothing is replaced, other weights where something
 * is, what is refused, and files that are written whole or not at all. */
#define _XOPEN_SOURCE 700

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "onnx_bytes.h"
#include <dirent.h>
#include <rynd/rynd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static rynd_context *context;
static char folder[] = "/tmp/test_model_save.XXXXXX";

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

/* y = (x + w) * v, where w [3] is an initializer with documentation and v a Constant node's; the
 * model has metadata and a field of a later version. `external`: w's data is in w.bin. */
static onnx_bytes make(bool external)
{
    static const float ones[] = {1, 2, 3}, twos[] = {2, 2, 2};
    onnx_bytes graph = {0};
    put_text(&graph, 2, "test");
    onnx_bytes constant = make_node("Constant", "", "v");
    add_tensor_attribute(&constant, "value", make_floats("", 1, (const int64_t[]){3}, twos));
    add_node(&graph, constant);
    add_node(&graph, make_node("Add", "x,w", "s"));
    add_node(&graph, make_node("Mul", "s,v", "y"));
    onnx_bytes w = make_tensor("w", 1, 1, (const int64_t[]){3});
    if (external) {
        onnx_bytes entry = {0};
        put_text(&entry, 1, "location");
        put_text(&entry, 2, "w.bin");
        put_message(&w, 13, entry);
        put_int(&w, 14, 1);
    } else {
        put_bytes(&w, 4, ones, sizeof ones); /* float_data */
    }
    put_text(&w, 12, "documentation");
    add_initializer(&graph, w);
    add_input(&graph, make_value("x", 2, (const int64_t[]){-1, 3}));
    add_output(&graph, make_value("y", -1, NULL));
    onnx_bytes model = make_model(8, 17, graph), metadata = {0};
    put_text(&metadata, 1, "key");
    put_text(&metadata, 2, "value");
    put_message(&model, 14, metadata);
    put_text(&model, 1000, "later");
    return model;
}

static rynd_model *load(const onnx_bytes *bytes)
{
    rynd_model *model = NULL;
    assert_int_equal(rynd_model_load_memory(context, bytes->data, bytes->size, &model), RYND_OK);
    return model;
}

/* The model's output of 10, 20, 30. */
static void run(const rynd_model *model, float *y)
{
    float x[] = {10, 20, 30};
    rynd_plan *plan = NULL;
    rynd_session *session = NULL;
    const rynd_plan_options options = RYND_SIZED(rynd_plan_options, .batch = 1);
    const int64_t dim[] = {1, 3};
    rynd_tensor in = rynd_tensor_of(x, RYND_DTYPE_F32, 2, dim), out;
    rynd_model *planned = (rynd_model *)(uintptr_t)model;
    assert_int_equal(rynd_plan_create(planned, &options, &plan), RYND_OK);
    assert_int_equal(rynd_session_create(plan, &session), RYND_OK);
    assert_int_equal(rynd_session_bind(session, "x", &in), RYND_OK);
    assert_int_equal(rynd_session_run(session), RYND_OK);
    assert_int_equal(rynd_session_get_output(session, 0, &out), RYND_OK);
    memcpy(y, out.data, 3 * sizeof *y);
    rynd_session_destroy(session);
    rynd_plan_destroy(plan);
}

static void expect(const rynd_model *model, float a, float b, float c)
{
    float y[3];
    run(model, y);
    assert_true(y[0] == a && y[1] == b && y[2] == c);
}

static rynd_named_tensor vector(const char *name, float *data)
{
    return (rynd_named_tensor){name, rynd_tensor_of(data, RYND_DTYPE_F32, 1, (const int64_t[]){3})};
}

static void test_unchanged(void **state)
{
    (void)state;
    onnx_bytes bytes = make(false);
    rynd_model *model = load(&bytes);
    void *data;
    size_t size;
    assert_int_equal(rynd_model_save_memory(model, NULL, 0, &data, &size), RYND_OK);
    assert_int_equal(size, bytes.size);
    assert_memory_equal(data, bytes.data, size);
    rynd_memory_free(context, data);
    rynd_model_destroy(model);
    onnx_bytes_free(&bytes);
}

/* What rynd does not read may be anything: a graph that comes again later, a function that nobody
 * calls. */
static void test_unread(void **state)
{
    (void)state;
    static const uint8_t broken[] = {0x0a, 0x7f, 1, 2};
    onnx_bytes whole = make(false), bytes = {0};
    put_bytes(&bytes, 7, broken, sizeof broken);
    onnx_bytes function = {0};
    put_text(&function, 1, "f");
    put_bytes(&function, 7, broken, sizeof broken);
    put_message(&bytes, 25, function);
    bytes.data = realloc(bytes.data, bytes.size + whole.size);
    assert_non_null(bytes.data);
    memcpy(bytes.data + bytes.size, whole.data, whole.size);
    bytes.size += whole.size;
    rynd_model *model = NULL;
    void *data;
    size_t size;
    float w[] = {5, 6, 7};
    const rynd_named_tensor tensor = vector("w", w);
    if (rynd_model_load_memory(context, bytes.data, bytes.size, &model) != RYND_OK) {
        fail_msg("%s", rynd_last_error());
    }
    assert_int_equal(rynd_model_save_memory(model, NULL, 0, &data, &size), RYND_OK);
    assert_int_equal(size, bytes.size);
    assert_memory_equal(data, bytes.data, size);
    rynd_memory_free(context, data);
    assert_int_equal(rynd_model_save_memory(model, &tensor, 1, &data, &size), RYND_OK);
    onnx_bytes saved = {.data = data, .size = size};
    rynd_model *other = load(&saved);
    expect(other, 30, 52, 74);
    rynd_model_destroy(other);
    rynd_memory_free(context, data);
    rynd_model_destroy(model);
    onnx_bytes_free(&whole);
    onnx_bytes_free(&bytes);
}

static bool has(const void *data, size_t size, const char *text)
{
    const size_t length = strlen(text);
    for (size_t i = 0; i + length <= size; i++) {
        if (memcmp((const char *)data + i, text, length) == 0) {
            return true;
        }
    }
    return false;
}

static void test_replaced(void **state)
{
    (void)state;
    onnx_bytes bytes = make(false), again = {0};
    rynd_model *model = load(&bytes);
    float w[] = {5, 0, 6, 0, 7}, v[] = {1, 10, 100};
    rynd_named_tensor tensors[] = {vector("w", w), vector("v", v)};
    tensors[0].tensor.stride[0] = 2;
    void *data;
    expect(model, 22, 44, 66);
    assert_int_equal(rynd_model_save_memory(model, tensors, 2, &data, &again.size), RYND_OK);
    again.data = data;
    assert_true(has(data, again.size, "documentation") && has(data, again.size, "later") &&
                has(data, again.size, "key"));
    rynd_model *other = load(&again);
    expect(other, 15, 260, 3700);
    expect(model, 22, 44, 66);
    rynd_model_destroy(other);
    rynd_memory_free(context, data);
    rynd_model_destroy(model);
    onnx_bytes_free(&bytes);
}

static void refuse(const rynd_model *model, const rynd_named_tensor *tensors, size_t count,
                   rynd_status status, const char *message)
{
    void *data = &data;
    size_t size = 1;
    assert_int_equal(rynd_model_save_memory(model, tensors, count, &data, &size), status);
    assert_null(data);
    assert_int_equal(size, 0);
    if (!strstr(rynd_last_error(), message)) {
        fail_msg("the message \"%s\" does not say \"%s\"", rynd_last_error(), message);
    }
}

static void test_refused(void **state)
{
    (void)state;
    onnx_bytes bytes = make(false);
    rynd_model *model = load(&bytes), *part = NULL;
    float w[] = {5, 6, 7};
    rynd_named_tensor t[] = {vector("w", w), vector("w", w)};
    refuse(model, t, 2, RYND_ERROR_ARGUMENT, "'w' is given twice");
    t[1].name = NULL;
    refuse(model, t, 2, RYND_ERROR_ARGUMENT, "tensor 1 has no name");
    t[0].name = "s";
    refuse(model, t, 1, RYND_ERROR_NOT_FOUND, "the model has no constant 's'");
    t[0].name = "nobody";
    refuse(model, t, 1, RYND_ERROR_NOT_FOUND, "the model has no constant 'nobody'");
    t[0] = vector("w", NULL);
    refuse(model, t, 1, RYND_ERROR_ARGUMENT, "tensor 'w': its data is NULL");
    t[0].tensor = rynd_tensor_of(w, RYND_DTYPE_F32, 1, (const int64_t[]){2});
    refuse(model, t, 1, RYND_ERROR_SHAPE,
           "constant 'w' is f32 of shape 3; what shall replace it is f32 of shape 2");
    t[0].tensor = rynd_tensor_of(w, RYND_DTYPE_I32, 1, (const int64_t[]){3});
    refuse(model, t, 1, RYND_ERROR_SHAPE, "what shall replace it is i32");
    const char *outputs[] = {"y"}, *inputs[] = {"x"};
    const rynd_part_options options =
        RYND_SIZED(rynd_part_options, .inputs = inputs, .input_count = 1, .outputs = outputs,
                   .output_count = 1, .batch = 1);
    assert_int_equal(rynd_model_create_part(model, context, &options, &part), RYND_OK);
    refuse(part, NULL, 0, RYND_ERROR_UNSUPPORTED, "a part of a model has no file");
    rynd_model_destroy(part);
    rynd_model_destroy(model);
    onnx_bytes_free(&bytes);
}

static void path_of(const char *name, char *path)
{
    snprintf(path, 128, "%s/%s", folder, name);
}

static void write_file(const char *path, const void *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_true(file && fwrite(data, 1, size, file) == size && fclose(file) == 0);
}

/* Weights of another file come inside; a model may be saved over itself, and through a link. */
static void test_files(void **state)
{
    (void)state;
    static const float ones[] = {1, 2, 3};
    onnx_bytes bytes = make(true);
    char path[128], data[128], link[128];
    path_of("m.onnx", path);
    path_of("w.bin", data);
    path_of("link.onnx", link);
    write_file(path, bytes.data, bytes.size);
    write_file(data, ones, sizeof ones);
    assert_int_equal(symlink(path, link), 0);
    rynd_model *model = NULL, *again = NULL;
    float w[] = {5, 6, 7};
    rynd_named_tensor tensor = vector("w", w);
    assert_int_equal(rynd_model_load(context, path, &model), RYND_OK);
    assert_int_equal(rynd_model_save(model, path, NULL, 0), RYND_OK);
    assert_int_equal(unlink(data), 0);
    assert_int_equal(rynd_model_load(context, path, &again), RYND_OK);
    expect(again, 22, 44, 66);
    assert_int_equal(rynd_model_save(again, link, &tensor, 1), RYND_OK);
    expect(again, 22, 44, 66);
    rynd_model_destroy(again);
    assert_int_equal(rynd_model_load(context, path, &again), RYND_OK);
    expect(again, 30, 52, 74);
    rynd_model_destroy(again);
    rynd_model_destroy(model);
    struct stat about;
    assert_int_equal(lstat(link, &about), 0);
    assert_true(S_ISLNK(about.st_mode));
    unlink(link);
    unlink(path);
    onnx_bytes_free(&bytes);
}

static int files_in_folder(void)
{
    int count = 0;
    DIR *listing = opendir(folder);
    assert_non_null(listing);
    while (readdir(listing)) {
        count++;
    }
    closedir(listing);
    return count - 2;
}

/* A failed save leaves no new file and does not change an existing one. */
static void test_failures(void **state)
{
    (void)state;
    onnx_bytes bytes = make(false);
    char path[128], inside[128];
    float w[] = {5, 6, 7};
    rynd_named_tensor tensor = vector("nobody", w);
    rynd_model *model = load(&bytes);
    path_of("m.onnx", path);
    path_of("no/m.onnx", inside);
    assert_int_equal(rynd_model_save(model, inside, NULL, 0), RYND_ERROR_IO);
    assert_non_null(strstr(rynd_last_error(), "make the folder first"));
    assert_int_equal(rynd_model_save(model, folder, NULL, 0), RYND_ERROR_IO);
    assert_non_null(strstr(rynd_last_error(), "it is a folder"));
    assert_int_equal(rynd_model_save(model, "/dev/null", NULL, 0), RYND_ERROR_IO);
    assert_non_null(strstr(rynd_last_error(), "not a regular file"));
    write_file(path, "kept", 4);
    assert_int_equal(rynd_model_save(model, path, &tensor, 1), RYND_ERROR_NOT_FOUND);
    struct stat about;
    assert_true(stat(path, &about) == 0 && about.st_size == 4);
    assert_int_equal(files_in_folder(), 1);
    unlink(path);
    rynd_model_destroy(model);
    onnx_bytes_free(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unchanged), cmocka_unit_test(test_unread),
        cmocka_unit_test(test_replaced),  cmocka_unit_test(test_refused),
        cmocka_unit_test(test_files),     cmocka_unit_test(test_failures),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
