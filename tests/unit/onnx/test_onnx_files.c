/* SPDX-License-Identifier: Apache-2.0 */
/* Model files that are none, and external data: inside the model's folder, and every way out of it.
 */
#define _XOPEN_SOURCE 700

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "onnx/onnx.h"
#include "onnx_bytes.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[] = "/tmp/rynd_onnx_XXXXXX";
static char folder[64];

static const char *path_of(const char *name)
{
    static char paths[4][256];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static void write_file(const char *path, const void *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static int set_up(void **state)
{
    (void)state;
    if (!mkdtemp(root)) {
        return -1;
    }
    snprintf(folder, sizeof folder, "%s/model", root);
    return mkdir(folder, 0700);
}

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *where)
{
    (void)about, (void)kind, (void)where;
    return remove(path);
}

static int tear_down(void **state)
{
    (void)state;
    return nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void expect_error(const char *path, rynd_status status, const char *part)
{
    ry_onnx_model model;
    ry_error error = {""};
    assert_int_equal(ry_onnx_load(path, &ry_system_allocator, &model, &error), status);
    if (!strstr(error.text, part) || !strstr(error.text, path)) {
        fail_msg("the message \"%s\" does not say \"%s\" and \"%s\"", error.text, path, part);
    }
}

static void test_no_model(void **state)
{
    (void)state;
    static const char lfs[] = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n";
    expect_error(path_of("missing.onnx"), RYND_ERROR_IO, "cannot be opened");
    expect_error(folder, RYND_ERROR_IO, "is a folder");
    write_file(path_of("empty.onnx"), "", 0);
    expect_error(path_of("empty.onnx"), RYND_ERROR_FORMAT, "is empty");
    write_file(path_of("text.onnx"), "<!DOCTYPE html>\n", 16);
    expect_error(path_of("text.onnx"), RYND_ERROR_FORMAT, "a text file");
    write_file(path_of("lfs.onnx"), lfs, sizeof lfs - 1);
    expect_error(path_of("lfs.onnx"), RYND_ERROR_FORMAT, "git lfs pull");
}

/* y = w + x, w's data in a file: fields as given, NULL for none. */
static onnx_bytes external_model(const char *location, const char *offset, const char *length)
{
    const int64_t three[] = {3};
    const char *const keys[] = {"location", "offset", "length"}, *const values[] = {location,
                                                                                    offset, length};
    onnx_bytes tensor = make_tensor("w", 1, 1, three), graph = {0};
    for (int i = 0; i < 3; i++) {
        if (values[i]) {
            onnx_bytes entry = {0};
            put_text(&entry, 1, keys[i]);
            put_text(&entry, 2, values[i]);
            put_message(&tensor, 13, entry);
        }
    }
    put_int(&tensor, 14, 1);
    add_node(&graph, make_node("Add", "x,w", "y"));
    add_input(&graph, make_value("x", 1, three));
    add_output(&graph, make_value("y", 1, three));
    add_initializer(&graph, tensor);
    return make_model(8, 17, graph);
}

static const char *write_external(const char *location, const char *offset, const char *length)
{
    onnx_bytes bytes = external_model(location, offset, length);
    const char *path = path_of("external.onnx");
    write_file(path, bytes.data, bytes.size);
    onnx_bytes_free(&bytes);
    return path;
}

static void expect_weights(const char *path)
{
    ry_onnx_model model;
    ry_error error = {""};
    if (ry_onnx_load(path, &ry_system_allocator, &model, &error) != RYND_OK) {
        fail_msg("%s", error.text);
    }
    const float *w = model.graph->values[ry_graph_find(model.graph, "w")].constant;
    assert_true(w[0] == 1 && w[1] == 2 && w[2] == 3);
    ry_onnx_free(&model);
}

static void test_truncated(void **state)
{
    (void)state;
    const int64_t three[] = {3};
    const float numbers[] = {1, 2, 3};
    onnx_bytes graph = {0};
    add_node(&graph, make_node("Add", "x,w", "y"));
    add_input(&graph, make_value("x", 1, three));
    add_output(&graph, make_value("y", 1, three));
    add_initializer(&graph, make_floats("w", 1, three, numbers));
    onnx_bytes bytes = make_model(8, 17, graph);
    write_file(path_of("good.onnx"), bytes.data, bytes.size);
    expect_weights(path_of("good.onnx"));
    write_file(path_of("cut.onnx"), bytes.data, bytes.size / 2);
    expect_error(path_of("cut.onnx"), RYND_ERROR_FORMAT, "truncated");
    onnx_bytes_free(&bytes);
}

static void test_external_data(void **state)
{
    (void)state;
    const float numbers[] = {9, 1, 2, 3};
    char outside[256], beside[128], secret[256];
    snprintf(outside, sizeof outside, "%s/outside.bin", root);
    write_file(path_of("weights.bin"), numbers, sizeof numbers);
    write_file(outside, numbers, sizeof numbers);
    assert_int_equal(mkdir(path_of("sub"), 0700), 0);
    write_file(path_of("sub/w.bin"), numbers, sizeof numbers);
    assert_int_equal(symlink("../outside.bin", path_of("link.bin")), 0);

    /* A folder beside the model's whose name begins with that of the model's folder. */
    snprintf(beside, sizeof beside, "%s_secret", folder);
    assert_int_equal(mkdir(beside, 0700), 0);
    snprintf(secret, sizeof secret, "%s/w.bin", beside);
    write_file(secret, numbers, sizeof numbers);
    assert_int_equal(symlink("../model_secret/w.bin", path_of("beside.bin")), 0);
    assert_int_equal(symlink("../model_secret", path_of("beside")), 0);
    expect_error(write_external("beside.bin", "4", "12"), RYND_ERROR_FORMAT,
                 "a link that leaves the model's folder");
    expect_error(write_external("beside/w.bin", "4", "12"), RYND_ERROR_FORMAT,
                 "a link that leaves the model's folder");
    assert_int_equal(symlink("weights.bin", path_of("inside.bin")), 0);
    expect_weights(write_external("inside.bin", "4", "12"));

    expect_weights(write_external("weights.bin", "4", "12"));
    expect_weights(write_external("weights.bin", "4", NULL));
    expect_weights(write_external("./sub/w.bin", "4", "12"));

    expect_error(write_external("../outside.bin", "4", "12"), RYND_ERROR_FORMAT,
                 "'../outside.bin' is refused");
    expect_error(write_external("sub/../../outside.bin", "4", "12"), RYND_ERROR_FORMAT,
                 "is refused");
    expect_error(write_external(outside, "4", "12"), RYND_ERROR_FORMAT, "is refused");
    expect_error(write_external("link.bin", "4", "12"), RYND_ERROR_FORMAT,
                 "a link that leaves the model's folder");
    expect_error(write_external("absent.bin", "4", "12"), RYND_ERROR_IO, "tensor 'w'");
    expect_error(write_external("sub", "4", "12"), RYND_ERROR_IO, "is a folder");
    expect_error(write_external("weights.bin", "8", "12"), RYND_ERROR_FORMAT, "exceeds the file");
    expect_error(write_external("weights.bin", "18446744073709551615", "12"), RYND_ERROR_FORMAT,
                 "exceeds the file");
    expect_error(write_external("weights.bin", "4", "11"), RYND_ERROR_SHAPE,
                 "needs 12 bytes, but it has 11");
    expect_error(write_external("weights.bin", "four", "12"), RYND_ERROR_FORMAT, "not a number");
    expect_error(write_external(NULL, "4", "12"), RYND_ERROR_FORMAT, "no location");
}

static void test_external_in_memory(void **state)
{
    (void)state;
    onnx_bytes bytes = external_model("weights.bin", "4", "12");
    ry_onnx_model model;
    ry_error error;
    assert_int_equal(
        ry_onnx_load_memory(bytes.data, bytes.size, NULL, &ry_system_allocator, &model, &error),
        RYND_ERROR_UNSUPPORTED);
    assert_int_equal(
        ry_onnx_load_memory(bytes.data, bytes.size, folder, &ry_system_allocator, &model, &error),
        RYND_OK);
    ry_onnx_free(&model);
    onnx_bytes_free(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_model),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_external_data),
        cmocka_unit_test(test_external_in_memory),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
