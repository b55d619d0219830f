/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a .npy file: refused with a message, or a tensor that is written and read back with the same shape. */
#include "fuzz_bytes.h"
#include "npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cli_bytes bytes = fuzz_bytes(data, size), written = {.data = NULL};
    cli_tensor tensor = {.memory = NULL}, again = {.memory = NULL};
    cli_failure failure = {.exit_code = 0};
    if (!cli_npy_read(&bytes, "fuzz.npy", &tensor, &failure)) {
        fuzz_refused(&failure);
        return 0;
    }
    (void)cli_tensor_summary(&tensor.view);
    if (!cli_npy_write(&tensor.view, &written, &failure) || !cli_npy_read(&written, "again.npy", &again, &failure)) {
        abort();
    }
    if (again.view.rank != tensor.view.rank || rynd_tensor_elements(&again.view) != rynd_tensor_elements(&tensor.view)) {
        abort();
    }
    cli_tensor_free(&again);
    cli_tensor_free(&tensor);
    return 0;
}
