/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures with maps of classes: DIR/images/NAME.jpg and DIR/masks/NAME.png, whose pixels are class
 * numbers, grey values or indices of a palette. */
#include "file_names.h"
#include "file_pairs.h"
#include "files.h"
#include "folder_list.h"
#include "input_file.h"
#include "train_data.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool recognises(const char *path)
{
    char *images = cli_inner_folder(path, "images"), *masks = cli_inner_folder(path, "masks");
    const bool both = images && masks;
    free(images);
    free(masks);
    return both;
}

static void add_content(cli_dataset *set)
{
    const cli_file_pairs *own = set->own;
    for (size_t i = 0; i < own->count; i++) {
        const char *const paths[] = {own->first[i], own->second[i]};
        for (int k = 0; k < 2; k++) {
            char *folder = strdup(paths[k]);
            char *end = folder ? strrchr(folder, '/') : NULL;
            if (end) {
                *end = 0;
                cli_dataset_add_file(set, folder, end + 1);
            }
            free(folder);
        }
    }
}

static bool open_both(cli_dataset *set, const char *images, const char *masks, cli_failure *failure)
{
    cli_file_pairs *own = set->own;
    if (!images || !masks) {
        return cli_fail_memory(failure);
    }
    if (!cli_file_pairs_list(own, images, masks, failure) ||
        !cli_skipped_count(&set->skipped, images, true, false, failure) ||
        !cli_skipped_count(&set->skipped, masks, true, false, failure)) {
        return false;
    }
    set->count = own->count;
    add_content(set);
    return true;
}

static bool open_masks(cli_dataset *set, const cli_data_wish *wish, cli_failure *failure)
{
    (void)wish;
    set->masks = true;
    set->own = calloc(1, sizeof(cli_file_pairs));
    if (!set->own) {
        return cli_fail_memory(failure);
    }
    char *images = cli_inner_folder(set->path, "images"),
         *masks = cli_inner_folder(set->path, "masks");
    const bool done = open_both(set, images, masks, failure);
    free(images);
    free(masks);
    return done;
}

static bool read_mask(const char *path, cli_image *mask, cli_failure *failure)
{
    cli_bytes bytes;
    if (!cli_input_map(path, &bytes, failure)) {
        return false;
    }
    const bool done = cli_png_read_classes(&bytes, path, mask, failure);
    cli_input_unmap(&bytes);
    mask->classes = true;
    return done;
}

static bool check_sizes(const cli_file_pairs *own, size_t index, const cli_sample *sample,
                        cli_failure *failure)
{
    const cli_image *picture = &sample->picture, *mask = &sample->target;
    return (picture->height == mask->height && picture->width == mask->width) ||
           cli_fail(failure,
                    "'%s' is of %" PRId64 "x%" PRId64 ", and '%s' of %" PRId64 "x%" PRId64
                    " (height x width): a mask has the size of its picture",
                    own->second[index], mask->height, mask->width, own->first[index],
                    picture->height, picture->width);
}

static bool read_sample(const cli_dataset *set, size_t index, cli_sample *sample,
                        cli_failure *failure)
{
    const cli_file_pairs *own = set->own;
    *sample = (cli_sample){.label = -1, .name = own->second[index]};
    if (cli_image_read(own->first[index], NULL, &sample->picture, failure) &&
        read_mask(own->second[index], &sample->target, failure) &&
        check_sizes(own, index, sample, failure)) {
        return true;
    }
    cli_sample_free(sample);
    return false;
}

static void close_masks(cli_dataset *set)
{
    if (set->own) {
        cli_file_pairs_free(set->own);
    }
    free(set->own);
}

const cli_dataset_kind cli_data_masks = {
    .name = "pictures with masks",
    .recognises = recognises,
    .open = open_masks,
    .read = read_sample,
    .close = close_masks,
};
