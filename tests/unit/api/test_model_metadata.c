/* SPDX-License-Identifier: Apache-2.0 */
/* The metadata of models: set, found, listed, and written with the model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tiny_loaded.h"

static void expect_entry(const rynd_model *m, size_t index, const char *key, const char *value)
{
    rynd_metadata entry = RYND_SIZED(rynd_metadata);
    assert_int_equal(rynd_model_get_metadata(m, index, &entry), RYND_OK);
    assert_string_equal(entry.key, key);
    assert_string_equal(entry.value, value);
}

static void set_entries_are_listed_and_found(void **state)
{
    (void)state;
    rynd_metadata entry = RYND_SIZED(rynd_metadata);
    const size_t before = rynd_model_metadata_count(model);
    assert_int_equal(rynd_model_set_metadata(model, "names", "{0: 'cat'}"), RYND_OK);
    assert_int_equal(rynd_model_set_metadata(model, "empty", ""), RYND_OK);
    assert_int_equal(rynd_model_set_metadata(model, "names", "{0: 'dog'}"), RYND_OK);
    assert_int_equal(rynd_model_set_metadata(model, "absent", NULL), RYND_OK);
    assert_int_equal(rynd_model_metadata_count(model), before + 2);
    expect_entry(model, before, "empty", "");
    expect_entry(model, before + 1, "names", "{0: 'dog'}");
    assert_string_equal(rynd_model_find_metadata(model, "names"), "{0: 'dog'}");
    assert_null(rynd_model_find_metadata(model, "absent"));
    assert_int_equal(rynd_model_get_metadata(model, before + 2, &entry), RYND_ERROR_ARGUMENT);
    assert_non_null(strstr(rynd_last_error(), "metadata entry"));
}

static void entries_are_written_with_the_model(void **state)
{
    (void)state;
    void *data;
    size_t size;
    rynd_model *again;
    assert_int_equal(rynd_model_set_metadata(model, "kept", "long \xc3\xbc text"), RYND_OK);
    assert_int_equal(rynd_model_set_metadata(model, "removed", "x"), RYND_OK);
    assert_int_equal(rynd_model_set_metadata(model, "removed", NULL), RYND_OK);
    assert_int_equal(rynd_model_save_memory(model, NULL, 0, &data, &size), RYND_OK);
    assert_int_equal(rynd_model_load_memory(context, data, size, &again), RYND_OK);
    assert_int_equal(rynd_model_metadata_count(again), rynd_model_metadata_count(model));
    assert_string_equal(rynd_model_find_metadata(again, "kept"), "long \xc3\xbc text");
    assert_null(rynd_model_find_metadata(again, "removed"));
    rynd_model_destroy(again);
    rynd_memory_free(context, data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(set_entries_are_listed_and_found),
        cmocka_unit_test(entries_are_written_with_the_model),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
