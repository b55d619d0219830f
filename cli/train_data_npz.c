/* SPDX-License-Identifier: Apache-2.0 */
/* An archive with the arrays x, or one of the name of each of several inputs, and y: sample i is
 * row i of all. They become of the model's types, y int64 where it holds classes, where no value is
 * lost; nothing else is done to them. */
#include "file_names.h"
#include "files.h"
#include "train_data.h"
#include "wording.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct npz_set {
    const char *path;
    size_t inputs; /* arrays; behind them y */
    const char *names[CLI_TRAIN_INPUTS + 1];
    cli_tensor arrays[CLI_TRAIN_INPUTS + 1];
    size_t at; /* which one is being read */
} npz_set;

static bool recognises(const char *path)
{
    return strcasecmp(cli_extension(path), "npz") == 0 && !cli_is_folder(path);
}

static bool wants(void *user, const char *name)
{
    npz_set *own = user;
    for (size_t i = 0; name && i <= own->inputs; i++) {
        if (strcmp(name, own->names[i]) == 0) {
            own->at = i;
            return true;
        }
    }
    return false;
}

static bool fits(void *user, const rynd_tensor *head, cli_failure *failure)
{
    const npz_set *own = user;
    if (own->arrays[own->at].view.dtype != RYND_DTYPE_NONE) {
        return cli_fail(failure, "'%s' has two arrays '%s'", own->path, own->names[own->at]);
    }
    return head->rank >= 1 && rynd_tensor_elements(head) > 0
               ? true
               : cli_fail(failure, "'%s': array '%s' is %s: there are no rows in it", own->path,
                          own->names[own->at], cli_shape_of_tensor(head).text);
}

/* Rows are read as memory: Fortran's order becomes C's. */
static bool take(void *user, cli_tensor *tensor, cli_failure *failure)
{
    npz_set *own = user;
    cli_tensor *to = &own->arrays[own->at];
    if (!cli_is_row_major(&tensor->view)) {
        return cli_tensor_copy_of(&tensor->view, to, failure);
    }
    *to = *tensor;
    *tensor = (cli_tensor){0};
    return true;
}

static bool convert(cli_dataset *set, size_t array, rynd_dtype dtype, cli_failure *failure)
{
    npz_set *own = set->own;
    cli_conversion done;
    return dtype == RYND_DTYPE_NONE ||
           cli_tensor_convert(&own->arrays[array], dtype, &done, failure) ||
           cli_fail_prefix(failure, "'%s': array '%s': ", set->path, own->names[array]);
}

/* Indices of classes are counted from 0. */
static bool count_classes(cli_dataset *set, cli_failure *failure)
{
    const npz_set *own = set->own;
    const rynd_tensor *y = &own->arrays[own->inputs].view;
    const int64_t *labels = y->data, count = rynd_tensor_elements(y);
    int64_t most = 0;
    for (int64_t i = 0; i < count; i++) {
        if (labels[i] < 0) {
            return cli_fail(failure, "'%s': y has the class %" PRId64 "; they are counted from 0",
                            set->path, labels[i]);
        }
        most = labels[i] > most ? labels[i] : most;
    }
    set->class_count = (size_t)most + 1;
    return true;
}

static bool is_whole(rynd_dtype dtype)
{
    return dtype >= RYND_DTYPE_I8 && dtype <= RYND_DTYPE_U64;
}

static bool name_arrays(npz_set *own, const cli_data_wish *wish, cli_failure *failure)
{
    own->inputs = wish->input_count > 1 ? wish->input_count : 1;
    own->names[0] = "x";
    for (size_t i = 0; own->inputs > 1 && i < own->inputs; i++) {
        own->names[i] = wish->inputs[i].name;
        if (strcmp(own->names[i], "y") == 0) {
            return cli_fail(
                failure,
                "'%s': the model has an input 'y', the name of the targets; rename the input",
                own->path);
        }
    }
    own->names[own->inputs] = "y";
    return true;
}

static bool check_arrays(const npz_set *own, cli_failure *failure)
{
    const rynd_tensor *first = &own->arrays[0].view;
    for (size_t i = 0; i <= own->inputs; i++) {
        if (own->arrays[i].view.dtype == RYND_DTYPE_NONE) {
            return cli_fail(failure, "'%s' has no array '%s'; it needs %s and y (targets)",
                            own->path, own->names[i],
                            own->inputs > 1
                                ? "one array per input of the model (with the input's name)"
                                : "x (inputs)");
        }
    }
    for (size_t i = 1; i <= own->inputs; i++) {
        const int64_t rows = own->arrays[i].view.dim[0];
        if (rows != first->dim[0]) {
            return cli_fail(failure, "'%s': %s has %" PRId64 " rows, and %s %" PRId64, own->path,
                            own->names[0], first->dim[0], own->names[i], rows);
        }
    }
    return true;
}

static bool open_npz(cli_dataset *set, const cli_data_wish *wish, cli_failure *failure)
{
    npz_set *own = set->own = calloc(1, sizeof *own);
    if (!own) {
        return cli_fail_memory(failure);
    }
    own->path = set->path;
    const cli_receiver receiver = {
        .user = own, .wants = wants, .fits = fits, .take = take, .elements = -1};
    if (!name_arrays(own, wish, failure) ||
        !cli_tensors_read(NULL, set->path, &receiver, failure) || !check_arrays(own, failure)) {
        return false;
    }
    set->count = (size_t)own->arrays[0].view.dim[0];
    for (size_t i = 0; i < wish->input_count; i++) {
        if (!convert(set, i, wish->inputs[i].dtype, failure)) {
            return false;
        }
    }
    for (size_t i = 0; i <= own->inputs; i++) {
        const rynd_tensor *array = &own->arrays[i].view;
        cli_dataset_add_content(
            set, array->data, (size_t)rynd_tensor_elements(array) * rynd_dtype_size(array->dtype));
    }
    const rynd_tensor *y = &own->arrays[own->inputs].view;
    const bool pictures = wish->pictures && y->rank == 4,
               classes = !pictures && (wish->classes || (wish->guess && is_whole(y->dtype)));
    return convert(set, own->inputs, classes ? RYND_DTYPE_I64 : wish->target, failure) &&
           (!classes || count_classes(set, failure));
}

static rynd_tensor row_of(const rynd_tensor *array, size_t index)
{
    rynd_tensor row = rynd_tensor_of(NULL, array->dtype, array->rank - 1,
                                     array->rank > 1 ? array->dim + 1 : NULL);
    row.data =
        (char *)array->data + index * (size_t)array->stride[0] * rynd_dtype_size(array->dtype);
    return row;
}

static bool read_sample(const cli_dataset *set, size_t index, cli_sample *sample,
                        cli_failure *failure)
{
    const npz_set *own = set->own;
    (void)failure;
    *sample = (cli_sample){.label = -1, .y = row_of(&own->arrays[own->inputs].view, index)};
    for (size_t i = 0; i < own->inputs; i++) {
        sample->x[i] = row_of(&own->arrays[i].view, index);
    }
    return true;
}

static void close_npz(cli_dataset *set)
{
    npz_set *own = set->own;
    for (size_t i = 0; own && i <= own->inputs; i++) {
        cli_tensor_free(&own->arrays[i]);
    }
    free(own);
}

const cli_dataset_kind cli_data_npz = {
    .name = "an archive of x and y",
    .recognises = recognises,
    .open = open_npz,
    .read = read_sample,
    .close = close_npz,
};
