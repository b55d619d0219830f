/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the equation of an Einstein summation (ONNX Einsum, version 12) term by term.
 *
 * Each dim of a term gets a label: a letter's number, or for an ellipsis the position of the dim
 * counted from its right end, so that broadcast dims of several operands share a label. */
#ifndef RY_PROBLEM_EINSUM_H
#define RY_PROBLEM_EINSUM_H

#include "tensor/tensor.h"

enum { RY_EINSUM_LETTERS = 52, RY_EINSUM_LABELS = RY_EINSUM_LETTERS + RY_MAX_RANK };

typedef struct ry_einsum_term {
    int count;
    uint8_t label[RY_MAX_RANK];
} ry_einsum_term;

typedef struct ry_einsum_reader {
    const char *at;             /* the text that is not read yet */
    int operands;               /* read so far */
    int ellipsis;               /* the largest number of dims that an ellipsis covers */
    int uses[RY_EINSUM_LABELS]; /* occurrences of each label in the operands */
    int letters;                /* letters in the term read last */
    const char *error;          /* why the equation is refused; NULL: it is not */
    bool rank_error;            /* the refused term does not fit the rank of its operand */
} ry_einsum_reader;

ry_einsum_reader ry_einsum_begin(const char *equation);

/* Reads the term of the next operand, which has `rank` dims. Returns false and sets error where
 * the equation is malformed. */
bool ry_einsum_operand(ry_einsum_reader *reader, int rank, ry_einsum_term *term);

/* Reads the output's term after the last operand, or derives it: without an arrow the output has
 * the dims of the ellipsis, then the letters that occur once, in alphabetical order. */
bool ry_einsum_output(ry_einsum_reader *reader, ry_einsum_term *term);

#endif
