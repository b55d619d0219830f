/* SPDX-License-Identifier: Apache-2.0 */
/* gzip by zlib. */
#include "gzip_stream.h"

#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

bool cli_is_gzip(const cli_bytes *bytes)
{
    const unsigned char *data = bytes->data;
    return bytes->size >= 2 && data[0] == 0x1f && data[1] == 0x8b;
}

typedef struct unpacker {
    z_stream z;
    size_t left; /* bytes of the input behind z.avail_in, which cannot count all of a large one */
    bool ended;  /* the member that was read last */
} unpacker;

static void feed(unpacker *u)
{
    if (u->z.avail_in == 0) {
        u->z.avail_in = u->left < UINT_MAX ? (uInt)u->left : UINT_MAX;
        u->left -= u->z.avail_in;
    }
}

/* Starts the next member. false: the remaining bytes are no gzip member. */
static bool begin_next(cli_stream *stream, unpacker *u)
{
    const cli_bytes rest = {(void *)(uintptr_t)u->z.next_in, u->z.avail_in + u->left};
    if (!cli_is_gzip(&rest)) {
        stream->why = "more bytes follow its last gzip member; the file is damaged";
        return false;
    }
    u->ended = false;
    return inflateReset(&u->z) == Z_OK;
}

static ssize_t read_unpacked(cli_stream *stream, void *to, size_t size)
{
    unpacker *u = stream->from;
    const size_t most = INT_MAX;
    u->z.next_out = to;
    u->z.avail_out = (uInt)(size < most ? size : most);
    const uInt wanted = u->z.avail_out;
    while (u->z.avail_out) {
        feed(u);
        if (u->ended && u->z.avail_in == 0) {
            break;
        }
        if (u->ended && !begin_next(stream, u)) {
            return -1;
        }
        const int result = inflate(&u->z, Z_NO_FLUSH);
        u->ended = result == Z_STREAM_END;
        if (result != Z_OK && !u->ended) {
            stream->why = u->z.avail_in == 0 && result == Z_BUF_ERROR
                              ? "it is truncated"
                              : "its data cannot be unpacked; the file is damaged";
            return -1;
        }
    }
    return (ssize_t)(wanted - u->z.avail_out);
}

bool cli_gzip_begin(cli_stream *stream, const cli_bytes *bytes, const char *name,
                    cli_failure *failure)
{
    enum { LARGEST_WINDOW = 15, GZIP_ONLY = 16 };
    *stream = (cli_stream){.read = read_unpacked, .left = -1, .name = name, .fd = -1};
    unpacker *u = calloc(1, sizeof *u);
    if (!u) {
        return cli_fail_memory(failure);
    }
    u->z.next_in = bytes->data;
    u->left = bytes->size;
    stream->from = u;
    if (inflateInit2(&u->z, LARGEST_WINDOW + GZIP_ONLY) != Z_OK) {
        free(u);
        stream->from = NULL;
        return cli_fail_memory(failure);
    }
    return true;
}

void cli_gzip_end(cli_stream *stream)
{
    unpacker *u = stream->from;
    if (u) {
        inflateEnd(&u->z);
    }
    free(u);
    stream->from = NULL;
}
