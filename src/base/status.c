/* SPDX-License-Identifier: Apache-2.0 */
/* Status names and error messages. */
#include "base/status.h"

#include "base/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void ry_error_write(ry_error *error, const char *format, ...)
{
    if (error) {
        va_list args;
        va_start(args, format);
        vsnprintf(error->text, sizeof error->text, format, args);
        va_end(args);
    }
}

void ry_error_write_memory(ry_error *error)
{
    const size_t size = ry_memory_refused();
    if (size == SIZE_MAX) {
        ry_error_write(error, "out of memory: more bytes than there are addresses");
    } else if (size) {
        ry_error_write(error, "out of memory for %zu bytes", size);
    } else {
        ry_error_write(error, "out of memory");
    }
}

void ry_error_prefix(ry_error *error, const char *format, ...)
{
    if (!error) {
        return;
    }
    ry_error old = *error;
    va_list args;
    va_start(args, format);
    int written = vsnprintf(error->text, sizeof error->text, format, args);
    va_end(args);
    size_t used = written < 0 ? 0 : (size_t)written;
    if (used < sizeof error->text) {
        snprintf(error->text + used, sizeof error->text - used, "%s", old.text);
    }
}

const char *rynd_status_text(rynd_status status)
{
    static const char *const names[] = {
        [RYND_OK] = "ok",
        [RYND_ERROR_ARGUMENT] = "invalid argument",
        [RYND_ERROR_OUT_OF_MEMORY] = "out of memory",
        [RYND_ERROR_IO] = "input/output error",
        [RYND_ERROR_FORMAT] = "malformed file",
        [RYND_ERROR_UNSUPPORTED] = "unsupported",
        [RYND_ERROR_SHAPE] = "shape or type mismatch",
        [RYND_ERROR_NOT_FOUND] = "not found",
        [RYND_ERROR_DEVICE] = "device error",
        [RYND_ERROR_CANCELLED] = "cancelled",
    };
    size_t i = (size_t)status;
    return i < sizeof names / sizeof *names ? names[i] : "unknown status";
}
