/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes in their order, from a file, from memory, or from what unpacks them: a format reads its
 * header first, and takes no memory before that is known to be good. */
#ifndef CLI_STREAM_H
#define CLI_STREAM_H

#include "bytes.h"
#include "failure.h"

#include <stdint.h>
#include <sys/types.h>

typedef struct cli_stream cli_stream;

struct cli_stream {
    /* As read(2), but with the reason of a failure (-1) in `why`. */
    ssize_t (*read)(cli_stream *stream, void *to, size_t size);
    int64_t left;     /* bytes to the end; -1: not known, as in a pipe */
    const char *name; /* for messages */
    const char *why;
    void *from; /* the reader's own */
    int fd;
};

cli_stream cli_stream_of_file(int fd, int64_t left, const char *name);
cli_stream cli_stream_of_memory(const cli_bytes *bytes, const char *name);

/* Reads `size` bytes, fewer only where the stream ends. */
bool cli_stream_read(cli_stream *stream, void *to, size_t size, size_t *got, cli_failure *failure);

/* Memory of `size` bytes at an address that suits every element (64 bytes), filled from the
 * stream; free() it. Where the length of the stream is not known, memory is taken as bytes come,
 * so a header that promises too much takes none. NULL when it fails; *got < size when the stream
 * ends early. */
void *cli_stream_take(cli_stream *stream, size_t size, size_t *got, cli_failure *failure);

#endif
