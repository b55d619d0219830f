/* SPDX-License-Identifier: Apache-2.0 */
/* Counts names by their ends. */
#include "skipped_files.h"

#include "folder_list.h"

#include <stdio.h>
#include <string.h>

static bool is_other_file(const char *path, const char *name)
{
    return !cli_is_picture_file(path, name) && !cli_is_inner_folder(path, name);
}

static void add(cli_skipped_files *skipped, const char *end)
{
    size_t i = 0;
    while (i < skipped->kind_count && strcmp(skipped->kinds[i].end, end) != 0) {
        i++;
    }
    if (i == CLI_SKIPPED_KINDS || strlen(end) >= sizeof skipped->kinds[0].end) {
        skipped->others++;
        return;
    }
    if (i == skipped->kind_count) {
        snprintf(skipped->kinds[skipped->kind_count++].end, sizeof skipped->kinds[0].end, "%s",
                 end);
    }
    skipped->kinds[i].count++;
}

static const char *end_of(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot ? dot : "";
}

/* Adds the names that `wanted` takes, as `kind` (NULL: by their ends). */
static bool add_names(cli_skipped_files *skipped, const char *folder,
                      bool (*wanted)(const char *path, const char *name), const char *kind,
                      cli_failure *failure)
{
    char **names;
    size_t count;
    if (!cli_folder_list(folder, wanted, &names, &count, failure)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        add(skipped, kind ? kind : end_of(names[i]));
    }
    cli_names_free(names, count);
    return true;
}

bool cli_skipped_count(cli_skipped_files *skipped, const char *folder, bool pictures, bool folders,
                       cli_failure *failure)
{
    return add_names(skipped, folder, is_other_file, NULL, failure) &&
           (pictures || add_names(skipped, folder, cli_is_picture_file, NULL, failure)) &&
           (folders || add_names(skipped, folder, cli_is_inner_folder, "folders", failure));
}

void cli_skipped_say(const cli_skipped_files *skipped, char text[CLI_SKIPPED_TEXT])
{
    size_t used = 0;
    *text = 0;
    for (size_t i = 0; i < skipped->kind_count && used < CLI_SKIPPED_TEXT; i++) {
        const cli_skipped_kind *kind = &skipped->kinds[i];
        used += (size_t)snprintf(text + used, CLI_SKIPPED_TEXT - used, "%s%zu %s", i ? ", " : "",
                                 kind->count, *kind->end ? kind->end : "without an end");
    }
    if (skipped->others && used < CLI_SKIPPED_TEXT) {
        snprintf(text + used, CLI_SKIPPED_TEXT - used, ", %zu of other kinds", skipped->others);
    }
}
