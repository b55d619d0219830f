/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a .npy file: refused with a message, or a tensor that is written and read back with
 * the same shape. */
#include "fuzz_bytes.h"
#include "npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cli_bytes bytes = fuzz_bytes(data, size), written = {.data = NULL};
    cli_tensor tensor = {.memory = NULL}, again = {.memory = NULL};
    cli_failure failure = {.exit_code = 0};
    cli_stream stream = cli_stream_of_memory(&bytes, "fuzz.npy");
    const bool read = cli_npy_read(&stream, NULL, &tensor, &failure);
    free(bytes.data);
    if (!read) {
        fuzz_refused(&failure);
        return 0;
    }
    (void)cli_tensor_summary(&tensor.view);
    if (!cli_npy_write(&tensor.view, &written, &failure)) {
        abort();
    }
    stream = cli_stream_of_memory(&written, "again.npy");
    if (!cli_npy_read(&stream, NULL, &again, &failure)) {
        abort();
    }
    free(written.data);
    if (again.view.rank != tensor.view.rank ||
        rynd_tensor_elements(&again.view) != rynd_tensor_elements(&tensor.view)) {
        abort();
    }
    cli_tensor_free(&again);
    cli_tensor_free(&tensor);
    return 0;
}
