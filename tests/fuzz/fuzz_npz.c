/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a .npz archive: refused with a message, or tensors that can be read to the last
 * element. */
#include "fuzz_bytes.h"
#include "npz.h"

static bool wants(void *user, const char *name)
{
    (void)user;
    return !name || *name != '-'; /* some are passed over */
}

static bool fits(void *user, const rynd_tensor *head, cli_failure *failure)
{
    (void)user;
    return head->rank < 9 || cli_fail(failure, "rank %d", head->rank);
}

static bool take(void *user, cli_tensor *tensor, cli_failure *failure)
{
    (void)user, (void)failure;
    (void)cli_tensor_summary(&tensor->view);
    cli_tensor_free(tensor);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cli_bytes bytes = fuzz_bytes(data, size);
    const cli_receiver receiver = {.wants = wants, .fits = fits, .take = take, .elements = -1};
    cli_failure failure = {.exit_code = 0};
    if (!cli_npz_read(&bytes, "fuzz.npz", &receiver, &failure)) {
        fuzz_refused(&failure);
    }
    free(bytes.data);
    return 0;
}
