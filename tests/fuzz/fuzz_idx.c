/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as an IDX file, as they are and as what gzip packed: refused with a message, or as many
 * bytes as the header tells. */
#include "fuzz_bytes.h"
#include "gzip_stream.h"
#include "idx.h"

static void read_one(cli_stream *stream)
{
    cli_idx idx;
    cli_failure failure = {.exit_code = 0};
    if (!cli_idx_read(stream, &idx, &failure)) {
        fuzz_refused(&failure);
        return;
    }
    size_t size = 1;
    unsigned sum = 0;
    for (int i = 0; i < idx.rank; i++) {
        size *= (size_t)idx.dim[i];
    }
    for (size_t i = 0; i < size; i++) {
        sum += idx.data[i];
    }
    if (sum > 255 * size) {
        abort();
    }
    free(idx.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cli_bytes bytes = fuzz_bytes(data, size);
    cli_stream stream = cli_stream_of_memory(&bytes, "fuzz-idx");
    read_one(&stream);
    cli_failure failure = {.exit_code = 0};
    if (cli_is_gzip(&bytes) && cli_gzip_begin(&stream, &bytes, "fuzz-idx.gz", &failure)) {
        read_one(&stream);
        cli_gzip_end(&stream);
    }
    free(bytes.data);
    return 0;
}
