/* SPDX-License-Identifier: Apache-2.0 */
/* The table of readers. */
#include "train_data.h"

#include "folder_list.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* In this order they are asked. */
static const cli_dataset_kind *const kinds[] = {&cli_data_pairs,  &cli_data_masks, &cli_data_yolo,
                                                &cli_data_folder, &cli_data_npz,   &cli_data_coco,
                                                &cli_data_idx};

bool cli_dataset_open_kind(cli_dataset *set, const cli_dataset_kind *kind, const char *path,
                           const cli_data_wish *wish, cli_failure *failure)
{
    *set = (cli_dataset){.path = path, .kind = kind};
    if (!kind->open(set, wish, failure)) {
        cli_dataset_close(set);
        return false;
    }
    return true;
}

bool cli_dataset_open(cli_dataset *set, const char *path, const cli_data_wish *wish,
                      cli_failure *failure)
{
    struct stat about;
    *set = (cli_dataset){.path = path};
    if (stat(path, &about) != 0) {
        return cli_fail(failure, "'%s' cannot be read: %s", path, strerror(errno));
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (kinds[i]->recognises(path)) {
            return cli_dataset_open_kind(set, kinds[i], path, wish, failure);
        }
    }
    return cli_fail(
        failure,
        "'%s' is no training data. Give a folder of folders: classes, 'high' and 'low', "
        "'images' and 'masks', or 'images' and 'labels'. Or give a .json of COCO's "
        "boxes, an .npz of x and y, or an IDX file of pictures.",
        path);
}

void cli_dataset_close(cli_dataset *set)
{
    if (set->kind) {
        set->kind->close(set);
        cli_names_free(set->classes, set->classes ? set->class_count : 0);
    }
    *set = (cli_dataset){0};
}
