/* SPDX-License-Identifier: Apache-2.0 */
/* Notes which pointers were tried with NULL, and reads from the headers which must be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "null_arguments.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

rynd_context *context;
rynd_model *model;
rynd_plan *plan;
rynd_session *session;
rynd_op *op;
uint8_t bytes[TINY_MODEL_CAPACITY];
size_t size;

/* "rynd_model_load path", one line for each pointer that was NULL once. */
static char tried[1 << 14];

void null_note(const char *function, const char *parameter)
{
    const size_t used = strlen(tried);
    assert_true(used + 128 < sizeof tried);
    snprintf(tried + used, sizeof tried - used, "%s %s\n", function, parameter);
}

void null_refused(const char *function, const char *parameter, rynd_status status)
{
    char message[128];
    null_note(function, parameter);
    snprintf(message, sizeof message, "%s: %s is NULL", function, parameter);
    assert_int_equal(status, RYND_ERROR_ARGUMENT);
    assert_string_equal(rynd_last_error(), message);
}

void null_taken(const char *function, const char *parameter, bool right)
{
    null_note(function, parameter);
    if (!right) {
        fail_msg("%s with %s NULL does not do what its header says (%s)", function, parameter,
                 rynd_last_error());
    }
}

int null_arguments_begin(void **state)
{
    (void)state;
    const rynd_context_options options = RYND_SIZED(rynd_context_options, .threads = 2);
    const rynd_plan_options plan_options = RYND_SIZED(rynd_plan_options, .batch = 1);
    size = tiny_model(bytes);
    return rynd_context_create(&options, &context) ||
           rynd_model_load_memory(context, bytes, size, &model) ||
           rynd_plan_create(model, &plan_options, &plan) || rynd_session_create(plan, &session) ||
           rynd_op_create(context, "conv c=2 h=3 w=3 k=2", NULL, &op);
}

int null_arguments_end(void **state)
{
    (void)state;
    rynd_op_destroy(op);
    rynd_session_destroy(session);
    rynd_plan_destroy(plan);
    rynd_model_destroy(model);
    rynd_context_destroy(context);
    return 0;
}

/* A file's text; freed by the caller. */
static char *read_text(const char *path)
{
    FILE *file = fopen(path, "r");
    enum { LARGEST = 1 << 18 };
    char *text = calloc(LARGEST, 1);
    assert_non_null(file);
    assert_non_null(text);
    assert_true(fread(text, 1, LARGEST - 1, file) < LARGEST - 1);
    fclose(file);
    return text;
}

/* A header without comments and directives; freed by the caller. */
static char *read_declarations(const char *path)
{
    char *text = read_text(path);
    for (char *comment = text; (comment = strstr(comment, "/*"));) {
        char *close = strstr(comment, "*/");
        assert_non_null(close);
        memset(comment, ' ', (size_t)(close + 2 - comment));
    }
    for (char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (*line == '#') {
            memset(line, ' ', strcspn(line, "\n"));
        }
    }
    return text;
}

/* The last identifier before `stop`. */
static void name_before(const char *begin_at, const char *stop, char name[64])
{
    while (stop > begin_at && !(isalnum((unsigned char)stop[-1]) || stop[-1] == '_')) {
        stop--;
    }
    const char *from = stop;
    while (from > begin_at && (isalnum((unsigned char)from[-1]) || from[-1] == '_')) {
        from--;
    }
    snprintf(name, 64, "%.*s", (int)(stop - from), from);
}

/* Counts the pointers of a declaration that were not tried. */
static int count_untried(const char *declaration)
{
    const char *open = strchr(declaration, '('), *close = strchr(declaration, ';');
    char function[64], parameter[64], line[132];
    int missing = 0;
    assert_true(open && close && open < close);
    name_before(declaration, open, function);
    for (const char *from = open + 1; from < close;) {
        const size_t length = strcspn(from, ",;");
        if (memchr(from, '*', length)) {
            name_before(from, from + length, parameter);
            snprintf(line, sizeof line, "%s %s\n", function, parameter);
            if (!strstr(tried, line)) {
                print_error("not tried with NULL: %s", line);
                missing++;
            }
        }
        from += length + 1;
    }
    return missing;
}

/* The part of rynd.h in front of the experimental headers; freed by the caller. */
static char *read_core(void)
{
    char *text = read_text("include/rynd/rynd.h");
    char *stop = strstr(text, "\n#ifdef RYND_EXPERIMENTAL\n");
    assert_non_null(stop);
    *stop = '\0';
    return text;
}

/* Fails for each pointer that was not tried in the core's headers, or in all others. */
static void check_tier(bool of_core)
{
    char *core = read_core();
    DIR *folder = opendir("include/rynd");
    int missing = 0, declarations = 0;
    assert_non_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder));) {
        char path[512], include[512];
        snprintf(include, sizeof include, "\n#include <rynd/%s>\n", entry->d_name);
        if (entry->d_name[0] == '.' || (strstr(core, include) != NULL) != of_core) {
            continue;
        }
        snprintf(path, sizeof path, "include/rynd/%s", entry->d_name);
        char *text = read_declarations(path);
        for (const char *at = text; (at = strstr(at, "RYND_API")); at++) {
            missing += count_untried(at);
            declarations++;
        }
        free(text);
    }
    closedir(folder);
    free(core);
    assert_true(declarations > 50);
    assert_int_equal(missing, 0);
}

void null_core_is_tried(void **state)
{
    (void)state;
    check_tier(true);
}

void null_experimental_is_tried(void **state)
{
    (void)state;
    check_tier(false);
}
