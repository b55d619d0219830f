/* SPDX-License-Identifier: Apache-2.0 */
/* Reads files, and writes them through a temporary file and a rename. */
#define _GNU_SOURCE /* realpath, fchmod */
#include "whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ALIGNMENT 64

static void *take(size_t size)
{
    return size > SIZE_MAX - ALIGNMENT ? NULL : aligned_alloc(ALIGNMENT, (size / ALIGNMENT + 1) * ALIGNMENT);
}

/* A pipe's size is not known beforehand: the memory doubles. */
static bool read_all(int fd, const char *path, size_t expected, cli_bytes *bytes, cli_failure *failure)
{
    size_t capacity = expected + 1;
    bytes->data = take(capacity);
    for (;;) {
        if (!bytes->data) {
            return cli_fail(failure, "cannot read '%s': out of memory for %zu bytes", path, capacity);
        }
        ssize_t got = read(fd, (char *)bytes->data + bytes->size, capacity - bytes->size);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return cli_fail(failure, "cannot read '%s': %s", path, strerror(errno));
        }
        if (got == 0) {
            return true;
        }
        bytes->size += (size_t)got;
        if (bytes->size == capacity) {
            void *old = bytes->data;
            capacity *= 2;
            bytes->data = take(capacity);
            if (bytes->data) {
                memcpy(bytes->data, old, bytes->size);
            }
            free(old);
        }
    }
}

bool cli_file_read(const char *path, cli_bytes *bytes, cli_failure *failure)
{
    *bytes = (cli_bytes){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return cli_fail(failure, "cannot open '%s': %s", path, strerror(errno));
    }
    struct stat info;
    bool done = false;
    if (fstat(fd, &info) != 0) {
        cli_fail(failure, "cannot read '%s': %s", path, strerror(errno));
    } else if (S_ISDIR(info.st_mode)) {
        cli_fail(failure, "'%s' is a folder; a file is needed", path);
    } else {
        done = read_all(fd, path, S_ISREG(info.st_mode) ? (size_t)info.st_size : 4096, bytes, failure);
    }
    close(fd);
    if (done && bytes->size == 0) {
        done = cli_fail(failure, "'%s' is empty", path);
    }
    if (!done) {
        free(bytes->data);
        *bytes = (cli_bytes){0};
    }
    return done;
}

/* Writes and closes; errno tells what failed. */
static bool write_and_close(int fd, const char *data, size_t size, bool regular)
{
    while (size > 0) {
        ssize_t put = write(fd, data, size);
        if (put < 0 && errno != EINTR) {
            int saved = errno;
            close(fd);
            errno = saved;
            return false;
        }
        if (put > 0) {
            data += put;
            size -= (size_t)put;
        }
    }
    /* Without this a crash of the machine after the rename could leave an empty file under the final name. */
    bool synced = !regular || fsync(fd) == 0;
    int saved = errno;
    if (close(fd) != 0) {
        return false;
    }
    errno = saved;
    return synced;
}

static bool write_directly(const char *path, const void *data, size_t size, cli_failure *failure)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || !write_and_close(fd, data, size, false)) {
        return cli_fail(failure, "cannot write '%s': %s", path, strerror(errno));
    }
    return true;
}

static bool write_and_rename(const char *path, const void *data, size_t size, cli_failure *failure)
{
    const char *slash = strrchr(path, '/');
    int folder = slash ? (int)(slash - path) + 1 : 0;
    size_t room = strlen(path) + 16;
    char *temporary = malloc(room);
    if (!temporary) {
        return cli_fail_memory(failure);
    }
    snprintf(temporary, room, "%.*s.rynd-XXXXXX", folder, path);
    int fd = mkostemp(temporary, O_CLOEXEC);
    bool done = fd >= 0;
    if (!done) {
        int cause = errno;
        cli_fail(failure, "cannot write '%s': %s%s", path, strerror(cause), cause == ENOENT ? "; make the folder first" : "");
    } else {
        mode_t mask = umask(0);
        umask(mask);
        done = fchmod(fd, 0666 & ~mask) == 0;
        done = write_and_close(fd, data, size, true) && done && rename(temporary, path) == 0;
        if (!done) {
            cli_fail(failure, "cannot write '%s': %s; nothing was written", path, strerror(errno));
            unlink(temporary);
        }
    }
    free(temporary);
    return done;
}

bool cli_file_write(const char *path, const void *data, size_t size, cli_failure *failure)
{
    struct stat info;
    if (stat(path, &info) != 0) {
        return write_and_rename(path, data, size, failure);
    }
    if (S_ISDIR(info.st_mode)) {
        return cli_fail(failure, "cannot write '%s': it is a folder", path);
    }
    if (!S_ISREG(info.st_mode)) {
        return write_directly(path, data, size, failure);
    }
    char *real = realpath(path, NULL);
    if (!real) {
        return cli_fail(failure, "cannot write '%s': %s", path, strerror(errno));
    }
    bool done = write_and_rename(real, data, size, failure);
    free(real);
    return done;
}

bool cli_is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

const char *cli_extension(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *dot = strrchr(slash ? slash + 1 : path, '.');
    return dot ? dot + 1 : "";
}
