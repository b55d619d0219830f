/* SPDX-License-Identifier: Apache-2.0 */
/** @file text.h
 *  @brief Experimental (see <rynd/rynd.h>): makes names from models and files safe to print. */
#ifndef RYND_TEXT_H
#define RYND_TEXT_H

#include <rynd/export.h>

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Where the text is printed. */
typedef enum rynd_escape {
    RYND_ESCAPE_LINE, /**< one line on a terminal or in a log */
    RYND_ESCAPE_JSON, /**< a JSON string (RFC 8259), with its quotes */
} rynd_escape;

/** Writes `text` as valid UTF-8 without control characters, invisible characters, and characters
 * that change the direction or lines of the surrounding text.
 *  - In a line these become \n, \x1b, \u202e or \U000e0001; in JSON \n, \u001b, \u202e or two
 *    surrogates.
 *  - A byte that is no UTF-8 becomes \xff in a line, and these four characters in JSON.
 *  - A backslash stays one in a line: escaping twice equals escaping once.
 *
 * Names that the library returns are as in the file. Its messages (rynd_last_error, the log) are
 * escaped as lines.
 *
 * Writes at most `size` bytes, the final NUL included, and whole characters only; `to` may be NULL
 * if size is 0. text NULL: "". Returns the length of the whole text without the NUL, as snprintf
 * does. Any thread. */
RYND_API size_t rynd_text_escape(const char *text, rynd_escape escape, char *to, size_t size);

#ifdef __cplusplus
}
#endif
#endif
