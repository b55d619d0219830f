/* SPDX-License-Identifier: Apache-2.0 */
/* Lists pictures, and names results. */
#include "task_files.h"

#include "file_names.h"
#include "files.h"
#include "folder_list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

static bool add(char ***files, size_t *count, char *path)
{
    char **grown = path ? realloc(*files, (*count + 1) * sizeof *grown) : NULL;
    if (!grown) {
        free(path);
        return false;
    }
    *files = grown;
    grown[(*count)++] = path;
    return true;
}

static bool add_folder(const char *folder, char ***files, size_t *count, cli_failure *failure)
{
    char **names;
    size_t names_count;
    if (!cli_folder_list(folder, cli_is_picture_file, &names, &names_count, failure)) {
        return false;
    }
    bool done = names_count > 0 ||
                cli_fail(failure, "the folder '%s' has no picture that rynd reads", folder);
    for (size_t i = 0; done && i < names_count; i++) {
        done = add(files, count, cli_path_join(folder, names[i])) || cli_fail_memory(failure);
    }
    cli_names_free(names, names_count);
    return done;
}

bool cli_task_list(const cli_list *inputs, char ***files, size_t *count, cli_failure *failure)
{
    *files = NULL;
    *count = 0;
    for (size_t i = 0; i < inputs->count; i++) {
        const char *path = inputs->items[i];
        if (cli_is_folder(path)) {
            if (!add_folder(path, files, count, failure)) {
                return false;
            }
        } else if (cli_input_kind(path) != CLI_FILE_IMAGE) {
            return cli_fail_usage(failure,
                                  "--input %s: --task takes pictures (" CLI_PICTURES_IN
                                  ") or a folder of them",
                                  path);
        } else if (!add(files, count, strdup(path))) {
            return cli_fail_memory(failure);
        }
    }
    return *count > 0 ? true : cli_fail_usage(failure, "--task needs a picture: give --input FILE");
}

static bool is_folder_name(const char *output)
{
    return output[strlen(output) - 1] == '/' || cli_is_folder(output);
}

bool cli_task_check_output(const char *output, size_t pictures, bool map, cli_failure *failure)
{
    if (is_folder_name(output)) {
        return cli_is_folder(output) || mkdir(output, 0777) == 0
                   ? true
                   : cli_fail(failure, "cannot make the folder '%s': %s", output, strerror(errno));
    }
    if (pictures > 1) {
        return cli_fail_usage(failure,
                              "--output %s takes the result of one picture, but there are %zu; "
                              "give a folder (a name that ends with '/')",
                              output, pictures);
    }
    if (cli_output_kind(output) != CLI_FILE_IMAGE &&
        !(map && strcasecmp(cli_extension(output), "npy") == 0)) {
        return cli_fail_usage(failure,
                              "--output %s: this task writes .png or .jpg%s, or into a folder",
                              output, map ? ", or the classes of the pixels as .npy" : "");
    }
    return true;
}

static bool is_used(char *const *used, size_t count, const char *path)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(used[i], path) == 0) {
            return true;
        }
    }
    return false;
}

char *cli_task_file(const char *output, const char *picture, const char *suffix, char ***used,
                    size_t *used_count)
{
    if (!is_folder_name(output)) {
        return strdup(output);
    }
    const char *slash = strrchr(picture, '/'), *name = slash ? slash + 1 : picture;
    const char *extension = cli_extension(name);
    const int stem = (int)(strlen(name) - strlen(extension)) - (*extension ? 1 : 0);
    /* a map of classes must not be changed by JPEG */
    const char *as = !*suffix && cli_output_kind(name) == CLI_FILE_IMAGE ? extension : "png";
    const size_t room = strlen(output) + strlen(name) + strlen(suffix) + 32;
    char *path = malloc(room);
    for (size_t i = 1; path; i++) {
        char number[24] = "";
        if (i > 1) {
            snprintf(number, sizeof number, "-%zu", i);
        }
        snprintf(path, room, "%s%s%.*s%s%s.%s", output,
                 output[strlen(output) - 1] == '/' ? "" : "/", stem, name, number, suffix, as);
        if (!is_used(*used, *used_count, path)) {
            break;
        }
    }
    if (path && !add(used, used_count, strdup(path))) {
        free(path);
        return NULL;
    }
    return path;
}
