/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are written whole or not at all: into a new file of the same folder, which gets the
 * name once every byte is on the disk.
 *
 *   RY_TRY(ry_whole_file_begin(&file, path, allocator, error));
 *   good = ry_whole_file_put(&file, bytes, count) && ...;
 *   return ry_whole_file_end(&file, good, error);
 */
#ifndef RY_BASE_WHOLE_FILE_H
#define RY_BASE_WHOLE_FILE_H

#include "base/memory.h"
#include "base/status.h"

typedef struct ry_whole_file {
    const ry_allocator *allocator;
    char *path, *aside; /* links followed; the file that is written */
    int descriptor;
    int cause; /* errno of the first failure */
    size_t used;
    uint8_t *buffer;
} ry_whole_file;

/* Follows a symbolic link; refuses what is there and is no regular file. */
rynd_status ry_whole_file_begin(ry_whole_file *file, const char *path,
                                const ry_allocator *allocator, ry_error *error);
bool ry_whole_file_put(ry_whole_file *file, const void *bytes, size_t count);
/* Gives the file its name, or removes it where something failed or `good` is false; the message is
 * about the file only where the file failed. */
rynd_status ry_whole_file_end(ry_whole_file *file, bool good, ry_error *error);

#endif
