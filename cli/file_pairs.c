/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts two lists of names by their stems, and compares them. */
#include "file_pairs.h"

#include "file_names.h"
#include "folder_list.h"

#include <stdlib.h>
#include <string.h>

/* Length of a name without its extension. */
static size_t stem_of(const char *name)
{
    const char *extension = cli_extension(name);
    return strlen(name) - strlen(extension) - (*extension ? 1 : 0);
}

static int by_stem(const void *a, const void *b)
{
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    const size_t left = stem_of(x), right = stem_of(y);
    const int order = strncmp(x, y, left < right ? left : right);
    return order ? order : (left > right) - (left < right);
}

/* Both lists are sorted by stems. */
static bool check_names(const char *const folders[2], char **const names[2], const size_t counts[2],
                        cli_failure *failure)
{
    for (size_t i = 0; i < counts[0] || i < counts[1]; i++) {
        const int order = i >= counts[0]   ? 1
                          : i >= counts[1] ? -1
                                           : by_stem(&names[0][i], &names[1][i]);
        if (order != 0) {
            const int lone = order > 0;
            return cli_fail(failure, "'%s/%s' has no file of that name in '%s'", folders[lone],
                            names[lone][i], folders[!lone]);
        }
    }
    return true;
}

bool cli_file_pairs_list(cli_file_pairs *pairs, const char *first, const char *second,
                         cli_failure *failure)
{
    const char *const folders[] = {first, second};
    char **names[2] = {NULL, NULL};
    size_t counts[2] = {0, 0};
    bool done = true;
    for (int i = 0; done && i < 2; i++) {
        done = cli_folder_list(folders[i], cli_is_picture_file, &names[i], &counts[i], failure);
        if (counts[i] > 1) {
            qsort(names[i], counts[i], sizeof *names[i], by_stem);
        }
    }
    done = done && (counts[0] > 0 || cli_fail(failure, "'%s' has no picture", first)) &&
           check_names(folders, names, counts, failure);
    for (int i = 0; done && i < 2; i++) {
        done = cli_names_join(folders[i], names[i], counts[i], failure);
    }
    if (!done) {
        cli_names_free(names[0], counts[0]);
        cli_names_free(names[1], counts[1]);
        return false;
    }
    *pairs = (cli_file_pairs){names[0], names[1], counts[0]};
    return true;
}

void cli_file_pairs_free(cli_file_pairs *pairs)
{
    cli_names_free(pairs->first, pairs->count);
    cli_names_free(pairs->second, pairs->count);
    *pairs = (cli_file_pairs){0};
}
