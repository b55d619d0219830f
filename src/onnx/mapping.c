/* SPDX-License-Identifier: Apache-2.0 */
/* Mapping files, and keeping a model inside its folder. */
#define _DEFAULT_SOURCE /* madvise, realpath */
#include "onnx/mapping.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The size of a regular file that is not empty. */
static rynd_status check_file(int file, const char *path, size_t *size, ry_error *error)
{
    struct stat about;
    if (fstat(file, &about) != 0) {
        return ry_fail(error, RYND_ERROR_IO, "%s: cannot be read: %s", path, strerror(errno));
    }
    if (S_ISDIR(about.st_mode)) {
        return ry_fail(error, RYND_ERROR_IO, "%s: is a folder, not a file", path);
    }
    if (!S_ISREG(about.st_mode)) {
        return ry_fail(error, RYND_ERROR_IO, "%s: is not a regular file; it cannot be mapped",
                       path);
    }
    if (about.st_size == 0) {
        return ry_fail(error, RYND_ERROR_FORMAT, "%s: the file is empty", path);
    }
    if ((uintmax_t)about.st_size > SIZE_MAX) {
        return ry_fail(error, RYND_ERROR_IO, "%s: the file does not fit into the address space",
                       path);
    }
    *size = (size_t)about.st_size;
    return RYND_OK;
}

static rynd_status map_file(int file, const char *path, const ry_allocator *allocator,
                            ry_mapping **list, ry_error *error)
{
    size_t size = 0;
    RY_TRY(check_file(file, path, &size, error));
    ry_mapping *mapping = ry_allocate(allocator, sizeof *mapping + strlen(path) + 1);
    if (!mapping) {
        return ry_fail_memory(error);
    }
    void *data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
    if (data == MAP_FAILED) {
        ry_release(allocator, mapping);
        return ry_fail(error, RYND_ERROR_IO, "%s: cannot be mapped: %s", path, strerror(errno));
    }
    *mapping = (ry_mapping){.next = *list, .data = data, .size = size};
    memcpy(mapping->path, path, strlen(path) + 1);
    *list = mapping;
    return RYND_OK;
}

rynd_status ry_mapping_open(const char *path, const ry_allocator *allocator, ry_mapping **list,
                            const ry_mapping **mapping, ry_error *error)
{
    for (const ry_mapping *m = *list; m; m = m->next) {
        if (strcmp(m->path, path) == 0) {
            *mapping = m;
            return RYND_OK;
        }
    }
    /* O_NONBLOCK: opening a pipe must not wait for its writer. */
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) {
        return ry_fail(error, RYND_ERROR_IO, "%s: cannot be opened: %s", path, strerror(errno));
    }
    rynd_status status = map_file(file, path, allocator, list, error);
    close(file);
    if (status == RYND_OK) {
        *mapping = *list;
    }
    return status;
}

void ry_mapping_close(const ry_allocator *allocator, ry_mapping *list)
{
    while (list) {
        ry_mapping *next = list->next;
        munmap((void *)(uintptr_t)list->data, list->size);
        ry_release(allocator, list);
        list = next;
    }
}

static bool has_parent_part(const char *path)
{
    for (const char *part = path; part; part = strchr(part, '/')) {
        part += *part == '/';
        if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == '\0')) {
            return true;
        }
    }
    return false;
}

static bool lies_inside(const char *folder, const char *path)
{
    size_t length = strlen(folder);
    if (strncmp(folder, path, length) != 0) {
        return false;
    }
    return folder[length - 1] == '/' || path[length] == '/';
}

rynd_status ry_mapping_open_inside(const char *folder, const char *location,
                                   const ry_allocator *allocator, ry_mapping **list,
                                   const ry_mapping **mapping, ry_error *error)
{
    if (!*location || *location == '/' || has_parent_part(location)) {
        return ry_fail(error, RYND_ERROR_FORMAT,
                       "external data path '%s' is refused: it must be relative and without '..'",
                       location);
    }
    char joined[PATH_MAX], real[PATH_MAX], real_folder[PATH_MAX];
    int length = snprintf(joined, sizeof joined, "%s/%s", *folder ? folder : ".", location);
    if (length < 0 || (size_t)length >= sizeof joined) {
        return ry_fail(error, RYND_ERROR_FORMAT, "external data path '%.100s...' is too long",
                       location);
    }
    if (!realpath(*folder ? folder : ".", real_folder) || !realpath(joined, real)) {
        return ry_fail(error, RYND_ERROR_IO, "external data file %s: cannot be opened: %s", joined,
                       strerror(errno));
    }
    if (!lies_inside(real_folder, real)) {
        return ry_fail(
            error, RYND_ERROR_FORMAT,
            "external data file %s is refused: it is a link that leaves the model's folder",
            joined);
    }
    return ry_mapping_open(real, allocator, list, mapping, error);
}

void ry_mapping_unneeded(const ry_mapping *list, const void *data, size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (const ry_mapping *m = list; m; m = m->next) {
        uintptr_t start = (uintptr_t)m->data, from = (uintptr_t)data, to = from + size;
        if (from < start || to > start + m->size) {
            continue;
        }
        from = (from + page - 1) / page * page;
        to = to / page * page;
        if (from < to) {
            madvise((char *)(uintptr_t)m->data + (from - start), to - from, MADV_DONTNEED);
        }
        return;
    }
}
