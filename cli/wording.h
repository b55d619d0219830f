/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers and shapes as people read them. */
#ifndef CLI_WORDING_H
#define CLI_WORDING_H

#include <rynd/rynd.h>

#define CLI_WORD  32  /* room for a number with its unit */
#define CLI_SHAPE 512 /* room for a shape */

typedef struct cli_word {
    char text[CLI_WORD];
} cli_word;

typedef struct cli_shape_text {
    char text[CLI_SHAPE];
} cli_shape_text;

cli_word cli_word_seconds(double seconds);             /* "12.3 ms" */
cli_word cli_word_bytes(double bytes);                 /* "45.2 MiB" */
cli_word cli_word_count(double count);                 /* "138.4 M" */
cli_word cli_word_rate(double rate, const char *unit); /* "97.1 Gflop/s"; decimal prefixes */
/* "[1, 3, 224, 224]"; a scalar is "[]" */
cli_shape_text cli_shape_of_tensor(const rynd_tensor *tensor);
/* "[batch, 3, 224, 224]"; "[...]" when the rank is not known */
cli_shape_text cli_shape_of_value(const rynd_value_info *info);

#endif
