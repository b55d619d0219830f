/* SPDX-License-Identifier: Apache-2.0 */
/* The last error of each thread, options and information structs of several ages. */
#include "api/api_status.h"

#include "api/handles.h"
#include "base/escape.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *rynd_version(void)
{
    return RYND_VERSION;
}

unsigned rynd_version_number(void)
{
    return RYND_VERSION_NUMBER;
}

/* State outside handles, like the size of a refused allocation (base/memory.h): C has no other way
 * to give a message beside a status without burdening every call. */
static _Thread_local ry_error last_error;

rynd_status ry_api_end(rynd_status status, const ry_error *error)
{
    if (status != RYND_OK) {
        ry_escape(error->text[0] ? error->text : rynd_status_text(status), RYND_ESCAPE_LINE,
                  last_error.text, sizeof last_error.text);
    }
    return status;
}

const char *rynd_last_error(void)
{
    return last_error.text;
}

size_t rynd_text_escape(const char *text, rynd_escape escape, char *to, size_t size)
{
    return ry_escape(text, escape, to, size);
}

/* The size field of a caller's struct, which is its first. Every struct has pointers or the like in
 * it, so its size is a multiple of theirs: another one was never sizeof of any version, and would
 * cut a field in two. */
static rynd_status read_size(const void *from, const char *what, size_t *size, ry_error *error)
{
    enum { LARGEST = 4096 };
    memcpy(size, from, sizeof *size);
    if (*size < sizeof *size || *size > LARGEST || *size % sizeof *size != 0) {
        return ry_fail(error, RYND_ERROR_ARGUMENT, "%s: size is %zu; set it to sizeof(%s)", what,
                       *size, what);
    }
    return RYND_OK;
}

rynd_status ry_api_options(void *options, size_t size, const void *given, const char *what,
                           ry_error *error)
{
    size_t known;
    memset(options, 0, size);
    if (!given) {
        return RYND_OK;
    }
    RY_TRY(read_size(given, what, &known, error));
    for (size_t i = size; i < known; i++) {
        if (((const char *)given)[i]) {
            return ry_fail(error, RYND_ERROR_UNSUPPORTED,
                           "%s: size is %zu, of which this library (rynd %s) knows %zu bytes, and "
                           "byte %zu is not 0: the program was "
                           "compiled for a later version and "
                           "asks for what this one does not have",
                           what, known, rynd_version(), size, i);
        }
    }
    memcpy(options, given, known < size ? known : size);
    return RYND_OK;
}

rynd_status ry_api_info(void *to, const void *info, size_t size, const char *what, ry_error *error)
{
    size_t known;
    RY_TRY(read_size(to, what, &known, error));
    size_t common = known < size ? known : size;
    memset((char *)to + sizeof known, 0, known - sizeof known);
    memcpy((char *)to + sizeof known, (const char *)info + sizeof known, common - sizeof known);
    return RYND_OK;
}

void ry_api_log(const rynd_context *context, int level, const char *format, ...)
{
    if (!context->log) {
        return;
    }
    char message[1024], line[4 * sizeof message]; /* "\xff" stands for one byte */
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    ry_escape(message, RYND_ESCAPE_LINE, line, sizeof line);
    context->log(context->log_user, level, line);
}

void ry_api_tell_warnings(const rynd_model *model, const ry_graph *graph)
{
    const char *path = model->onnx.path ? model->onnx.path : "";
    for (size_t i = 0; i < graph->warning_count; i++) {
        ry_api_log(model->context, 0, "%s%s%s", path, *path ? ": " : "", graph->warnings[i]);
    }
}

rynd_status ry_api_check_accuracy(rynd_accuracy accuracy, ry_error *error)
{
    if (accuracy < RYND_ACCURACY_DEFAULT || accuracy > RYND_ACCURACY_INT8) {
        return ry_fail(error, RYND_ERROR_ARGUMENT, "accuracy %d is none of rynd_accuracy",
                       (int)accuracy);
    }
    return RYND_OK;
}

ry_accuracy ry_api_accuracy(rynd_accuracy accuracy)
{
    return accuracy == RYND_ACCURACY_DEFAULT ? RY_ACCURACY_near32
                                             : (ry_accuracy)(accuracy - RYND_ACCURACY_STRICT);
}
