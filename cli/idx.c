/* SPDX-License-Identifier: Apache-2.0 */
/* Reads IDX. */
#include "idx.h"

#include <inttypes.h>
#include <stdlib.h>

enum { UNSIGNED_BYTES = 8 };

static bool read_head(cli_stream *stream, cli_idx *idx, size_t *size, cli_failure *failure)
{
    unsigned char head[4], dims[4 * CLI_IDX_RANK];
    size_t got;
    if (!cli_stream_read(stream, head, sizeof head, &got, failure)) {
        return false;
    }
    if (got < sizeof head || head[0] || head[1]) {
        return cli_fail(failure, "'%s' is not an IDX file: it does not begin with two zero bytes",
                        stream->name);
    }
    if (head[2] != UNSIGNED_BYTES || head[3] < 1 || head[3] > CLI_IDX_RANK) {
        return cli_fail(failure,
                        "'%s': an IDX file of type 0x%02x and rank %d; pictures and classes are "
                        "of unsigned bytes (0x08) and of rank 1 to %d",
                        stream->name, head[2], head[3], CLI_IDX_RANK);
    }
    idx->rank = head[3];
    if (!cli_stream_read(stream, dims, 4 * (size_t)idx->rank, &got, failure)) {
        return false;
    }
    if (got < 4 * (size_t)idx->rank) {
        return cli_fail(failure, "'%s' is truncated: it ends inside its header", stream->name);
    }
    *size = 1;
    for (int i = 0; i < idx->rank; i++) {
        const unsigned char *d = dims + 4 * i;
        idx->dim[i] = (int64_t)d[0] << 24 | d[1] << 16 | d[2] << 8 | d[3];
        if (idx->dim[i] == 0 || __builtin_mul_overflow(*size, (size_t)idx->dim[i], size)) {
            return cli_fail(failure, "'%s': dimension %d of the IDX file is %" PRId64 "%s",
                            stream->name, i, idx->dim[i],
                            idx->dim[i] ? ": together they are too many" : "");
        }
    }
    return true;
}

bool cli_idx_read(cli_stream *stream, cli_idx *idx, cli_failure *failure)
{
    size_t size = 0, got = 0, more = 0;
    char behind;
    *idx = (cli_idx){0};
    if (!read_head(stream, idx, &size, failure)) {
        return false;
    }
    if (stream->left >= 0 && size > (uint64_t)stream->left) {
        return cli_fail(failure,
                        "'%s' is truncated: its header tells of %zu bytes, but %" PRId64 " follow",
                        stream->name, size, stream->left);
    }
    idx->data = cli_stream_take(stream, size, &got, failure);
    bool good = idx->data != NULL;
    if (good && got < size) {
        good = cli_fail(failure, "'%s' is truncated: its header tells of %zu bytes, but %zu follow",
                        stream->name, size, got);
    }
    good = good && cli_stream_read(stream, &behind, 1, &more, failure);
    if (good && more) {
        good = cli_fail(failure, "'%s' is damaged: more bytes follow its %zu bytes of data",
                        stream->name, size);
    }
    if (!good) {
        free(idx->data);
        *idx = (cli_idx){0};
    }
    return good;
}
