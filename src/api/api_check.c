/* SPDX-License-Identifier: Apache-2.0 */
/* What comes from outside is checked here before anything else reads it: arguments that are NULL,
 * and tensors. */
#include "api/api_check.h"

#include "api/api_status.h"
#include "api/handles.h"
#include "device/paper/paper_device.h"

#include <string.h>

rynd_status ry_api_require(const char *function, const char *names, const void *const *arguments,
                           size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const size_t length = strcspn(names, ",");
        if (!arguments[i]) {
            ry_error error;
            return ry_api_end(ry_fail(&error, RYND_ERROR_ARGUMENT, "%s: %.*s is NULL", function,
                                      (int)length, names),
                              &error);
        }
        names += length;
        names += strspn(names, ", ");
    }
    return RYND_OK;
}

rynd_status ry_api_require_function(const char *function, const char *name, bool given)
{
    return ry_api_require(function, name, (const void *const[]){given ? name : NULL}, 1);
}

static bool in_address_space(const ry_tensor *tensor, int64_t low, int64_t high)
{
    const uintptr_t first = (uintptr_t)tensor->data;
    uintptr_t end;
    return !tensor->data || (first > (uintptr_t)0 - (uintptr_t)low &&
                             !__builtin_add_overflow(first, (uintptr_t)high, &end));
}

/* A stride that no second element uses may be anything: with one of a row-major tensor, sums and
 * products of strides cannot overflow. */
static void settle_strides(ry_tensor *tensor, int64_t count)
{
    const ry_shape shape = ry_tensor_shape(tensor);
    const ry_tensor row_major = ry_tensor_row_major((ry_dtype)tensor->dtype, &shape, NULL);
    for (int i = 0; i < tensor->rank; i++) {
        if (tensor->dim[i] <= 1 || count == 0) {
            tensor->stride[i] = count ? row_major.stride[i] : 0;
        }
    }
}

rynd_status ry_api_take_tensor(const rynd_tensor *given, ry_tensor *taken, ry_error *error)
{
    if ((unsigned)given->dtype >= RY_DTYPES) {
        return ry_fail(error, RYND_ERROR_ARGUMENT, "dtype %d is none of rynd_dtype",
                       (int)given->dtype);
    }
    if (given->rank < 0 || given->rank > RY_MAX_RANK) {
        return ry_fail(error, RYND_ERROR_ARGUMENT, "rank %d is outside 0 to %d", given->rank,
                       RY_MAX_RANK);
    }
    for (int i = 0; i < given->rank; i++) {
        if (given->dim[i] < 0) {
            return ry_fail(error, RYND_ERROR_ARGUMENT,
                           "dim %d is %lld: a tensor's dims are known, and not below 0", i,
                           (long long)given->dim[i]);
        }
    }
    *taken = *given;
    const ry_shape shape = ry_tensor_shape(given);
    const int64_t count = ry_shape_elements(&shape);
    if (count < 0 || ry_shape_bytes(&shape, (ry_dtype)given->dtype) < 0) {
        return ry_fail(error, RYND_ERROR_ARGUMENT, "its dims have a product beyond 2^63 bytes");
    }
    settle_strides(taken, count);
    int64_t low, high;
    if (count > 0 &&
        (!ry_tensor_range(taken, &low, &high) || !in_address_space(taken, low, high))) {
        return ry_fail(error, RYND_ERROR_ARGUMENT, "its strides reach outside the address space");
    }
    return RYND_OK;
}

rynd_status ry_api_check_writable(const ry_tensor *tensor, ry_error *error)
{
    const int dim = ry_tensor_sharing_dim(tensor);
    return dim < 0 ? RYND_OK
                   : ry_fail(error, RYND_ERROR_ARGUMENT,
                             "stride %lld of dim %d reaches over fewer elements than the dims with "
                             "smaller strides: its elements would share memory",
                             (long long)tensor->stride[dim], dim);
}

rynd_status ry_api_check_data(const ry_tensor *description, const void *data, ry_error *error)
{
    const size_t size = ry_dtype_size((ry_dtype)description->dtype);
    if (ry_tensor_present(description) && !data && ry_tensor_count(description) > 0) {
        return ry_fail(error, RYND_ERROR_ARGUMENT, "its data is NULL");
    }
    if (size && (uintptr_t)data % size != 0) {
        return ry_fail(error, RYND_ERROR_ARGUMENT,
                       "its data is not aligned to its elements of %zu bytes", size);
    }
    return RYND_OK;
}

rynd_status ry_api_check_runs(const ry_device *device, ry_error *error)
{
    RY_TRY(ry_paper_device_refuse(device, error));
    return device->planned_isa <= device->isa
               ? RYND_OK
               : ry_fail(
                     error, RYND_ERROR_UNSUPPORTED,
                     "made for a machine with %s, and this one has %s: it can be looked at only",
                     ry_isa_name((ry_isa)device->planned_isa), ry_isa_name((ry_isa)device->isa));
}
