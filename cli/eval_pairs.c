/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs of files by their names without extensions. */
#include "eval_data.h"
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

bool cli_eval_list_pairs(cli_eval_data *data, const char *pictures, const char *truths,
                         cli_failure *failure)
{
    const char *const folders[] = {pictures, truths};
    char **names[2] = {NULL, NULL};
    size_t counts[2] = {0, 0};
    bool done = true;
    for (int i = 0; done && i < 2; i++) {
        done = cli_folder_list(folders[i], cli_is_picture_file, &names[i], &counts[i], failure);
        if (counts[i] > 1) {
            qsort(names[i], counts[i], sizeof *names[i], by_stem);
        }
    }
    done = done && (counts[0] > 0 || cli_fail(failure, "'%s' has no picture", pictures)) &&
           check_names(folders, names, counts, failure);
    for (int i = 0; done && i < 2; i++) {
        done = cli_names_join(folders[i], names[i], counts[i], failure);
    }
    if (!done) {
        cli_names_free(names[0], counts[0]);
        cli_names_free(names[1], counts[1]);
        return false;
    }
    data->files = names[0];
    data->truths = names[1];
    data->count = counts[0];
    return true;
}
