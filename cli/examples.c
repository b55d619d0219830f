/* SPDX-License-Identifier: Apache-2.0 */
/* Lists example inputs, and reads one at a time. */
#include "examples.h"

#include "file_names.h"
#include "files.h"
#include "folder_list.h"
#include "wording.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool is_example(const char *path, const char *name)
{
    struct stat about;
    return cli_input_kind(name) != CLI_FILE_NONE && stat(path, &about) == 0 &&
           S_ISREG(about.st_mode);
}

static bool add_file(cli_examples *e, const char *folder, const char *name, int64_t label,
                     cli_failure *failure)
{
    if (e->count == e->room) {
        cli_example_file *grown = realloc(e->files, (2 * e->room + 64) * sizeof *grown);
        if (!grown) {
            return cli_fail_memory(failure);
        }
        e->files = grown;
        e->room = 2 * e->room + 64;
    }
    e->files[e->count] = (cli_example_file){cli_path_join(folder, name), label};
    return e->files[e->count].path ? e->count++, true : cli_fail_memory(failure);
}

static bool add_folder(cli_examples *e, const char *folder, int64_t label, cli_failure *failure)
{
    char **names = NULL;
    size_t count = 0;
    bool good = cli_folder_list(folder, is_example, &names, &count, failure);
    for (size_t i = 0; good && i < count; i++) {
        good = add_file(e, folder, names[i], label, failure);
    }
    cli_names_free(names, count);
    return good;
}

/* Files of the folder itself, then those of its folders, each a class. */
static bool open_folder(cli_examples *e, cli_failure *failure)
{
    char **classes = NULL;
    size_t count = 0;
    bool good = add_folder(e, e->path, -1, failure);
    const size_t loose = e->count;
    good = good && cli_folder_list(e->path, cli_is_inner_folder, &classes, &count, failure);
    for (size_t i = 0; good && i < count; i++) {
        char *path = cli_path_join(e->path, classes[i]);
        good = path ? add_folder(e, path, (int64_t)i, failure) : cli_fail_memory(failure);
        free(path);
    }
    cli_names_free(classes, count);
    e->labelled = e->count > 0 && loose == 0;
    return good;
}

/* The arrays of an archive. */
typedef struct filling {
    cli_examples *examples;
    size_t to;
} filling;

static bool wants(void *user, const char *name)
{
    filling *f = user;
    const cli_examples *e = f->examples;
    for (f->to = 0; name && f->to < e->inputs; f->to++) {
        if (strcmp(name, e->infos[f->to].name) == 0 || (e->inputs == 1 && strcmp(name, "x") == 0)) {
            return true;
        }
    }
    f->to = name && strcmp(name, "y") == 0 ? e->inputs : 0;
    return !name || f->to == e->inputs;
}

/* Rows of an array that are one example; 0: the shapes do not fit. */
static int64_t rows_of(const rynd_value_info *info, const rynd_tensor *array)
{
    bool same = info->rank == array->rank && info->rank > 0;
    for (int d = 1; same && d < info->rank; d++) {
        same = info->dim[d] < 0 || info->dim[d] == array->dim[d];
    }
    const int64_t rows = same && info->dim[0] > 0 ? info->dim[0] : 1;
    return same && array->dim[0] % rows == 0 ? rows : 0;
}

static bool fits(void *user, const rynd_tensor *head, cli_failure *failure)
{
    const filling *f = user;
    cli_examples *e = f->examples;
    if (e->arrays[f->to].view.dtype != RYND_DTYPE_NONE) {
        return cli_fail(failure, "'%s': an input has two arrays: by its name, and as 'x'", e->path);
    }
    if (f->to == e->inputs) {
        return head->rank == 1
                   ? true
                   : cli_fail(failure, "'%s': y has shape %s; give one class for each example",
                              e->path, cli_shape_of_tensor(head).text);
    }
    const rynd_value_info *info = &e->infos[f->to];
    e->rows[f->to] = rows_of(info, head);
    return e->rows[f->to]
               ? true
               : cli_fail(failure,
                          "'%s': the array for input '%s' has shape %s, but the input is "
                          "%s; give one example after the other along the first "
                          "dimension",
                          e->path, info->name, cli_shape_of_tensor(head).text,
                          cli_shape_of_value(info).text);
}

static bool take(void *user, cli_tensor *tensor, cli_failure *failure)
{
    const filling *f = user;
    cli_examples *e = f->examples;
    cli_conversion done;
    const bool labels = f->to == e->inputs;
    if (!cli_tensor_convert(tensor, labels ? RYND_DTYPE_I64 : e->infos[f->to].dtype, &done,
                            failure)) {
        return cli_fail_prefix(failure, "'%s': the array for %s%s: ", e->path,
                               labels ? "" : "input ", labels ? "y" : e->infos[f->to].name);
    }
    if (!cli_is_row_major(&tensor->view)) {
        if (!cli_tensor_copy_of(&tensor->view, &e->arrays[f->to], failure)) {
            return false;
        }
        cli_tensor_free(tensor);
    } else {
        e->arrays[f->to] = *tensor;
    }
    *tensor = (cli_tensor){0};
    return true;
}

static bool check_archive(cli_examples *e, cli_failure *failure)
{
    for (size_t i = 0; i < e->inputs; i++) {
        const rynd_tensor *array = &e->arrays[i].view;
        if (array->dtype == RYND_DTYPE_NONE) {
            return cli_fail(failure, "'%s' has no array for input '%s': name it so%s", e->path,
                            e->infos[i].name, e->inputs == 1 ? ", or 'x'" : "");
        }
        const size_t count = (size_t)(array->dim[0] / e->rows[i]);
        if (i && count != e->count) {
            return cli_fail(failure, "'%s' has %zu examples for input '%s', and %zu for '%s'",
                            e->path, e->count, e->infos[0].name, count, e->infos[i].name);
        }
        e->count = count;
    }
    const rynd_tensor *y = &e->arrays[e->inputs].view;
    e->labelled = y->dtype != RYND_DTYPE_NONE;
    return !e->labelled || (size_t)y->dim[0] == e->count
               ? true
               : cli_fail(failure, "'%s' has %zu examples, and %" PRId64 " classes in y", e->path,
                          e->count, y->dim[0]);
}

static bool open_archive(cli_examples *e, const cli_setup *setup, const cli_common *common,
                         cli_failure *failure)
{
    e->inputs = rynd_model_input_count(setup->model);
    e->arrays = calloc(e->inputs + 1, sizeof *e->arrays);
    e->infos = calloc(e->inputs + 1, sizeof *e->infos);
    e->rows = calloc(e->inputs + 1, sizeof *e->rows);
    if (!e->arrays || !e->infos || !e->rows) {
        return cli_fail_memory(failure);
    }
    for (size_t i = 0; i < e->inputs; i++) {
        e->infos[i] = RYND_SIZED(rynd_value_info);
        if (rynd_model_get_input(setup->model, i, &e->infos[i]) != RYND_OK) {
            return cli_fail_library(failure);
        }
        if (e->infos[i].rank > 0 && e->infos[i].dim[0] < 0 && common->batch > 0) {
            e->infos[i].dim[0] = common->batch;
        }
    }
    filling f = {.examples = e};
    const cli_receiver receiver = {
        .user = &f, .wants = wants, .fits = fits, .take = take, .elements = -1};
    return cli_tensors_read(setup->context, e->path, &receiver, failure) &&
           check_archive(e, failure);
}

bool cli_examples_open(cli_examples *e, const char *path, const cli_setup *setup,
                       const cli_common *common, bool labelled, cli_failure *failure)
{
    *e = (cli_examples){.path = path};
    const bool is_archive = !cli_is_folder(path) && strcmp(cli_extension(path), "npz") == 0;
    if (!is_archive && !cli_is_folder(path)) {
        return cli_fail(failure,
                        "'%s' is neither a folder nor an .npz; give a folder of pictures or "
                        "tensors, or an .npz with an array for each input",
                        path);
    }
    if (!(is_archive ? open_archive(e, setup, common, failure) : open_folder(e, failure))) {
        return false;
    }
    if (e->count == 0) {
        return cli_fail(failure, "'%s' has no example: no .png, .jpg, .npy, .npz or .pb", path);
    }
    return !labelled || e->labelled
               ? true
               : cli_fail(failure, "'%s' has no classes: %s", path,
                          is_archive ? "add an array y" : "put the files into a folder per class");
}

void cli_examples_close(cli_examples *e)
{
    for (size_t i = 0; e->files && i < e->count; i++) {
        free(e->files[i].path);
    }
    for (size_t i = 0; e->arrays && i <= e->inputs; i++) {
        cli_tensor_free(&e->arrays[i]);
    }
    free(e->files);
    free(e->arrays);
    free(e->infos);
    free(e->rows);
    *e = (cli_examples){0};
}

static bool read_rows(const cli_examples *e, size_t index, cli_example *example,
                      cli_failure *failure)
{
    example->own = calloc(e->inputs + 1, sizeof *example->own);
    if (!example->own) {
        return cli_fail_memory(failure);
    }
    for (size_t i = 0; i < e->inputs; i++) {
        const rynd_tensor *array = &e->arrays[i].view;
        rynd_tensor *row = &example->own[i];
        *row = *array;
        row->dim[0] = e->rows[i];
        row->data = (char *)array->data + (int64_t)index * e->rows[i] * array->stride[0] *
                                              (int64_t)rynd_dtype_size(array->dtype);
    }
    example->views = example->own;
    example->label = e->labelled ? ((const int64_t *)e->arrays[e->inputs].view.data)[index] : -1;
    return true;
}

bool cli_examples_read(const cli_examples *e, size_t index, const cli_setup *setup,
                       const cli_common *common, const cli_preprocess *preprocess,
                       cli_example *example, cli_failure *failure)
{
    *example = (cli_example){0};
    if (e->arrays) {
        return read_rows(e, index, example, failure);
    }
    const char *file = e->files[index].path;
    const cli_run_settings settings = {
        .common = *common, .inputs = {.items = &file, .count = 1}, .preprocess = *preprocess};
    example->label = e->files[index].label;
    if (!cli_inputs_open(&example->held, setup, &settings, failure)) {
        return false;
    }
    example->views = example->held.views;
    return true;
}

void cli_example_free(cli_example *example)
{
    cli_inputs_free(&example->held);
    free(example->own);
    *example = (cli_example){0};
}
