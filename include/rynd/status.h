/* SPDX-License-Identifier: Apache-2.0 */
/** @file status.h
 *  @brief What a function of the library returns, and how to ask what went wrong.
 *
 * Holds for every function:
 *  - A pointer that may be NULL says so, where it is described. Where another is NULL, a function
 *    that returns a status fails with RYND_ERROR_ARGUMENT, and the message names the parameter.
 *    What returns no status takes a NULL handle as one that holds nothing: to destroy it does
 *    nothing; counts, sizes and times are 0, names NULL.
 *  - The handle that a create or load function gives is NULL when it fails; other results are as
 *    they were.
 *  - A struct with a `size` field is sizeof(it) as the program knows it, so programs and libraries
 *    of different versions fit together: options that an older program does not know are 0; options
 *    that an older library does not know must be 0 (RYND_ERROR_UNSUPPORTED otherwise); facts that
 *    it does not know are 0. Any other size fails with RYND_ERROR_ARGUMENT. */
#ifndef RYND_STATUS_H
#define RYND_STATUS_H

#include <rynd/export.h>

/** RYND_SIZED(type, .field = value, ...): a value of the type with `size` filled in, the given
 * fields, and 0 elsewhere:
 *
 *      rynd_plan_options options = RYND_SIZED(rynd_plan_options, .batch = 8);
 *      rynd_memory memory = RYND_SIZED(rynd_memory);
 *
 * In C++ it takes the type only; assign the fields afterwards. */
#ifdef __cplusplus
template <typename T> inline T rynd_sized()
{
    T value = T();
    value.size = sizeof value;
    return value;
}
#define RYND_SIZED(type) rynd_sized<type>()
#else
#define RYND_SIZED(...)                                                                 \
    ((RYND_SIZED_TYPE_(__VA_ARGS__, )){.size = sizeof(RYND_SIZED_TYPE_(__VA_ARGS__, )), \
                                       RYND_SIZED_FIELDS_(__VA_ARGS__, )})
#define RYND_SIZED_TYPE_(type, ...)   type
#define RYND_SIZED_FIELDS_(type, ...) __VA_ARGS__
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** The outcome of a call. Every function that can fail returns one; RYND_OK is 0. */
typedef enum rynd_status {
    RYND_OK = 0,
    RYND_ERROR_ARGUMENT,      /**< an argument breaks the function's contract */
    RYND_ERROR_OUT_OF_MEMORY, /**< the allocator returned NULL */
    RYND_ERROR_IO,            /**< a file could not be opened, read or written */
    RYND_ERROR_FORMAT,        /**< a file's content is not what its format says */
    RYND_ERROR_UNSUPPORTED,   /**< legal, but not something rynd computes */
    RYND_ERROR_SHAPE,         /**< shapes or types disagree */
    RYND_ERROR_NOT_FOUND,     /**< no input, output or node of that name */
    RYND_ERROR_DEVICE,        /**< the device failed or is not there */
    RYND_ERROR_CANCELLED,     /**< the caller ended it */
} rynd_status;

/** The fixed English name of a status ("out of memory"). Never NULL; any thread. */
RYND_API const char *rynd_status_text(rynd_status status);

/** The message of the last failed call made by this thread: what failed, where (file, node, value),
 * and what to do.
 *  "" when none failed yet. The text belongs to the library and is valid until this thread's next
 * call. */
RYND_API const char *rynd_last_error(void);

#ifdef __cplusplus
}
#endif
#endif
