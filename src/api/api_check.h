/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of a caller's arguments. */
#ifndef RY_API_API_CHECK_H
#define RY_API_API_CHECK_H

#include "device/device.h"
#include "tensor/tensor.h"

#include <rynd/rynd.h>

/* Begins a public function that returns a status: RY_API_REQUIRE(context, path, model) refuses the
 * first argument that is NULL, by its name. */
#define RY_API_REQUIRE(...)                                                                 \
    do {                                                                                    \
        const void *const given_[] = {__VA_ARGS__};                                         \
        const rynd_status required_ =                                                       \
            ry_api_require(__func__, #__VA_ARGS__, given_, sizeof given_ / sizeof *given_); \
        if (required_ != RYND_OK) {                                                         \
            return required_;                                                               \
        }                                                                                   \
    } while (0)

/* names: "context, path, model", the names of the `count` arguments. */
rynd_status ry_api_require(const char *function, const char *names, const void *const *arguments,
                           size_t count);

/* The same for a pointer to a function, which an array of object pointers cannot hold. */
rynd_status ry_api_require_function(const char *function, const char *name, bool given);

/* Takes a caller's tensor; every entry point calls this before it reads the tensor. Refuses an
 * unknown dtype, rank or dim, more bytes than 63 bits count, and strides that leave the address
 * space. The caller checks that shape and dtype are the wanted ones. Strides of dims of one element
 * are replaced by ones that cannot overflow. The message does not name the tensor: see
 * ry_error_prefix. */
rynd_status ry_api_take_tensor(const rynd_tensor *given, ry_tensor *taken, ry_error *error);

/* Refuses an output in which two elements share memory, as with a stride of 0. `tensor` was
 * taken. */
rynd_status ry_api_check_writable(const ry_tensor *tensor, ry_error *error);

/* Checks the memory of an operand that is used in place: not NULL, aligned to its elements. */
rynd_status ry_api_check_data(const ry_tensor *description, const void *data, ry_error *error);

/* Does the planned device run here? UNSUPPORTED for plans of a better instruction set. */
rynd_status ry_api_check_runs(const ry_device *device, ry_error *error);

#endif
