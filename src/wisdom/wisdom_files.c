/* SPDX-License-Identifier: Apache-2.0 */
/* Files of JSON Lines. */
#define _GNU_SOURCE /* mkostemp */
#include "wisdom/wisdom_lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* No record's line is longer, with every character of its texts escaped. */
enum { MAX_LINE = 128 * 1024 };

/* The next line, at most MAX_LINE bytes with its end; false: there is none, or it is longer. */
static bool next_line(FILE *file, char *line, size_t *length)
{
    int c = EOF;
    for (*length = 0; *length < MAX_LINE && (c = getc_unlocked(file)) != EOF;) {
        if (c == '\n') {
            return true;
        }
        line[(*length)++] = (char)c;
    }
    return c == EOF && *length > 0;
}

static bool is_empty(const char *line, size_t length)
{
    while (length > 0 && strchr(" \t\r", line[length - 1]) && line[length - 1]) {
        length--;
    }
    return length == 0;
}

static rynd_status read_rows(FILE *file, const char *path, char *line, ry_arena *arena,
                             ry_wisdom_row **rows, size_t *count, ry_error *error)
{
    size_t capacity = 0, length = 0;
    for (size_t number = 1; next_line(file, line, &length); number++) {
        if (is_empty(line, length)) {
            continue;
        }
        ry_wisdom_row *grown = ry_arena_grow(arena, *rows, *count, &capacity, sizeof **rows);
        if (!grown) {
            return ry_fail_memory(error);
        }
        *rows = grown;
        const rynd_status status = ry_wisdom_parse_line(line, length, arena, &grown[*count], error);
        if (status != RYND_OK) {
            ry_error_prefix(error, "%s: line %zu: ", path, number);
            return status;
        }
        ++*count;
    }
    return length < MAX_LINE ? RYND_OK
                             : ry_fail(error, RYND_ERROR_FORMAT,
                                       "%s: a line has more than %d bytes: not records of wisdom",
                                       path, MAX_LINE);
}

rynd_status ry_wisdom_read_lines(const char *path, ry_arena *arena, ry_wisdom_row **rows,
                                 size_t *count, ry_error *error)
{
    *rows = NULL;
    *count = 0;
    struct stat about;
    char *line = ry_allocate(arena->allocator, MAX_LINE);
    FILE *file = line ? fopen(path, "re") : NULL;
    rynd_status status = RYND_OK;
    if (!line) {
        status = ry_fail_memory(error);
    } else if (!file || fstat(fileno(file), &about) != 0 || S_ISDIR(about.st_mode)) {
        status = ry_fail(error, RYND_ERROR_IO, "%s: cannot read records of wisdom: %s", path,
                         file ? "it is a folder" : strerror(errno));
    } else {
        status = read_rows(file, path, line, arena, rows, count, error);
        if (status == RYND_OK && ferror(file)) {
            status = ry_fail(error, RYND_ERROR_IO, "%s: cannot read records of wisdom: %s", path,
                             strerror(errno));
        }
    }
    if (file) {
        fclose(file);
    }
    ry_release(arena->allocator, line);
    return status;
}

typedef struct writer {
    FILE *file;
    ry_arena arena; /* memory of one line */
    size_t count;
} writer;

static rynd_status write_line(void *user, const ry_wisdom_key *key, const ry_wisdom_record *record,
                              ry_error *error)
{
    writer *w = user;
    ry_text text = {.arena = &w->arena};
    ry_wisdom_print_line(key, record, &text);
    if (text.failed) {
        return ry_fail_memory(error);
    }
    const bool written = fprintf(w->file, "%s\n", text.at) > 0;
    w->count++;
    const ry_allocator *allocator = w->arena.allocator;
    ry_arena_free(&w->arena);
    ry_arena_init(&w->arena, allocator);
    return written ? RYND_OK : ry_fail(error, RYND_ERROR_IO, "%s", strerror(errno));
}

static rynd_status write_rows(ry_wisdom *wisdom, const ry_wisdom_filter *filter, FILE *file,
                              const ry_allocator *allocator, size_t *count, ry_error *error)
{
    writer w = {.file = file};
    ry_arena_init(&w.arena, allocator);
    const rynd_status status = ry_wisdom_visit(wisdom, filter, write_line, &w, error);
    ry_arena_free(&w.arena);
    *count = w.count;
    if (status != RYND_OK) {
        return status;
    }
    return fflush(file) == 0 && !ferror(file)
               ? RYND_OK
               : ry_fail(error, RYND_ERROR_IO, "%s", strerror(errno));
}

/* Opens a temporary file that will replace `path`; a device or pipe is opened directly. */
static FILE *open_output(const char *path, char *aside, size_t size)
{
    struct stat about;
    aside[0] = 0;
    if (stat(path, &about) == 0 && !S_ISREG(about.st_mode)) {
        return fopen(path, "we");
    }
    snprintf(aside, size, "%s.XXXXXX", path);
    const int file = mkostemp(aside, O_CLOEXEC);
    FILE *stream = file < 0 ? NULL : fdopen(file, "w");
    const mode_t mask = umask(0);
    umask(mask);
    if (!stream || fchmod(file, 0666 & ~mask) != 0) {
        const int why = errno;
        if (file >= 0) {
            unlink(aside);
            close(file);
        }
        errno = why;
        return NULL;
    }
    return stream;
}

rynd_status ry_wisdom_write_lines(ry_wisdom *wisdom, const ry_wisdom_filter *filter,
                                  const char *path, const ry_allocator *allocator, size_t *count,
                                  ry_error *error)
{
    char aside[RY_WISDOM_PATH + 8];
    *count = 0;
    if (strlen(path) >= RY_WISDOM_PATH) {
        return ry_fail(error, RYND_ERROR_ARGUMENT, "a file's name of %zu bytes: at most %d",
                       strlen(path), RY_WISDOM_PATH - 1);
    }
    FILE *file = open_output(path, aside, sizeof aside);
    rynd_status status = file ? write_rows(wisdom, filter, file, allocator, count, error)
                              : ry_fail(error, RYND_ERROR_IO, "%s", strerror(errno));
    if (file && fclose(file) != 0 && status == RYND_OK) {
        status = ry_fail(error, RYND_ERROR_IO, "%s", strerror(errno));
    }
    if (status == RYND_OK && *aside && rename(aside, path) != 0) {
        status = ry_fail(error, RYND_ERROR_IO, "%s", strerror(errno));
    }
    if (status != RYND_OK) {
        if (*aside) {
            unlink(aside);
        }
        ry_error_prefix(error, "%s: cannot write the wisdom: ", path);
    }
    return status;
}
