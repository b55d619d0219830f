/* SPDX-License-Identifier: Apache-2.0 */
/** @file status.h
 *  @brief What a function of the library returns, and how to ask what went wrong. */
#ifndef RYND_STATUS_H
#define RYND_STATUS_H

#include <rynd/export.h>

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
} rynd_status;

/** The fixed English name of a status ("out of memory"). Never NULL; any thread. */
RYND_API const char *rynd_status_text(rynd_status status);

/** The message of the last failed call made by this thread: what failed, where (file, node, value), and what to do.
 *  "" when none failed yet. The text belongs to the library and is valid until this thread's next call. */
RYND_API const char *rynd_last_error(void);

#ifdef __cplusplus
}
#endif
#endif
