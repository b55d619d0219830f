/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs of pictures: DIR/high/NAME is what DIR/low/NAME shall become, by the same name; without
 * DIR/low the small pictures are made of the large ones, which are cut to a multiple of the factor
 * and resized as --size does. */
#include "file_names.h"
#include "files.h"
#include "resample.h"
#include "train_data.h"

#include "folder_list.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct pairs {
    char **low, **high; /* paths; low NULL: made */
    int64_t factor;
} pairs;

static bool recognises(const char *path)
{
    char *high = cli_inner_folder(path, "high");
    free(high);
    return high != NULL;
}

static bool check_names(const cli_dataset *set, char **low, size_t count, cli_failure *failure)
{
    const pairs *own = set->own;
    for (size_t i = 0; i < count || i < set->count; i++) {
        const int order = i >= count ? 1 : i >= set->count ? -1 : strcmp(low[i], own->high[i]);
        if (order != 0) {
            return cli_fail(failure, "'%s': '%s/%s' has no picture of that name in '%s'", set->path,
                            order < 0 ? "low" : "high", order < 0 ? low[i] : own->high[i],
                            order < 0 ? "high" : "low");
        }
    }
    return true;
}

static void add_files(cli_dataset *set, const char *folder, char *const *names)
{
    for (size_t i = 0; i < set->count; i++) {
        cli_dataset_add_file(set, folder, names[i]);
    }
}

static bool open_low(cli_dataset *set, const char *folder, cli_failure *failure)
{
    pairs *own = set->own;
    size_t count = 0;
    if (!cli_folder_list(folder, cli_is_picture_file, &own->low, &count, failure)) {
        return false;
    }
    if (!check_names(set, own->low, count, failure)) {
        cli_names_free(own->low, count);
        own->low = NULL;
        return false;
    }
    add_files(set, folder, own->low);
    return cli_names_join(folder, own->low, count, failure);
}

static bool open_both(cli_dataset *set, const cli_data_wish *wish, const char *low,
                      const char *high, cli_failure *failure)
{
    pairs *own = set->own;
    if (!high || !cli_folder_list(high, cli_is_picture_file, &own->high, &set->count, failure)) {
        return high ? false : cli_fail_memory(failure);
    }
    if (set->count == 0) {
        return cli_fail(failure, "'%s' has no picture (.png, .jpg)", high);
    }
    if (!low && wish->factor < 2) {
        return cli_fail_usage(
            failure,
            "'%s' has large pictures in 'high' and no 'low': give --factor N, the ratio of their "
            "size to the model's input",
            set->path);
    }
    own->factor = wish->factor;
    add_files(set, high, own->high);
    if (!cli_skipped_count(&set->skipped, high, true, false, failure) ||
        (low && !cli_skipped_count(&set->skipped, low, true, false, failure))) {
        return false;
    }
    return (!low || open_low(set, low, failure)) &&
           cli_names_join(high, own->high, set->count, failure);
}

static bool open_pairs(cli_dataset *set, const cli_data_wish *wish, cli_failure *failure)
{
    set->pairs = true;
    set->own = calloc(1, sizeof(pairs));
    if (!set->own) {
        return cli_fail_memory(failure);
    }
    char *low = cli_inner_folder(set->path, "low"), *high = cli_inner_folder(set->path, "high");
    const bool done = open_both(set, wish, low, high, failure);
    free(low);
    free(high);
    return done;
}

static bool make_small(const char *path, int64_t factor, cli_sample *sample, cli_failure *failure)
{
    cli_image *large = &sample->target, *small = &sample->picture;
    const int64_t height = large->height / factor, width = large->width / factor;
    if (height < 1 || width < 1) {
        return cli_fail(failure,
                        "'%s' is a picture of %" PRId64 "x%" PRId64
                        " (height x width): too small to be made %" PRId64 " times smaller",
                        path, large->height, large->width, factor);
    }
    cli_image_crop(large, height * factor, width * factor);
    if (!cli_image_make(small, large->height, large->width, large->channels, path, failure)) {
        return false;
    }
    memcpy(small->pixels, large->pixels,
           (size_t)(large->height * large->width * large->channels) * sizeof *small->pixels);
    return cli_image_resize(small, height, width, failure);
}

/* One whole number of times larger in both directions. */
static bool check_sizes(const pairs *own, size_t index, const cli_sample *sample,
                        cli_failure *failure)
{
    const cli_image *low = &sample->picture, *high = &sample->target;
    if (high->height % low->height == 0 && high->width % low->width == 0 &&
        high->height / low->height == high->width / low->width) {
        return true;
    }
    return cli_fail(failure,
                    "'%s' is of %" PRId64 "x%" PRId64 ", and '%s' of %" PRId64 "x%" PRId64
                    " (height x width): not a whole number of times as large",
                    own->low[index], low->height, low->width, own->high[index], high->height,
                    high->width);
}

static bool read_sample(const cli_dataset *set, size_t index, cli_sample *sample,
                        cli_failure *failure)
{
    const pairs *own = set->own;
    *sample = (cli_sample){.label = -1};
    bool good = cli_image_read(own->high[index], NULL, &sample->target, failure);
    if (good && own->low) {
        good = cli_image_read(own->low[index], NULL, &sample->picture, failure) &&
               check_sizes(own, index, sample, failure);
    } else if (good) {
        good = make_small(own->high[index], own->factor, sample, failure);
    }
    if (!good) {
        cli_sample_free(sample);
    }
    return good;
}

static void close_pairs(cli_dataset *set)
{
    pairs *own = set->own;
    if (own) {
        cli_names_free(own->low, own->low ? set->count : 0);
        cli_names_free(own->high, own->high ? set->count : 0);
    }
    free(own);
}

const cli_dataset_kind cli_data_pairs = {
    .name = "pairs of pictures",
    .recognises = recognises,
    .open = open_pairs,
    .read = read_sample,
    .close = close_pairs,
};
