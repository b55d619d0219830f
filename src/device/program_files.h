/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled programs on disk, so that the next process need not compile them.
 *
 * They are stored in a folder of the device's kind, in $XDG_CACHE_HOME/rynd or ~/.cache/rynd;
 * RYND_CACHE names another folder than that, or is "off". A file is written under a name of its own
 * and then renamed, and has a checksum: processes may share the folder, and whatever else is wrong
 * with it (damaged, read-only, full, not a folder) costs time only. It holds RY_PROGRAM_FILES_BOUND
 * bytes; what was used longest ago goes first. */
#ifndef RY_DEVICE_PROGRAM_FILES_H
#define RY_DEVICE_PROGRAM_FILES_H

#include "base/memory.h"
#include "device/digest.h"

#define RY_PROGRAM_FILES_BOUND ((size_t)256 << 20)

enum { RY_PROGRAM_FILES_PATH = 1024 };

typedef struct ry_program_files {
    char folder[RY_PROGRAM_FILES_PATH]; /* "": nothing is kept */
    size_t bound;
} ry_program_files;

/* As the environment says it. kind: "opencl". */
void ry_program_files_open(const char *kind, ry_program_files *files);

/* The program of a key, from the allocator; NULL: there is none, or it is damaged. Any thread. */
void *ry_program_files_read(const ry_program_files *files, ry_digest key,
                            const ry_allocator *allocator, size_t *size);

/* Stores a program if the folder can be written. Any thread. */
void ry_program_files_write(const ry_program_files *files, ry_digest key, const void *data,
                            size_t size, const ry_allocator *allocator);

#endif
