/* SPDX-License-Identifier: Apache-2.0 */
/* The terms of an Einstein summation's equation. */
#include "problem/einsum.h"

#include <string.h>

static const char malformed[] = "expected letters, at most one '...' a term, ',' and '->'";

ry_einsum_reader ry_einsum_begin(const char *equation)
{
    return (ry_einsum_reader){.at = equation};
}

static bool refuse(ry_einsum_reader *reader, const char *error)
{
    reader->error = error;
    return false;
}

static int letter_label(char c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' : c >= 'a' && c <= 'z' ? c - 'a' + 26 : -1;
}

static bool is_ellipsis(const char *text)
{
    return strncmp(text, "...", 3) == 0;
}

static bool ends_term(char c)
{
    return c == 0 || c == ',' || c == '-';
}

/* Counts the letters of the next term and finds its ellipsis. */
static bool scan_term(ry_einsum_reader *reader, bool *ellipsis)
{
    reader->letters = 0;
    *ellipsis = false;
    for (const char *c = reader->at; !ends_term(*c); c++) {
        if (is_ellipsis(c) && !*ellipsis) {
            *ellipsis = true;
            c += 2;
        } else if (letter_label(*c) >= 0) {
            reader->letters++;
        } else if (*c != ' ') {
            return refuse(reader, malformed);
        }
    }
    return true;
}

/* Reads a term that scan_term has accepted and whose dims fit; its ellipsis covers `covered`. */
static void read_term(ry_einsum_reader *reader, int covered, ry_einsum_term *term)
{
    term->count = 0;
    for (; !ends_term(*reader->at); reader->at++) {
        const int label = letter_label(*reader->at);
        if (label >= 0) {
            term->label[term->count++] = (uint8_t)label;
        } else if (*reader->at == '.') {
            for (int d = covered - 1; d >= 0; d--) {
                term->label[term->count++] = (uint8_t)(RY_EINSUM_LETTERS + d);
            }
            reader->at += 2;
        }
    }
}

bool ry_einsum_operand(ry_einsum_reader *reader, int rank, ry_einsum_term *term)
{
    bool ellipsis;
    if (reader->operands++ > 0 && *reader->at++ != ',') {
        return refuse(reader, "needs as many terms as there are inputs");
    }
    if (!scan_term(reader, &ellipsis)) {
        return false;
    }
    const int covered = rank - reader->letters;
    if (covered < 0 || (covered > 0 && !ellipsis)) {
        reader->rank_error = true;
        return refuse(reader, "a term and the rank of its input disagree");
    }
    reader->ellipsis = covered > reader->ellipsis ? covered : reader->ellipsis;
    read_term(reader, covered, term);
    for (int d = 0; d < term->count; d++) {
        reader->uses[term->label[d]]++;
    }
    return true;
}

static bool add_label(ry_einsum_reader *reader, ry_einsum_term *term, int label)
{
    if (term->count == RY_MAX_RANK) {
        return refuse(reader, "the output has too many dims");
    }
    term->label[term->count++] = (uint8_t)label;
    return true;
}

static bool implied_output(ry_einsum_reader *reader, ry_einsum_term *term)
{
    bool fits = true;
    term->count = 0;
    for (int d = reader->ellipsis - 1; fits && d >= 0; d--) {
        fits = add_label(reader, term, RY_EINSUM_LETTERS + d);
    }
    for (int label = 0; fits && label < RY_EINSUM_LETTERS; label++) {
        fits = reader->uses[label] != 1 || add_label(reader, term, label);
    }
    return fits;
}

/* Each label once, and each in an operand. */
static bool check_output(ry_einsum_reader *reader, const ry_einsum_term *term)
{
    bool used[RY_EINSUM_LABELS] = {false};
    for (int d = 0; d < term->count; d++) {
        const int label = term->label[d];
        if (used[label] || reader->uses[label] == 0) {
            return refuse(reader,
                          "each letter of the output must occur in an input, and once in the "
                          "output");
        }
        used[label] = true;
    }
    return true;
}

bool ry_einsum_output(ry_einsum_reader *reader, ry_einsum_term *term)
{
    bool ellipsis;
    if (*reader->at == ',') {
        return refuse(reader, "needs as many terms as there are inputs");
    }
    if (*reader->at == 0) {
        return implied_output(reader, term);
    }
    if (reader->at[1] != '>') {
        return refuse(reader, malformed);
    }
    reader->at += 2;
    if (!scan_term(reader, &ellipsis)) {
        return false;
    }
    if (reader->letters + (ellipsis ? reader->ellipsis : 0) > RY_MAX_RANK) {
        return refuse(reader, "the output has too many dims");
    }
    read_term(reader, reader->ellipsis, term);
    return *reader->at == 0 ? check_output(reader, term) : refuse(reader, malformed);
}
