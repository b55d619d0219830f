/* SPDX-License-Identifier: Apache-2.0 */
/* Writes files through a temporary file and a rename. */
#define _GNU_SOURCE /* realpath, fchmod */
#include "output_file.h"

#include "ending.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Writes and closes; errno tells what failed. */
static bool write_and_close(int fd, const char *data, size_t size, bool regular)
{
    const size_t most = 16u << 20; /* a signal waits for one write() */
    while (size > 0) {
        ssize_t put = write(fd, data, size < most ? size : most);
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
    /* Without this a crash of the machine after the rename could leave an empty file under the
     * final name. */
    bool synced = !regular || fsync(fd) == 0;
    int saved = errno;
    if (close(fd) != 0) {
        return false;
    }
    errno = saved;
    return synced;
}

static bool fail_write(const char *path, int cause, cli_failure *failure)
{
    return cli_fail(failure, "cannot write '%s': %s%s", path, strerror(cause),
                    cause == ENOENT ? "; make the folder first" : "");
}

bool cli_file_check_writable(const char *path, cli_failure *failure)
{
    struct stat info;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
        return cli_fail(failure, "cannot write '%s': it is a folder", path);
    }
    if (cli_file_is_special(path)) {
        return access(path, W_OK) == 0 || fail_write(path, errno, failure);
    }
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    if (!folder) {
        return cli_fail_memory(failure);
    }
    const bool good = access(folder, W_OK | X_OK) == 0;
    const int cause = errno;
    free(folder);
    return good || fail_write(path, cause, failure);
}

static bool write_directly(const char *path, const void *data, size_t size, cli_failure *failure)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || !write_and_close(fd, data, size, false)) {
        return cli_fail(failure, "cannot write '%s': %s", path, strerror(errno));
    }
    return true;
}

/* A new file beside the one that it becomes; -1 with errno. From here on a signal that ends the
 * process removes it. */
static int open_temporary(char *temporary)
{
    sigset_t before;
    cli_ending_hold(&before);
    const int fd = mkostemp(temporary, O_CLOEXEC);
    if (fd >= 0) {
        cli_ending_removes(temporary);
    }
    cli_ending_release(&before);
    return fd;
}

/* Gives it its name when all went well, else removes it. errno is the first failure's. */
static bool close_temporary(const char *temporary, const char *path, bool done)
{
    sigset_t before;
    cli_ending_hold(&before);
    done = done && rename(temporary, path) == 0;
    const int cause = errno;
    if (!done) {
        unlink(temporary);
    }
    cli_ending_removes(NULL);
    cli_ending_release(&before);
    errno = cause;
    return done;
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
    int fd = open_temporary(temporary);
    bool done = fd >= 0;
    if (!done) {
        int cause = errno;
        fail_write(path, cause, failure);
    } else {
        mode_t mask = umask(0);
        umask(mask);
        done = fchmod(fd, 0666 & ~mask) == 0;
        done = write_and_close(fd, data, size, true) && done;
        done = close_temporary(temporary, path, done);
        if (!done) {
            cli_fail(failure, "cannot write '%s': %s; nothing was written", path, strerror(errno));
        }
    }
    free(temporary);
    return done;
}

bool cli_file_is_special(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
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
