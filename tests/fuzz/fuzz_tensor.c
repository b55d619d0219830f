/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as an ONNX TensorProto: refused with a message, or a tensor that is written and read
 * back the same. */
#include <rynd/rynd.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static rynd_context *context;

static void round_trip(const char *name, const rynd_tensor *tensor)
{
    void *bytes = NULL;
    size_t size = 0;
    rynd_tensor again;
    const char *same = NULL;
    if (rynd_tensor_write_pb(context, name, tensor, &bytes, &size) != RYND_OK ||
        rynd_tensor_read_pb(context, bytes, size, &again, &same) != RYND_OK) {
        abort();
    }
    size_t length = (size_t)rynd_tensor_elements(tensor) * rynd_dtype_size(tensor->dtype);
    if (again.rank != tensor->rank || again.dtype != tensor->dtype ||
        memcmp(again.dim, tensor->dim, sizeof again.dim[0] * (size_t)again.rank) != 0 ||
        (length && memcmp(again.data, tensor->data, length) != 0)) {
        abort();
    }
    rynd_tensor_free(context, &again);
    rynd_memory_free(context, bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rynd_tensor tensor;
    const char *name = NULL;
    rynd_context_options options = RYND_SIZED(rynd_context_options, .threads = 1);
    if (!context && rynd_context_create(&options, &context) != RYND_OK) {
        abort();
    }
    if (rynd_tensor_read_pb(context, data, size, &tensor, &name) == RYND_OK) {
        round_trip(name ? name : "", &tensor);
        rynd_tensor_free(context, &tensor);
    } else if (!rynd_last_error()[0]) {
        abort();
    }
    return 0;
}
