/* SPDX-License-Identifier: Apache-2.0 */
/* Data to train on: samples by index, from a folder of pictures, pairs of pictures, pictures with
 * masks or boxes, IDX files or an archive of arrays. One reader a file, train_data_<kind>.c; the table of them is train_data.c. */
#ifndef CLI_TRAIN_DATA_H
#define CLI_TRAIN_DATA_H

#include "held_tensor.h"
#include "image.h"
#include "skipped_files.h"

#include <rynd/eval.h>

typedef struct cli_dataset cli_dataset;

enum { CLI_TRAIN_INPUTS = 16 }; /* most inputs of a model */

/* Requirements on a data set. */
typedef struct cli_data_wish {
    int64_t factor; /* pairs without small pictures: downscaling factor; else 0 */
    /* the model's: an archive has an array `x` for the only one, or one of the name of each, which
     * are converted where nothing is lost; 0: x of any type */
    const rynd_value_info *inputs;
    size_t input_count; /* at most CLI_TRAIN_INPUTS */
    bool classes;       /* an archive's y are indices of classes */
    bool pictures;      /* but with four dimensions, y are pictures, of any type */
    bool guess;         /* treat y as classes if its dtype is an integer */
    rynd_dtype target;  /* dtype of an archive's y if not classes; NONE: any */
} cli_data_wish;

/* One sample: pictures as the file has them (0 to 255), or rows of the set's arrays. */
typedef struct cli_sample {
    cli_image picture, target; /* pixels NULL: there is none; owned */
    /* a row per array; dtype NONE: absent; borrowed */
    rynd_tensor x[CLI_TRAIN_INPUTS], y;
    int64_t label;        /* class index; -1: no class */
    const char *name;     /* a mask's or picture's file; borrowed */
    rynd_object *objects; /* boxes in pixels, without crowds; owned; NULL: no boxes */
    size_t object_count;
} cli_sample;

void cli_sample_free(cli_sample *sample);

/* A reader. Its functions fail with messages that name the file. */
typedef struct cli_dataset_kind {
    const char *name; /* "pictures in folders of classes" */
    bool (*recognises)(const char *path);
    bool (*open)(cli_dataset *set, const cli_data_wish *wish, cli_failure *failure);
    /* Any thread, several at once. A failure means that this sample is broken. */
    bool (*read)(const cli_dataset *set, size_t index, cli_sample *sample, cli_failure *failure);
    void (*close)(cli_dataset *set);
} cli_dataset_kind;

extern const cli_dataset_kind cli_data_folder, cli_data_pairs, cli_data_masks, cli_data_coco,
    cli_data_yolo, cli_data_idx, cli_data_npz;

struct cli_dataset {
    const cli_dataset_kind *kind;
    const char *path; /* borrowed */
    size_t count;     /* samples: at least 1 */
    /* class names by label, or NULL; owned */
    char **classes;
    size_t class_count; /* 0: samples have no labels */
    bool pairs;         /* pictures have pictures as targets */
    bool masks;         /* pictures have maps of classes as targets */
    size_t most_boxes;  /* pictures have boxes as targets, at most so many; 0: no boxes */
    /* a hash of what the samples are: of arrays their bytes, of picture files names and sizes */
    uint64_t content;
    cli_skipped_files skipped; /* files of the folder that are no samples */
    void *own;                 /* the reader's */
};

/* Has each sample, or each of its positions, one class? */
static inline bool cli_dataset_has_classes(const cli_dataset *set)
{
    return (set->class_count > 0 && !set->most_boxes) || set->masks;
}

/* Detects the kind of data, and opens it. */
bool cli_dataset_open(cli_dataset *set, const char *path, const cli_data_wish *wish,
                      cli_failure *failure);
/* Opens data of a known kind. */
bool cli_dataset_open_kind(cli_dataset *set, const cli_dataset_kind *kind, const char *path,
                           const cli_data_wish *wish, cli_failure *failure);
void cli_dataset_close(cli_dataset *set);

/* Path and class of a picture of cli_data_folder; the path is the set's. */
const char *cli_data_folder_path(const cli_dataset *set, size_t index, int64_t *label);

/* Adds to set->content. */
void cli_dataset_add_content(cli_dataset *set, const void *bytes, size_t size);
/* Adds the name of a picture's file, with the size that it has in `folder`. */
void cli_dataset_add_file(cli_dataset *set, const char *folder, const char *name);

#endif
