/* SPDX-License-Identifier: Apache-2.0 */
/** @file text.h
 *  @brief Names of models and files, made fit to be shown. */
#ifndef RYND_TEXT_H
#define RYND_TEXT_H

#include <rynd/export.h>

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** For what the text shall be fit. */
typedef enum rynd_escape {
    RYND_ESCAPE_LINE, /**< one line on a terminal or in a log */
    RYND_ESCAPE_JSON, /**< a string of JSON (RFC 8259), with its quotes */
} rynd_escape;

/** Writes `text` so that it is valid UTF-8 without control characters and without characters that
 *  change the direction or the lines of what is shown around it, or that cannot be seen. In a line
 *  those become \n, \x1b, \u202e or \U000e0001, in JSON \n, \u001b, \u202e or two surrogates; a
 *  byte that is no UTF-8 becomes \xff in a line, and these four characters in JSON. A backslash
 *  stays one in a line, so what was written so is not changed by writing it again.
 *
 *  Names that the library returns are as the file has them. Its messages (rynd_last_error,
 *  rynd_log) are lines of this kind.
 *
 *  Writes at most `size` bytes with the final NUL, whole characters only; `to` may be NULL where
 *  size is 0, and `text` NULL is "". Returns the length that the whole has without the NUL, like
 *  snprintf. Any thread. */
RYND_API size_t rynd_text_escape(const char *text, rynd_escape escape, char *to, size_t size);

#ifdef __cplusplus
}
#endif
#endif
