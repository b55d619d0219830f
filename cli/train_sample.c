/* SPDX-License-Identifier: Apache-2.0 */
/* Samples, and the hash of a data set's content. */
#include "folder_list.h"
#include "train_data.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void cli_sample_free(cli_sample *sample)
{
    cli_image_free(&sample->picture);
    cli_image_free(&sample->target);
    free(sample->objects);
}

void cli_dataset_add_content(cli_dataset *set, const void *bytes, size_t size)
{
    const uint64_t prime = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t hash = (set->content ^ size) * prime, word;
    const char *at = bytes;
    for (; size > 0; at += sizeof word) {
        const size_t part = size < sizeof word ? size : sizeof word;
        word = 0;
        memcpy(&word, at, part);
        hash = (hash ^ word) * prime;
        hash ^= hash >> 29;
        size -= part;
    }
    set->content = hash;
}

void cli_dataset_add_file(cli_dataset *set, const char *folder, const char *name)
{
    struct stat about;
    char *path = cli_path_join(folder, name);
    const int64_t size = path && stat(path, &about) == 0 ? (int64_t)about.st_size : -1;
    free(path);
    cli_dataset_add_content(set, name, strlen(name));
    cli_dataset_add_content(set, &size, sizeof size);
}
