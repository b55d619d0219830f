/* SPDX-License-Identifier: Apache-2.0 */
/* Opens, maps and reads regular files. */
#define _DEFAULT_SOURCE /* S_ISSOCK */
#include "input_file.h"

#include "stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *kind_of(mode_t mode)
{
    return S_ISDIR(mode)    ? "folder"
           : S_ISFIFO(mode) ? "pipe"
           : S_ISSOCK(mode) ? "socket"
                            : "device";
}

static bool fail_open(const char *path, int cause, cli_failure *failure)
{
    struct stat info;
    /* open() reports a socket as "no such device or address" */
    if (stat(path, &info) == 0 && S_ISSOCK(info.st_mode)) {
        return cli_fail(failure, "'%s' is a socket; a regular file is needed", path);
    }
    return cli_fail(failure, "cannot open '%s': %s", path, strerror(cause));
}

static bool check(const char *path, const struct stat *info, cli_failure *failure)
{
    if (!S_ISREG(info->st_mode)) {
        return cli_fail(failure, "'%s' is a %s; a regular file is needed", path,
                        kind_of(info->st_mode));
    }
    if (info->st_size <= 0) {
        return cli_fail(failure, "'%s' is empty", path);
    }
    if ((uintmax_t)info->st_size > SIZE_MAX) {
        return cli_fail(failure, "'%s' does not fit into the address space", path);
    }
    return true;
}

int cli_input_open(const char *path, size_t *size, cli_failure *failure)
{
    struct stat info;
    /* O_NONBLOCK: opening a pipe must not wait for its writer. O_NOCTTY: nor may a terminal
     * become the process's own. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        fail_open(path, errno, failure);
        return -1;
    }
    if (fstat(fd, &info) != 0) {
        cli_fail(failure, "cannot read '%s': %s", path, strerror(errno));
    } else if (check(path, &info, failure)) {
        *size = (size_t)info.st_size;
        return fd;
    }
    close(fd);
    return -1;
}

bool cli_input_map(const char *path, cli_bytes *bytes, cli_failure *failure)
{
    size_t size = 0;
    *bytes = (cli_bytes){0};
    int fd = cli_input_open(path, &size, failure);
    if (fd < 0) {
        return false;
    }
    void *data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    int cause = errno;
    close(fd);
    if (data == MAP_FAILED) {
        return cli_fail(failure, "cannot read '%s': %s", path, strerror(cause));
    }
    *bytes = (cli_bytes){data, size};
    return true;
}

void cli_input_unmap(cli_bytes *bytes)
{
    if (bytes->data) {
        munmap(bytes->data, bytes->size);
    }
    *bytes = (cli_bytes){0};
}

void cli_input_unneeded(const cli_bytes *bytes)
{
    madvise(bytes->data, bytes->size, MADV_DONTNEED);
}

char *cli_input_text(const char *path, size_t most, cli_failure *failure)
{
    size_t size = 0, got = 0;
    int fd = cli_input_open(path, &size, failure);
    if (fd < 0) {
        return NULL;
    }
    char *text = NULL;
    if (size > most) {
        cli_fail(failure, "'%s' is of %zu bytes; at most %zu are read", path, size, most);
    } else {
        text = malloc(size + 1);
        cli_stream stream = cli_stream_of_file(fd, (int64_t)size, path);
        if (!text) {
            cli_fail_memory(failure);
        } else if (!cli_stream_read(&stream, text, size, &got, failure)) {
            free(text);
            text = NULL;
        } else {
            text[got] = 0;
        }
    }
    close(fd);
    return text;
}
