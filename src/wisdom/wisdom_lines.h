/* SPDX-License-Identifier: Apache-2.0 */
/* Records as JSON Lines: an object a line with the columns of the database in its order, sorted as
 * ry_wisdom_visit gives them. The same records are the same bytes: numbers are written as the
 * shortest text that reads back as the same.
 *
 *   {"machine":"AuthenticAMD family=19 ...","problem":"conv n=1 ...","constants":6,"threads":2,
 *    "kernel":"conv_fwd_f32_igemm_avx512","form":"mode=rows ...","source":"00c0ffee00c0ffee",
 *    "rejected":null,"samples":31,"mean":4.41e-05,"variance":1e-13,"median":4.4e-05,
 *    "min":4.3e-05,"max":4.9e-05,"predicted":4.82e-05,"time":1790000000}
 *
 * (on one line). The reader is our own: the command's cJSON is no part of the library, takes any
 * nesting, and reads numbers as the locale has them. */
#ifndef RY_WISDOM_WISDOM_LINES_H
#define RY_WISDOM_WISDOM_LINES_H

#include "base/text.h"
#include "wisdom/wisdom.h"

/* Without the line's end. */
void ry_wisdom_print_line(const ry_wisdom_key *key, const ry_wisdom_record *record, ry_text *text);

/* Reads one; its texts go into the arena. Names that are not known are passed over, as a later
 * version may have more; "rejected" may be left out. Fails with FORMAT (what is wrong where, from 1
 * on), OUT_OF_MEMORY. */
rynd_status ry_wisdom_parse_line(const char *line, size_t length, ry_arena *arena,
                                 ry_wisdom_row *row, ry_error *error);

/* Reads a file of lines; empty ones are passed over. Rows and texts go into the arena. Fails with
 * IO and FORMAT (naming the file and the line), OUT_OF_MEMORY. */
rynd_status ry_wisdom_read_lines(const char *path, ry_arena *arena, ry_wisdom_row **rows,
                                 size_t *count, ry_error *error);

/* Writes the records of a filter to a file, whole or not at all. `allocator`: for what it needs
 * meanwhile. Fails with IO, OUT_OF_MEMORY. */
rynd_status ry_wisdom_write_lines(ry_wisdom *wisdom, const ry_wisdom_filter *filter,
                                  const char *path, const ry_allocator *allocator, size_t *count,
                                  ry_error *error);

#endif
