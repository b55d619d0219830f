/* SPDX-License-Identifier: Apache-2.0 */
/* How functions inside the library fail: a rynd_status is returned, and the message is written
 * once, where the cause is known.
 *
 *   rynd_status ry_thing(..., ry_error *error)
 *   {
 *       if (bad) {
 *           return ry_fail(error, RYND_ERROR_SHAPE, "node '%s': axis %d is outside rank %d", name,
 *                          axis, rank);
 *       }
 *       RY_TRY(ry_other(..., error));
 *       return RYND_OK;
 *   }
 *
 * The message says what failed, where (file, node, value) and, where it is not obvious, what to do.
 * A caller that knows more adds it in front with ry_error_prefix. `error` may be NULL: the status
 * alone is returned. */
#ifndef RY_BASE_STATUS_H
#define RY_BASE_STATUS_H

#include <rynd/status.h>

typedef struct ry_error {
    char text[4096];
} ry_error;

/* Replaces the message. */
void ry_error_write(ry_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* rynd_status ry_fail(ry_error *error, rynd_status status, const char *format, ...): writes the
 * message and gives the status back. A macro, so that compilers and static analysis see which
 * status that is. */
#define ry_fail(error, status, ...) (ry_error_write((error), __VA_ARGS__), (rynd_status)(status))

/* "out of memory for 8589934592 bytes": what this thread was last refused (ry_memory_refused).
 * Where it was is for the callers to put in front. */
void ry_error_write_memory(ry_error *error);

static inline rynd_status ry_fail_memory(ry_error *error)
{
    ry_error_write_memory(error);
    return RYND_ERROR_OUT_OF_MEMORY;
}

void ry_error_prefix(ry_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#define RY_TRY(call)                  \
    do {                              \
        rynd_status ry_try_ = (call); \
        if (ry_try_ != RYND_OK) {     \
            return ry_try_;           \
        }                             \
    } while (0)

/* Forwards a failure through the function's one cleanup label; the function declares `rynd_status
 * status`. */
#define RY_TRY_OR(label, call)   \
    do {                         \
        status = (call);         \
        if (status != RYND_OK) { \
            goto label;          \
        }                        \
    } while (0)

#endif
