/* SPDX-License-Identifier: Apache-2.0 */
/* Detects the kind of data by folders and options, and opens it. */
#include "eval_data.h"

#include "box_list.h"

#include "file_names.h"
#include "file_pairs.h"
#include "folder_list.h"
#include "picture_layout.h"
#include "wording.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* Folders that hold pictures and their truths. */
static const struct layout {
    const char *pictures, *truths, *kind;
    rynd_task task;
} layouts[] = {
    {"images", "masks", "pictures with masks", RYND_TASK_SEGMENT},
    {"inputs", "targets", "pictures with targets", RYND_TASK_IMAGE},
};

static bool list_pairs(cli_eval_data *data, const char *pictures, const char *truths,
                       cli_failure *failure)
{
    cli_file_pairs pairs;
    if (!cli_file_pairs_list(&pairs, pictures, truths, failure)) {
        return false;
    }
    data->files = pairs.first;
    data->truths = pairs.second;
    data->count = pairs.count;
    return true;
}

/* Opens DIR/PICTURES with DIR/TRUTHS; *found: the folders are there. */
static bool open_pairs(cli_eval_data *data, const struct layout *layout, bool *found,
                       cli_failure *failure)
{
    char *pictures = cli_path_join(data->path, layout->pictures),
         *truths = cli_path_join(data->path, layout->truths);
    bool done = pictures && truths ? true : cli_fail_memory(failure);
    *found = done && cli_is_folder(pictures);
    if (*found) {
        data->task = layout->task;
        data->kind = layout->kind;
        done = cli_is_folder(truths)
                   ? list_pairs(data, pictures, truths, failure)
                   : cli_fail(failure, "'%s' is there, but not '%s'", pictures, truths);
    }
    free(pictures);
    free(truths);
    return done;
}

static bool has_folders(const char *path, cli_failure *failure)
{
    char **names;
    size_t count;
    if (!cli_folder_list(path, cli_is_inner_folder, &names, &count, failure)) {
        return false;
    }
    cli_names_free(names, count);
    return count > 0 ? true
                     : cli_fail(failure,
                                "'%s' has no folder in it; give one folder of pictures per class, "
                                "'images' with 'masks', 'inputs' with 'targets', or pictures with "
                                "--boxes",
                                path);
}

/* The pictures of one folder a class, by the reader of `rynd train`. */
static bool open_classes(cli_eval_data *data, cli_failure *failure)
{
    const cli_data_wish wish = {0};
    cli_dataset set;
    if (!cli_dataset_open_kind(&set, &cli_data_folder, data->path, &wish, failure)) {
        return false;
    }
    data->task = RYND_TASK_CLASSIFY;
    data->kind = set.kind->name;
    data->files = calloc(set.count, sizeof *data->files);
    data->labels = calloc(set.count, sizeof *data->labels);
    bool done = data->files && data->labels;
    for (size_t i = 0; done && i < set.count; i++) {
        data->files[i] = strdup(cli_data_folder_path(&set, i, &data->labels[i]));
        done = data->files[i] != NULL;
        data->count += done;
    }
    data->classes = set.classes;
    data->class_count = set.class_count;
    set.classes = NULL; /* they are the data's now */
    cli_dataset_close(&set);
    return done ? true : cli_fail_memory(failure);
}

/* Moves a list into the data, also one that was not read to its end. */
static bool take_boxes(cli_eval_data *data, const cli_box_list *list, bool read)
{
    data->task = RYND_TASK_DETECT;
    data->kind = "pictures with boxes";
    data->files = list->files;
    data->count = list->count;
    data->objects = list->objects;
    data->first = list->first;
    data->classes = list->classes;
    data->class_count = list->class_count;
    return read;
}

/* folder NULL: that of the file. */
static bool open_coco(cli_eval_data *data, const char *path, const char *folder,
                      cli_failure *failure)
{
    cli_box_list list = {0};
    const bool read = cli_coco_read(&list, path, folder, failure);
    return take_boxes(data, &list, read);
}

static bool open_yolo(cli_eval_data *data, cli_failure *failure)
{
    cli_box_list list = {0};
    cli_skipped_files skipped = {0};
    data->fractions = true;
    const bool read = cli_yolo_read(&list, data->path, &skipped, failure);
    return take_boxes(data, &list, read);
}

static bool open_folder(cli_eval_data *data, const cli_eval_settings *settings,
                        cli_failure *failure)
{
    if (settings->boxes) {
        return open_coco(data, settings->boxes, data->path, failure);
    }
    if (cli_is_yolo(data->path)) {
        return open_yolo(data, failure);
    }
    bool found = false;
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        if (!open_pairs(data, &layouts[i], &found, failure)) {
            return false;
        }
        if (found) {
            return true;
        }
    }
    return has_folders(data->path, failure) && open_classes(data, failure);
}

bool cli_eval_is_archive(const char *path)
{
    return strcasecmp(cli_extension(path), "npz") == 0 && !cli_is_folder(path);
}

bool cli_eval_data_open(cli_eval_data *data, const cli_eval_settings *settings,
                        cli_failure *failure)
{
    struct stat about;
    *data = (cli_eval_data){.path = settings->data};
    if (stat(data->path, &about) != 0) {
        return cli_fail(failure, "'%s' cannot be read: %s", data->path, strerror(errno));
    }
    if (cli_is_coco(data->path)) {
        return open_coco(data, data->path, NULL, failure);
    }
    if (!S_ISDIR(about.st_mode)) {
        return cli_fail(failure, "'%s' is neither a folder nor an .npz with arrays x and y",
                        data->path);
    }
    if (!open_folder(data, settings, failure)) {
        return false;
    }
    return data->count > 0 ? true : cli_fail(failure, "'%s' has no picture", data->path);
}

/* The range of pictures by their dtype, if --range does not say it; 0: none is usual. */
static const double usual_ranges[] = {
    [RYND_DTYPE_F32] = 1,     [RYND_DTYPE_F16] = 1,     [RYND_DTYPE_BF16] = 1,
    [RYND_DTYPE_F64] = 1,     [RYND_DTYPE_I8] = 255,    [RYND_DTYPE_U8] = 255,
    [RYND_DTYPE_I16] = 65535, [RYND_DTYPE_U16] = 65535, [RYND_DTYPE_BOOL] = 1,
    [RYND_DTYPE_I32] = 0,     [RYND_DTYPE_I64] = 0,     [RYND_DTYPE_U32] = 0,
    [RYND_DTYPE_U64] = 0,
};

/* Pictures need a range that holds all values. `row`: y of the first row. */
static bool open_pictures(cli_eval_data *data, const rynd_tensor *row, double range,
                          cli_failure *failure)
{
    cli_picture_layout layout;
    const int64_t dim[] = {(int64_t)data->archive.count, row->dim[0], row->dim[1], row->dim[2]};
    const rynd_tensor y = rynd_tensor_of(row->data, row->dtype, 4, dim);
    if (!cli_picture_layout_of(4, dim, 0, &layout)) {
        return cli_fail(failure,
                        "'%s': y is %s; pictures are [N, height, width, C] or [N, C, height, "
                        "width] with 1 or 3 channels",
                        data->path, cli_shape_of_tensor(&y).text);
    }
    const cli_summary values = cli_tensor_summary(&y);
    data->range = range != 0 ? range : usual_ranges[y.dtype];
    if (!(data->range > 0 && values.max - values.min <= data->range) || values.nans ||
        values.infinities) {
        return cli_fail(failure,
                        "'%s': y (%s) has values from %g to %g; --range R tells how far apart the "
                        "largest and the smallest possible value are (255 for bytes, 1 for 0..1)",
                        data->path, rynd_dtype_name(y.dtype), values.min, values.max);
    }
    return true;
}

bool cli_eval_data_open_archive(cli_eval_data *data, const cli_eval_settings *settings,
                                const rynd_model *model, cli_failure *failure)
{
    const char *path = settings->data;
    rynd_value_info inputs[CLI_TRAIN_INPUTS];
    cli_data_wish wish = {.inputs = inputs,
                          .input_count = rynd_model_input_count(model),
                          .classes = true,
                          .pictures = true};
    cli_sample row;
    *data = (cli_eval_data){.path = path, .kind = "rows of arrays"};
    if (wish.input_count < 1 || wish.input_count > CLI_TRAIN_INPUTS) {
        return cli_fail(failure, "the model has %zu inputs; rynd eval takes 1 to %d",
                        wish.input_count, CLI_TRAIN_INPUTS);
    }
    for (size_t i = 0; i < wish.input_count; i++) {
        inputs[i] = RYND_SIZED(rynd_value_info);
        if (rynd_model_get_input(model, i, &inputs[i]) != RYND_OK) {
            return cli_fail_library(failure);
        }
    }
    if (!cli_dataset_open_kind(&data->archive, &cli_data_npz, path, &wish, failure) ||
        !data->archive.kind->read(&data->archive, 0, &row, failure)) {
        return false;
    }
    data->count = data->archive.count;
    switch (row.y.rank) {
    case 0: data->task = RYND_TASK_CLASSIFY; return true;
    case 2: data->task = RYND_TASK_SEGMENT; return true;
    case 3:
        data->task = RYND_TASK_IMAGE;
        return open_pictures(data, &row.y, settings->range, failure);
    default:
        return cli_fail(failure,
                        "'%s': y has %d dimensions; give classes of rows [N], or of pixels [N, "
                        "height, width], or pictures of four dimensions",
                        path, row.y.rank + 1);
    }
}

void cli_eval_data_close(cli_eval_data *data)
{
    cli_names_free(data->files, data->files ? data->count : 0);
    cli_names_free(data->truths, data->truths ? data->count : 0);
    cli_names_free(data->classes, data->classes ? data->class_count : 0);
    free(data->labels);
    free(data->objects);
    free(data->first);
    if (data->archive.kind) {
        cli_dataset_close(&data->archive);
    }
    *data = (cli_eval_data){0};
}
