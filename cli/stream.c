/* SPDX-License-Identifier: Apache-2.0 */
/* Reads streams. */
#include "stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ALIGNMENT 64

static ssize_t read_file(cli_stream *stream, void *to, size_t size)
{
    const size_t most = 1u << 30; /* read() takes no more than SSIZE_MAX, and Linux 2 GiB */
    ssize_t got;
    do {
        got = read(stream->fd, to, size < most ? size : most);
    } while (got < 0 && errno == EINTR);
    stream->why = got < 0 ? strerror(errno) : NULL;
    return got;
}

static ssize_t read_memory(cli_stream *stream, void *to, size_t size)
{
    const size_t left = (size_t)stream->left, count = size < left ? size : left;
    if (count) {
        memcpy(to, stream->from, count);
        stream->from = (char *)stream->from + count;
    }
    return (ssize_t)count;
}

cli_stream cli_stream_of_file(int fd, int64_t left, const char *name)
{
    return (cli_stream){.read = read_file, .left = left, .name = name, .fd = fd};
}

cli_stream cli_stream_of_memory(const cli_bytes *bytes, const char *name)
{
    return (cli_stream){.read = read_memory,
                        .left = (int64_t)bytes->size,
                        .name = name,
                        .from = bytes->data,
                        .fd = -1};
}

bool cli_stream_read(cli_stream *stream, void *to, size_t size, size_t *got, cli_failure *failure)
{
    *got = 0;
    while (*got < size) {
        const ssize_t count = stream->read(stream, (char *)to + *got, size - *got);
        if (count < 0) {
            return cli_fail(failure, "cannot read '%s': %s", stream->name, stream->why);
        }
        if (count == 0) {
            break;
        }
        *got += (size_t)count;
        if (stream->left >= 0) {
            stream->left -= count < stream->left ? count : stream->left;
        }
    }
    return true;
}

static void *take(size_t size)
{
    return size > SIZE_MAX - ALIGNMENT
               ? NULL
               : aligned_alloc(ALIGNMENT, (size / ALIGNMENT + 1) * ALIGNMENT);
}

void *cli_stream_take(cli_stream *stream, size_t size, size_t *got, cli_failure *failure)
{
    const size_t first = 1u << 20;
    size_t room = stream->left >= 0 || size < first ? size : first, more = 0;
    char *data = take(room);
    for (*got = 0; data && cli_stream_read(stream, data + *got, room - *got, &more, failure);) {
        *got += more;
        if (*got < room || room == size) {
            return data;
        }
        room = size / 2 < room ? size : 2 * room;
        char *grown = take(room);
        if (grown) {
            memcpy(grown, data, *got);
        }
        free(data);
        data = grown;
    }
    if (!data) {
        cli_fail(failure, "'%s': out of memory for %zu bytes", stream->name, room);
    }
    free(data);
    return NULL;
}
