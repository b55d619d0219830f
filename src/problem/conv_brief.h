/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a convolution's short form, as numbers. */
#ifndef RY_PROBLEM_CONV_BRIEF_H
#define RY_PROBLEM_CONV_BRIEF_H

#include "problem/problem.h"
#include "problem/problem_words.h"

enum { RY_BRIEF_DIMS = 3, RY_BRIEF_PADS = 2 * RY_BRIEF_DIMS };

/* Spatial lists are w-aligned: index 0 is d, 1 h, 2 w, whatever the number of dims. */
typedef struct ry_conv_brief {
    ry_op op;
    int spatial;
    int64_t n, c, k, groups, residual;
    int64_t image[RY_BRIEF_DIMS], window[RY_BRIEF_DIMS];
    bool image_given[RY_BRIEF_DIMS], window_given[RY_BRIEF_DIMS];
    ry_ints pad, stride, dilation, opad; /* as given: 1, rank or (pad) 2 * rank numbers */
    int bias, activation, dtype, layout, dir;
    double alpha, beta;
    ry_accuracy accuracy;
} ry_conv_brief;

/* phases: each phase of a transposed convolution has one, [k][stride]... */
typedef enum ry_bias_kind {
    RY_BIAS_NONE,
    RY_BIAS_CHANNELS,
    RY_BIAS_PHASES,
    RY_BIAS_KINDS
} ry_bias_kind;

extern const char *const ry_brief_image_keys[RY_BRIEF_DIMS]; /* d, h, w */

/* Takes one "key=value". */
rynd_status ry_brief_parse_word(const ry_word *word, ry_conv_brief *b, ry_error *error);
/* Would ry_brief_parse_word take each number? */
bool ry_brief_in_range(const ry_conv_brief *b);
/* Prints the words; defaults are left out. */
void ry_brief_print(const ry_conv_brief *b, ry_text *text);

#endif
