/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a .npz archive: refused with a message, or tensors that can be read to the last element. */
#include "fuzz_bytes.h"
#include "npz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cli_bytes bytes = fuzz_bytes(data, size);
    cli_tensor *tensors = NULL;
    size_t count = 0;
    cli_failure failure = {.exit_code = 0};
    if (cli_npz_read(&bytes, "fuzz.npz", &tensors, &count, &failure)) {
        for (size_t i = 0; i < count; i++) {
            (void)cli_tensor_summary(&tensors[i].view);
            cli_tensor_free(&tensors[i]);
        }
        free(tensors);
    } else {
        fuzz_refused(&failure);
    }
    free(bytes.data);
    return 0;
}
