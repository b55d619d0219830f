/* SPDX-License-Identifier: Apache-2.0 */
/* What gzip(1) packed (RFC 1952: one member or several), as a stream of unknown length. Bytes
 * behind the last member are an error. */
#ifndef CLI_GZIP_STREAM_H
#define CLI_GZIP_STREAM_H

#include "stream.h"

/* The first two bytes of such a file. */
bool cli_is_gzip(const cli_bytes *bytes);

/* Unpacks `bytes`, which must stay, as the stream is read. After cli_gzip_end the stream is gone,
 * also when this fails. */
bool cli_gzip_begin(cli_stream *stream, const cli_bytes *bytes, const char *name,
                    cli_failure *failure);
void cli_gzip_end(cli_stream *stream);

#endif
