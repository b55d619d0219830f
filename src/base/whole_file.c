/* SPDX-License-Identifier: Apache-2.0 */
/* Writing beside, syncing, renaming. */
#define _XOPEN_SOURCE 700 /* realpath */
#include "base/whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER = 1 << 16 };

static rynd_status fail(const char *path, int cause, ry_error *error)
{
    return ry_fail(error, RYND_ERROR_IO, "%s: cannot be written: %s%s", path, strerror(cause),
                   cause == ENOENT ? "; make the folder first" : "");
}

/* Copies the path; follows it if it is a symbolic link. */
static rynd_status resolve(ry_whole_file *file, const char *path, ry_error *error)
{
    struct stat about;
    const bool there = stat(path, &about) == 0;
    if (there && !S_ISREG(about.st_mode)) {
        return ry_fail(error, RYND_ERROR_IO, "%s: cannot be written: it is %s", path,
                       S_ISDIR(about.st_mode) ? "a folder" : "not a regular file");
    }
    char *real = there ? realpath(path, NULL) : NULL;
    const char *name = real ? real : path;
    const size_t length = strlen(name), room = length + 48;
    file->path = ry_allocate(file->allocator, length + 1);
    file->aside = ry_allocate(file->allocator, room);
    file->buffer = ry_allocate(file->allocator, BUFFER);
    const bool good = file->path && file->aside && file->buffer;
    if (good) {
        memcpy(file->path, name, length + 1);
    }
    free(real);
    return good ? RYND_OK : ry_fail_memory(error);
}

/* A name that nobody has: another process's, another thread's and one that was killed are passed
 * over. */
static void open_aside(ry_whole_file *file)
{
    const size_t room = strlen(file->path) + 48;
    for (unsigned number = 0; number < 1000; number++) {
        snprintf(file->aside, room, "%s.%ld.%u", file->path, (long)getpid(), number);
        file->descriptor = open(file->aside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file->descriptor >= 0 || errno != EEXIST) {
            return;
        }
    }
}

static void release(ry_whole_file *file)
{
    ry_release(file->allocator, file->path);
    ry_release(file->allocator, file->aside);
    ry_release(file->allocator, file->buffer);
    *file = (ry_whole_file){.descriptor = -1};
}

rynd_status ry_whole_file_begin(ry_whole_file *file, const char *path,
                                const ry_allocator *allocator, ry_error *error)
{
    *file = (ry_whole_file){.allocator = allocator, .descriptor = -1};
    rynd_status status = resolve(file, path, error);
    if (status == RYND_OK) {
        open_aside(file);
        status = file->descriptor >= 0 ? RYND_OK : fail(path, errno, error);
    }
    if (status != RYND_OK) {
        release(file);
    }
    return status;
}

static void write_out(ry_whole_file *file, const uint8_t *bytes, size_t count)
{
    while (count > 0 && !file->cause) {
        const ssize_t put = write(file->descriptor, bytes, count);
        if (put < 0) {
            file->cause = errno == EINTR ? 0 : errno;
            continue;
        }
        bytes += put;
        count -= (size_t)put;
    }
}

static void flush(ry_whole_file *file)
{
    write_out(file, file->buffer, file->used);
    file->used = 0;
}

bool ry_whole_file_put(ry_whole_file *file, const void *bytes, size_t count)
{
    if (count > BUFFER - file->used) {
        flush(file);
    }
    if (count > BUFFER) {
        write_out(file, bytes, count);
    } else if (count) {
        memcpy(file->buffer + file->used, bytes, count);
        file->used += count;
    }
    return file->cause == 0;
}

rynd_status ry_whole_file_end(ry_whole_file *file, bool good, ry_error *error)
{
    flush(file);
    /* Without fsync a crash of the machine after the rename could leave an empty file. */
    if (good && !file->cause && fsync(file->descriptor) != 0) {
        file->cause = errno;
    }
    if (close(file->descriptor) != 0 && !file->cause) {
        file->cause = errno;
    }
    if (good && !file->cause && rename(file->aside, file->path) != 0) {
        file->cause = errno;
    }
    rynd_status status = RYND_OK;
    if (file->cause) {
        status = fail(file->path, file->cause, error);
    }
    if (!good || file->cause) {
        unlink(file->aside);
    }
    release(file);
    return status;
}
