/* SPDX-License-Identifier: Apache-2.0 */
/** @file status.h
 *  @brief Errors, struct sizes and progress: the rules of every function.
 *
 * Arguments:
 *  - Every function that returns a status fails with RYND_ERROR_ARGUMENT if a pointer is NULL that
 *    is not described as optional, an index is out of range, a number or an enumerator is outside
 *    its range, or a struct has a wrong `size`. The message names the parameter. Comments at
 *    functions list only their other reasons.
 *  - Functions that return no status accept a NULL handle: destroying it does nothing; counts,
 *    sizes and times are 0; names and objects are NULL.
 *  - Texts that the library returns belong to the library. Each
 *    lives as long as its object, unless its comment says otherwise.
 *
 * Results: if a create or load function fails, it sets the handle to NULL. Other results keep
 * their old values.
 *
 * Structs: the first field of structs of options and facts is `size`, the size that the program
 * was compiled with; RYND_SIZED fills it. So programs and libraries of different versions work
 * together:
 *  - The library takes options that an older program lacks as 0.
 *  - Options that an older library lacks must be 0, otherwise RYND_ERROR_UNSUPPORTED.
 *  - The library sets facts that it does not know to 0.
 * An option that is 0 or NULL has its default. Options are read during the call only, unless their
 * comment says otherwise.
 *
 * Threads: unless its comment says otherwise, an object may be used by one thread at a time. */
#ifndef RYND_STATUS_H
#define RYND_STATUS_H

#include <rynd/export.h>

#include <stddef.h>

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
    RYND_ERROR_ARGUMENT,      /**< an argument is not allowed */
    RYND_ERROR_OUT_OF_MEMORY, /**< the allocator returned NULL */
    RYND_ERROR_IO,            /**< a file could not be opened, read or written */
    RYND_ERROR_FORMAT,        /**< a file or text is damaged, or has another format */
    RYND_ERROR_UNSUPPORTED,   /**< legal, but rynd does not compute it */
    RYND_ERROR_SHAPE,         /**< shapes, types or tensor contents disagree */
    RYND_ERROR_NOT_FOUND,     /**< a name is unknown */
    RYND_ERROR_DEVICE,        /**< the device failed or is missing */
    RYND_ERROR_CANCELLED,     /**< a callback ended the call */
} rynd_status;

/** The fixed English name of a status ("out of memory"). Never NULL; any thread. */
RYND_API const char *rynd_status_text(rynd_status status);

/** The message of this thread's last failed call: the error, its place (file, node, value), and the
 * remedy. "" before the first failure. The text is valid until this thread's next call. */
RYND_API const char *rynd_last_error(void);

struct rynd_tune_progress;

/** How far a call is: `done` of `all` parts of its work. Valid during the callback. */
typedef struct rynd_progress {
    size_t size; /**< set by the library */
    size_t done, all;
    const struct rynd_tune_progress *tuning; /**< details of tuning (<rynd/tune.h>); else NULL */
} rynd_progress;

/** Hears how far a call is, in the thread that calls. Any result but 0 ends the call, which then
 * fails with RYND_ERROR_CANCELLED, unless its comment says otherwise. */
typedef int (*rynd_progress_function)(void *user, const rynd_progress *progress);

#ifdef __cplusplus
}
#endif
#endif
