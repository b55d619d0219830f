/* SPDX-License-Identifier: Apache-2.0 */
/* Models with another last layer: in memory, in a file, and refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tiny_loaded.h"

enum { CLASSES = 5 };

static void expect_classes(const rynd_model *m, int64_t classes)
{
    rynd_value_info output = RYND_SIZED(rynd_value_info);
    assert_int_equal(rynd_model_get_output(m, 0, &output), RYND_OK);
    assert_int_equal(output.dim[1], classes);
}

static void memory_and_file_have_the_same_model(void **state)
{
    (void)state;
    char path[] = "/tmp/rynd_head_XXXXXX";
    void *data;
    size_t size;
    rynd_model *first, *second;
    close(mkstemp(path));
    assert_int_equal(rynd_model_save_new_head_memory(model, CLASSES, 7, &data, &size), RYND_OK);
    assert_int_equal(rynd_model_load_memory(context, data, size, &first), RYND_OK);
    expect_classes(first, CLASSES);
    assert_int_equal(rynd_model_save_new_head(model, CLASSES, 7, path), RYND_OK);
    assert_int_equal(rynd_model_load(context, path, &second), RYND_OK);
    expect_classes(second, CLASSES);
    rynd_model_destroy(first);
    rynd_model_destroy(second);
    rynd_memory_free(context, data);
    unlink(path);
}

static void no_classes_are_refused(void **state)
{
    (void)state;
    void *data;
    size_t size;
    assert_int_equal(rynd_model_save_new_head_memory(model, 0, 0, &data, &size),
                     RYND_ERROR_ARGUMENT);
    assert_null(data);
    assert_non_null(strstr(rynd_last_error(), "0 classes"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_and_file_have_the_same_model),
        cmocka_unit_test(no_classes_are_refused),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
