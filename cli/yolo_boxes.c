/* SPDX-License-Identifier: Apache-2.0 */
/* Reads boxes in YOLO's form: for images/NAME.jpg the lines "class cx cy width height" of
 * labels/NAME.txt, in fractions of the picture. */
#include "box_list.h"
#include "folder_list.h"
#include "input_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LARGEST = 1 << 24, MOST_CLASSES = 65536 }; /* bytes of a file; classes */

typedef struct reading {
    cli_box_list *list;
    size_t room;
    const char *path; /* the text's */
} reading;

static bool fail_line(const reading *r, size_t line, const char *what, const char *text,
                      cli_failure *failure)
{
    return cli_fail(failure,
                    "'%s', line %zu: %s in '%.80s'; give 'class cx cy width height', fractions of "
                    "the picture from 0 to 1",
                    r->path, line, what, text);
}

static bool add_object(reading *r, const double number[5], cli_failure *failure)
{
    cli_box_list *list = r->list;
    size_t *count = &list->first[list->count + 1];
    if (*count == r->room) {
        const size_t room = r->room ? 2 * r->room : 64;
        rynd_object *grown = realloc(list->objects, room * sizeof *grown);
        if (!grown) {
            return cli_fail_memory(failure);
        }
        list->objects = grown;
        r->room = room;
    }
    list->objects[(*count)++] = (rynd_object){.left = number[1] - number[3] / 2,
                                              .top = number[2] - number[4] / 2,
                                              .width = number[3],
                                              .height = number[4],
                                              .area = -1,
                                              .label = (int64_t)number[0]};
    return true;
}

static bool read_line(reading *r, size_t line, const char *text, cli_failure *failure)
{
    double number[5];
    const char *at = text;
    for (int i = 0; i < 5; i++) {
        char *end;
        number[i] = strtod(at, &end);
        if (end == at) {
            return fail_line(r, line, i ? "there are too few numbers" : "there is no class", text,
                             failure);
        }
        at = end;
    }
    if (!(number[0] >= 0 && number[0] < MOST_CLASSES) || number[0] != (double)(int64_t)number[0]) {
        return fail_line(r, line, "the class is no whole number from 0 to 65535", text, failure);
    }
    for (int i = 1; i < 5; i++) {
        if (!(number[i] >= (i < 3 ? 0 : 1e-9) && number[i] <= 1)) {
            return fail_line(r, line, "a number is outside of 0 to 1, or a side is 0", text,
                             failure);
        }
    }
    return at[strspn(at, " \t\r")] == 0
               ? add_object(r, number, failure)
               : fail_line(r, line, "there is more than a box (a polygon or keypoints?)", text,
                           failure);
}

/* A picture without a text has no object. */
static bool read_text(reading *r, cli_failure *failure)
{
    cli_box_list *list = r->list;
    list->first[list->count + 1] = list->first[list->count];
    if (access(r->path, F_OK) != 0) {
        return true;
    }
    FILE *file = fopen(r->path, "r");
    if (!file) {
        return cli_fail(failure, "'%s' cannot be read", r->path);
    }
    char *text = NULL;
    size_t room = 0, line = 0;
    bool good = true;
    while (good && getline(&text, &room, file) >= 0) {
        text[strcspn(text, "\r\n")] = 0;
        line++;
        good = text[strspn(text, " \t")] == 0 || read_line(r, line, text, failure);
    }
    free(text);
    fclose(file);
    return good;
}

/* folder/NAME.txt for a picture's name. */
static char *text_of(const char *folder, const char *picture)
{
    static const char end[] = ".txt";
    const char *dot = strrchr(picture, '.');
    const size_t length = dot ? (size_t)(dot - picture) : strlen(picture);
    char *name = malloc(length + sizeof end), *path = NULL;
    if (name) {
        memcpy(name, picture, length);
        memcpy(name + length, end, sizeof end);
        path = cli_path_join(folder, name);
    }
    free(name);
    return path;
}

static bool read_texts(reading *r, char *const *names, size_t count, const char *images,
                       const char *labels, cli_failure *failure)
{
    cli_box_list *list = r->list;
    list->files = calloc(count + 1, sizeof *list->files);
    list->first = calloc(count + 2, sizeof *list->first);
    if (!list->files || !list->first) {
        return cli_fail_memory(failure);
    }
    for (size_t i = 0; i < count; i++) {
        char *path = text_of(labels, names[i]);
        list->files[i] = cli_path_join(images, names[i]);
        r->path = path;
        const bool good = path && list->files[i] ? read_text(r, failure) : cli_fail_memory(failure);
        free(path);
        list->count += list->files[i] != NULL;
        if (!good) {
            return false;
        }
    }
    return true;
}

static bool add_class(cli_box_list *list, const char *name, size_t length)
{
    char **grown = realloc(list->classes, (list->class_count + 1) * sizeof *grown);
    list->classes = grown ? grown : list->classes;
    char *copy = grown ? strndup(name, length) : NULL;
    if (copy) {
        list->classes[list->class_count++] = copy;
    }
    return copy != NULL;
}

/* Each line of classes.txt. */
static bool take_lines(cli_box_list *list, const char *text)
{
    for (; *text; text += strcspn(text, "\n"), text += *text == '\n') {
        const size_t length = strcspn(text, "\r\n");
        if (length > 0 && !add_class(list, text, length)) {
            return false;
        }
    }
    return true;
}

/* One name of data.yaml, perhaps quoted. */
static bool take_name(cli_box_list *list, const char *from, size_t length)
{
    while (length > 0 && strchr(" \t\r\n", *from)) {
        from++;
        length--;
    }
    while (length > 0 && strchr(" \t\r\n", from[length - 1])) {
        length--;
    }
    const bool quoted = length > 1 && (*from == '\'' || *from == '"') && from[length - 1] == *from;
    return add_class(list, from + quoted, length - 2 * quoted);
}

/* names: [cat, dog], or lines "- cat" or "0: cat". */
static bool take_yaml(cli_box_list *list, const char *text)
{
    const char *at = strncmp(text, "names:", 6) == 0 ? text : strstr(text, "\nnames:");
    if (!at) {
        return true;
    }
    at += strcspn(at, ":") + 1;
    at += strspn(at, " \t");
    if (*at == '[') {
        while (*at && *at != ']') {
            at++;
            const size_t length = strcspn(at, ",]");
            if (!take_name(list, at, length)) {
                return false;
            }
            at += length;
        }
        return true;
    }
    for (at += strcspn(at, "\n"); *at; at += strcspn(at, "\n")) {
        at++;
        const char *line = at + strspn(at, " \t");
        const bool item = *line == '-';
        line += item ? 1 : strspn(line, "0123456789");
        if (!item && (*line != ':' || line == at + strspn(at, " \t"))) {
            return true; /* the next key */
        }
        line += !item;
        if (!take_name(list, line, strcspn(line, "#\n"))) {
            return false;
        }
    }
    return true;
}

/* Names from a file of the folder or of the one above; there may be none. */
static bool find_classes(cli_box_list *list, const char *folder, cli_failure *failure)
{
    static const struct {
        const char *name;
        bool (*take)(cli_box_list *list, const char *text);
    } files[] = {{"data.yaml", take_yaml},
                 {"classes.txt", take_lines},
                 {"labels/classes.txt", take_lines},
                 {"../data.yaml", take_yaml},
                 {"../classes.txt", take_lines}};
    for (size_t i = 0; list->class_count == 0 && i < sizeof files / sizeof *files; i++) {
        char *path = cli_path_join(folder, files[i].name);
        const bool there = path && access(path, F_OK) == 0;
        char *text = there ? cli_input_text(path, LARGEST, failure) : NULL;
        const bool good = path && (!there || (text && files[i].take(list, text)));
        free(text);
        free(path);
        if (!good) {
            return failure->exit_code ? false : cli_fail_memory(failure);
        }
    }
    return true;
}

/* Numbers are the names of classes that have none; a class beyond the names fails. */
static bool settle_classes(cli_box_list *list, const char *folder, cli_failure *failure)
{
    int64_t largest = -1;
    for (size_t i = 0; i < list->first[list->count]; i++) {
        largest = list->objects[i].label > largest ? list->objects[i].label : largest;
    }
    if (list->class_count > 0 && largest >= (int64_t)list->class_count) {
        return cli_fail(failure,
                        "'%s': a box has the class %" PRId64 ", but the file of names has %zu",
                        folder, largest, list->class_count);
    }
    for (int64_t c = (int64_t)list->class_count; c <= largest; c++) {
        char number[24];
        snprintf(number, sizeof number, "%" PRId64, c);
        if (!add_class(list, number, strlen(number))) {
            return cli_fail_memory(failure);
        }
    }
    return true;
}

bool cli_yolo_read(cli_box_list *list, const char *path, cli_skipped_files *skipped,
                   cli_failure *failure)
{
    reading r = {.list = list};
    char *images = cli_path_join(path, "images"), *labels = cli_path_join(path, "labels");
    char **names = NULL;
    size_t count = 0;
    const bool done = (images && labels) || cli_fail_memory(failure)
                          ? cli_folder_list(images, cli_is_picture_file, &names, &count, failure) &&
                                cli_skipped_count(skipped, images, true, false, failure) &&
                                read_texts(&r, names, count, images, labels, failure) &&
                                find_classes(list, path, failure) &&
                                settle_classes(list, path, failure)
                          : false;
    cli_names_free(names, names ? count : 0);
    free(images);
    free(labels);
    return done;
}

void cli_box_list_free(cli_box_list *list)
{
    cli_names_free(list->files, list->files ? list->count : 0);
    cli_names_free(list->classes, list->classes ? list->class_count : 0);
    free(list->objects);
    free(list->first);
    *list = (cli_box_list){0};
}
