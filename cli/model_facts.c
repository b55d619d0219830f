/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes facts in a model's metadata. */
#include "model_facts.h"

#include "notes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_KEY    "names"
#define PICTURES_KEY "rynd.pictures"

enum { MOST_CLASSES = 1 << 20 };

static bool put_name(cli_class_names *names, int64_t index, char *name)
{
    if (index < 0 || index >= MOST_CLASSES) {
        free(name);
        return true;
    }
    if ((uint64_t)index >= names->count) {
        const size_t count = (size_t)index + 1;
        char **items = realloc(names->items, count * sizeof *items);
        if (!items) {
            free(name);
            return false;
        }
        memset(items + names->count, 0, (count - names->count) * sizeof *items);
        names->items = items;
        names->count = count;
    }
    free(names->items[index]);
    names->items[index] = name;
    return true;
}

/* Returns the text between two quotes, where a backslash stands before a quote of the text itself.
 * *text moves past the second quote. */
static char *take_quoted(const char **text)
{
    const char quote = **text, *at = *text + 1;
    char *name = malloc(strlen(at) + 1);
    size_t length = 0;
    for (; name && *at && *at != quote; at++) {
        at += *at == '\\' && at[1];
        name[length++] = *at;
    }
    *text = *at ? at + 1 : at;
    if (name) {
        name[length] = 0;
    }
    return name;
}

bool cli_facts_names(const rynd_model *model, cli_class_names *names, cli_failure *failure)
{
    const char *text = rynd_model_find_metadata(model, NAMES_KEY);
    *names = (cli_class_names){0};
    int64_t index = 0;
    while (text && *text) {
        if (*text >= '0' && *text <= '9') {
            char *end;
            index = strtoll(text, &end, 10);
            text = end;
        } else if (*text == '\'' || *text == '"') {
            char *name = take_quoted(&text);
            const bool key = name && text[strspn(text, " ")] == ':'; /* {"0": "cat"} */
            if (key) {
                index = strtoll(name, NULL, 10);
                free(name);
            } else if (!name || !put_name(names, index++, name)) {
                return cli_fail_memory(failure);
            }
        } else {
            text++;
        }
    }
    return true;
}

void cli_class_names_free(cli_class_names *names)
{
    for (size_t i = 0; i < names->count; i++) {
        free(names->items[i]);
    }
    free(names->items);
    *names = (cli_class_names){0};
}

typedef struct picture_settings {
    cli_common common;
    cli_preprocess preprocess;
} picture_settings;

static const cli_option options[] = {CLI_PREPROCESS_OPTIONS(offsetof(picture_settings, preprocess)),
                                     {0}};

static const cli_command pictures = {.name = PICTURES_KEY, .options = options};

/* Splits text, which it changes, into words. */
static int split(char *text, char **words, int most)
{
    int count = 0;
    for (char *word = strtok(text, " "); word && count < most; word = strtok(NULL, " ")) {
        words[count++] = word;
    }
    return count;
}

static void fill(cli_preprocess *p, const cli_preprocess *from)
{
    p->size = p->size.width ? p->size : from->size;
    p->crop = p->crop.width ? p->crop : from->crop;
    p->order = p->order ? p->order : from->order;
    p->scale = p->scale != 0 ? p->scale : from->scale;
    p->mean = p->mean.count ? p->mean : from->mean;
    p->std = p->std.count ? p->std : from->std;
}

bool cli_facts_preprocess(const rynd_model *model, const cli_common *common,
                          cli_preprocess *preprocess, cli_failure *failure)
{
    const char *text = rynd_model_find_metadata(model, PICTURES_KEY);
    if (!text || preprocess->preset) {
        return true;
    }
    char *copy = strdup(text), *words[32];
    if (!copy) {
        return cli_fail_memory(failure);
    }
    picture_settings settings = {.common = {.quiet = true}};
    cli_failure ignored = {0};
    const bool known = cli_parse(&pictures, split(copy, words, 32), words, &settings, &ignored);
    if (known) {
        fill(preprocess, &settings.preprocess);
        cli_detail(common, "pictures are prepared as the model's metadata says: %s", text);
    } else {
        cli_note(common, "the model's metadata '" PICTURES_KEY "' is not understood: %s", text);
    }
    cli_settings_free(&pictures, &settings);
    free(copy);
    return true;
}

/* {0: 'cat', 1: 'dog'}; free() it. NULL: out of memory. */
static char *text_of_names(char *const *classes, size_t count)
{
    size_t room = 3;
    for (size_t i = 0; i < count; i++) {
        room += 2 * strlen(classes[i]) + 28;
    }
    char *text = malloc(room), *at = text;
    if (!text) {
        return NULL;
    }
    *at++ = '{';
    for (size_t i = 0; i < count; i++) {
        at += snprintf(at, room - (size_t)(at - text), "%s%zu: '", i ? ", " : "", i);
        for (const char *c = classes[i]; *c; c++) {
            if (*c == '\'' || *c == '\\') {
                *at++ = '\\';
            }
            *at++ = *c;
        }
        *at++ = '\'';
    }
    memcpy(at, "}", 2);
    return text;
}

static void put_extent(char *text, size_t room, const char *name, cli_extent extent)
{
    const size_t used = strlen(text);
    if (extent.width && extent.height) {
        snprintf(text + used, room - used, " --%s %" PRId64 "x%" PRId64, name, extent.height,
                 extent.width);
    } else if (extent.width) {
        snprintf(text + used, room - used, " --%s %" PRId64, name, extent.width);
    }
}

static void put_channels(char *text, size_t room, const char *name, const cli_channels *channels)
{
    const size_t used = strlen(text);
    const double *v = channels->value;
    if (v[0] == v[1] && v[0] == v[2]) {
        snprintf(text + used, room - used, " --%s %.9g", name, v[0]);
    } else {
        snprintf(text + used, room - used, " --%s %.9g,%.9g,%.9g", name, v[0], v[1], v[2]);
    }
}

static void text_of_pictures(const cli_preprocess *p, char *text, size_t room)
{
    *text = 0;
    put_extent(text, room, "size", p->size);
    put_extent(text, room, "crop", p->crop);
    if (p->scale != 0 || p->order) {
        const size_t used = strlen(text);
        snprintf(text + used, room - used, " --channels %s",
                 p->order == CLI_ORDER_BGR ? "bgr" : "rgb");
    }
    if (p->scale != 0) { /* values are settled */
        const size_t used = strlen(text);
        snprintf(text + used, room - used, " --scale %.17g", p->scale);
        put_channels(text, room, "mean", &p->mean);
        put_channels(text, room, "std", &p->std);
    }
}

bool cli_facts_set(rynd_model *model, char *const *classes, size_t count,
                   const cli_preprocess *preprocess, cli_failure *failure)
{
    char text[512];
    text_of_pictures(preprocess, text, sizeof text);
    char *names = classes ? text_of_names(classes, count) : NULL;
    if (classes && !names) {
        return cli_fail_memory(failure);
    }
    const bool done =
        (!*text || rynd_model_set_metadata(model, PICTURES_KEY, text + 1) == RYND_OK) &&
        (!names || rynd_model_set_metadata(model, NAMES_KEY, names) == RYND_OK);
    free(names);
    return done || cli_fail_library(failure);
}
