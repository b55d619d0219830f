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

bool cli_output_put(cli_output *output, const void *bytes, size_t size)
{
    const size_t most = 16u << 20; /* a signal waits for one write() */
    const char *data = bytes;
    while (size > 0 && !output->cause) {
        const ssize_t put = write(output->descriptor, data, size < most ? size : most);
        if (put < 0) {
            output->cause = errno == EINTR ? 0 : errno;
            continue;
        }
        data += put;
        size -= (size_t)put;
    }
    return !output->cause;
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

/* Opens a new file beside the final one; -1 with errno. From here on, a fatal signal removes it. */
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

bool cli_file_is_special(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

static void release(cli_output *output)
{
    free(output->real);
    free(output->aside);
    *output = (cli_output){.descriptor = -1};
}

static bool name_files(cli_output *output, const char *path, cli_failure *failure)
{
    struct stat info;
    output->real = stat(path, &info) == 0 ? realpath(path, NULL) : strdup(path);
    if (!output->real) {
        return fail_write(path, errno, failure);
    }
    const char *slash = strrchr(output->real, '/');
    const int folder = slash ? (int)(slash - output->real) + 1 : 0;
    const size_t room = strlen(output->real) + 16;
    output->aside = malloc(room);
    if (!output->aside) {
        return cli_fail_memory(failure);
    }
    snprintf(output->aside, room, "%.*s.rynd-XXXXXX", folder, output->real);
    return true;
}

/* A temporary file has its owner's rights only. */
static void set_mode(cli_output *output)
{
    const mode_t mask = umask(0);
    umask(mask);
    output->cause = fchmod(output->descriptor, 0666 & ~mask) == 0 ? 0 : errno;
}

bool cli_output_begin(cli_output *output, const char *path, cli_failure *failure)
{
    struct stat info;
    *output = (cli_output){.path = path, .descriptor = -1};
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
        return cli_fail(failure, "cannot write '%s': it is a folder", path);
    }
    const bool direct = cli_file_is_special(path);
    if (!direct && !name_files(output, path, failure)) {
        release(output);
        return false;
    }
    output->descriptor = direct ? open(path, O_WRONLY | O_CLOEXEC) : open_temporary(output->aside);
    if (output->descriptor < 0) {
        const int cause = errno;
        release(output);
        return fail_write(path, cause, failure);
    }
    if (!direct) {
        set_mode(output);
    }
    return true;
}

bool cli_output_end(cli_output *output, bool done, cli_failure *failure)
{
    const bool direct = !output->aside;
    /* Without fsync a crash of the machine after the rename could leave an empty file under the
     * final name. */
    if (done && !output->cause && !direct && fsync(output->descriptor) != 0) {
        output->cause = errno;
    }
    if (close(output->descriptor) != 0 && !output->cause) {
        output->cause = errno;
    }
    if (!direct && !close_temporary(output->aside, output->real, done && !output->cause) && done &&
        !output->cause) {
        output->cause = errno;
    }
    if (output->cause) {
        cli_fail(failure, "cannot write '%s': %s%s", output->path, strerror(output->cause),
                 direct ? "" : "; nothing was written");
    }
    const bool good = done && !output->cause;
    release(output);
    return good;
}

bool cli_file_write(const char *path, const void *data, size_t size, cli_failure *failure)
{
    cli_output output;
    return cli_output_begin(&output, path, failure) &&
           cli_output_end(&output, cli_output_put(&output, data, size), failure);
}
