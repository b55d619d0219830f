/* SPDX-License-Identifier: Apache-2.0 */
/* Looks at paths, and makes names of files. */
#define _GNU_SOURCE /* tdestroy */
#include "file_names.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool cli_is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

const char *cli_extension(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *dot = strrchr(slash ? slash + 1 : path, '.');
    return dot ? dot + 1 : "";
}

/* Room for two indices and an extension remains of the 255 bytes that file systems take. */
enum { MAX_PLAIN = 200, ROOM = 256 };

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
}

static void write_plain(const char *name, char plain[ROOM])
{
    size_t used = 0;
    for (; name[used] && used < MAX_PLAIN; used++) {
        plain[used] = is_plain(name[used]) && (used || name[used] != '.') ? name[used] : '_';
    }
    if (used == 0) {
        plain[used++] = '_';
    }
    plain[used] = 0;
}

static int compare(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void leave(void *name)
{
    (void)name; /* the array has it, too */
}

/* A copy of the name at `index`, different from all in the tree `known`, where it is entered.
 * NULL: out of memory. */
static char *make_unique(const char *plain, size_t index, void **known)
{
    char *name = malloc(ROOM);
    if (!name) {
        return NULL;
    }
    strcpy(name, plain);
    /* shorten a long name to make room for its number */
    for (size_t i = index; tfind(name, known, compare); i++) {
        snprintf(name, ROOM, "%.*s_%zu", ROOM - 22, plain, i);
    }
    if (!tsearch(name, known, compare)) {
        free(name);
        return NULL;
    }
    return name;
}

char **cli_plain_names(const char *const *names, size_t count)
{
    char **all = calloc(count + 1, sizeof *all), plain[ROOM];
    void *known = NULL;
    bool done = all != NULL;
    /* What is plain already comes first, and so keeps its name. */
    for (int others = 0; others < 2; others++) {
        for (size_t i = 0; done && i < count; i++) {
            write_plain(names[i], plain);
            if ((strcmp(plain, names[i]) != 0) == others) {
                all[i] = make_unique(plain, i, &known);
                done = all[i] != NULL;
            }
        }
    }
    tdestroy(known, leave);
    if (!done) {
        cli_plain_names_free(all, count);
        return NULL;
    }
    return all;
}

void cli_plain_names_free(char **plain, size_t count)
{
    for (size_t i = 0; plain && i < count; i++) {
        free(plain[i]);
    }
    free(plain);
}
