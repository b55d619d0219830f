/* SPDX-License-Identifier: Apache-2.0 */
/* MNIST and its like: an IDX file of pictures, and beside it the file of their classes, whose name
 * has 'labels' for 'images' and 'idx1' for 'idx3'; either may be packed by gzip. */
#include "gzip_stream.h"
#include "idx.h"
#include "input_file.h"
#include "train_data.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct idx_set {
    cli_idx pictures, labels;
} idx_set;

static bool recognises(const char *path)
{
    cli_bytes bytes;
    cli_failure ignored = {0};
    if (!cli_input_map(path, &bytes, &ignored)) {
        return false;
    }
    const unsigned char *data = bytes.data;
    const bool is = cli_is_gzip(&bytes) || (bytes.size >= 4 && data[0] == 0 && data[1] == 0);
    cli_input_unmap(&bytes);
    return is;
}

static bool read_file(const char *path, cli_idx *idx, cli_failure *failure)
{
    cli_bytes bytes;
    if (!cli_input_map(path, &bytes, failure)) {
        return false;
    }
    bool good;
    if (cli_is_gzip(&bytes)) {
        cli_stream stream;
        good =
            cli_gzip_begin(&stream, &bytes, path, failure) && cli_idx_read(&stream, idx, failure);
        cli_gzip_end(&stream);
    } else {
        cli_stream stream = cli_stream_of_memory(&bytes, path);
        good = cli_idx_read(&stream, idx, failure);
    }
    cli_input_unmap(&bytes);
    return good;
}

/* Replaces text in the last component of the path only. */
static void replace(char *path, const char *old, const char *with)
{
    char *name = strrchr(path, '/'), *at = strstr(name ? name : path, old);
    if (at) {
        for (; *with; at++, with++) { /* both have the same length */
            *at = *with;
        }
    }
}

/* The path of the labels; free() it. NULL: out of memory, or there is none. */
static char *labels_of(const char *path, cli_failure *failure)
{
    const size_t length = strlen(path);
    char *labels = malloc(length + 4);
    if (!labels) {
        cli_fail_memory(failure);
        return NULL;
    }
    memcpy(labels, path, length + 1);
    replace(labels, "images", "labels");
    replace(labels, "idx3", "idx1");
    const bool packed = length > 3 && strcmp(labels + length - 3, ".gz") == 0;
    if (access(labels, F_OK) != 0) { /* one packed, the other not */
        if (packed) {
            labels[length - 3] = 0;
        } else {
            snprintf(labels + length, 4, ".gz");
        }
    }
    if (strcmp(labels, path) == 0 || access(labels, F_OK) != 0) {
        cli_fail(
            failure,
            "'%s': the file of labels is missing beside it; its name has 'labels' for 'images' and"
            " 'idx1' for 'idx3' (train-images-idx3-ubyte, train-labels-idx1-ubyte)",
            path);
        free(labels);
        return NULL;
    }
    return labels;
}

static bool check(cli_dataset *set, const char *labels, cli_failure *failure)
{
    const idx_set *own = set->own;
    const cli_idx *p = &own->pictures, *l = &own->labels;
    const bool pictures = p->rank == 3 || (p->rank == 4 && (p->dim[3] == 1 || p->dim[3] == 3));
    if (!pictures || p->dim[1] > 65535 || p->dim[2] > 65535) {
        return cli_fail(
            failure,
            "'%s' has no pictures: give [count, height, width] with sides up to 65535, or [count, "
            "height, width, channels] with 1 or 3 channels",
            set->path);
    }
    if (l->rank != 1 || l->dim[0] != p->dim[0]) {
        return cli_fail(failure,
                        "'%s' has %" PRId64 " pictures, but '%s' %" PRId64 " classes of rank %d",
                        set->path, p->dim[0], labels, l->dim[0], l->rank);
    }
    set->count = (size_t)p->dim[0];
    for (size_t i = 0; i < set->count; i++) {
        const size_t label = l->data[i];
        set->class_count = label >= set->class_count ? label + 1 : set->class_count;
    }
    return true;
}

static bool open_idx(cli_dataset *set, const cli_data_wish *wish, cli_failure *failure)
{
    (void)wish;
    idx_set *own = set->own = calloc(1, sizeof *own);
    if (!own) {
        return cli_fail_memory(failure);
    }
    if (!read_file(set->path, &own->pictures, failure)) {
        return false;
    }
    char *labels = labels_of(set->path, failure);
    const bool good =
        labels && read_file(labels, &own->labels, failure) && check(set, labels, failure);
    free(labels);
    if (good) {
        const cli_idx *p = &own->pictures;
        const size_t channels = p->rank == 4 ? (size_t)p->dim[3] : 1;
        cli_dataset_add_content(set, p->data,
                                set->count * (size_t)(p->dim[1] * p->dim[2]) * channels);
        cli_dataset_add_content(set, own->labels.data, set->count);
    }
    return good;
}

static bool read_sample(const cli_dataset *set, size_t index, cli_sample *sample,
                        cli_failure *failure)
{
    const idx_set *own = set->own;
    const cli_idx *p = &own->pictures;
    const int channels = p->rank == 4 ? (int)p->dim[3] : 1;
    const size_t size = (size_t)(p->dim[1] * p->dim[2]) * (size_t)channels;
    const unsigned char *from = p->data + index * size;
    *sample = (cli_sample){.label = own->labels.data[index]};
    if (!cli_image_make(&sample->picture, p->dim[1], p->dim[2], channels, set->path, failure)) {
        return false;
    }
    sample->picture.bits = 8;
    for (size_t i = 0; i < size; i++) {
        sample->picture.pixels[i] = from[i];
    }
    return true;
}

static void close_idx(cli_dataset *set)
{
    idx_set *own = set->own;
    if (own) {
        free(own->pictures.data);
        free(own->labels.data);
    }
    free(own);
}

const cli_dataset_kind cli_data_idx = {
    .name = "IDX files of pictures and classes",
    .recognises = recognises,
    .open = open_idx,
    .read = read_sample,
    .close = close_idx,
};
