/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes UTF-8 strictly (Unicode, table 3-7) and writes escapes for what must not be shown as
 * it is. */
#include "base/escape.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* C0, DEL and C1; marks and overrides of direction; separators of lines; what has no width;
 * tags. */
static const struct {
    uint32_t first, last;
} unseen[] = {
    {0x00, 0x1f},     {0x7f, 0x9f},     {0x061c, 0x061c},   {0x180e, 0x180e},
    {0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f},   {0xfeff, 0xfeff},
    {0xfff9, 0xfffb}, {0xfffe, 0xffff}, {0xe0000, 0xe007f},
};

static bool is_unseen(uint32_t code)
{
    for (size_t i = 0; i < sizeof unseen / sizeof *unseen; i++) {
        if (code >= unseen[i].first && code <= unseen[i].last) {
            return true;
        }
    }
    return false;
}

/* The bytes of the character at text; 0 when they are none. The NUL at the end is no
 * continuation, so nothing behind it is read. */
static size_t decode(const unsigned char *text, uint32_t *code)
{
    /* a longer form of a smaller number is refused */
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const size_t length = text[0] < 0x80   ? 1
                          : text[0] < 0xc0 ? 0
                          : text[0] < 0xe0 ? 2
                          : text[0] < 0xf0 ? 3
                          : text[0] < 0xf8 ? 4
                                           : 0;
    *code = length == 1 ? text[0] : text[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xc0u) != 0x80u) {
            return 0;
        }
        *code = *code << 6 | (text[i] & 0x3fu);
    }
    const bool surrogate = *code >= 0xd800 && *code <= 0xdfff;
    return length && *code >= least[length] && *code <= 0x10ffff && !surrogate ? length : 0;
}

/* A letter that stands for a control character behind a backslash; 0: none. */
static char letter_of(uint32_t code)
{
    return code == '\n' ? 'n' : code == '\r' ? 'r' : code == '\t' ? 't' : 0;
}

/* The largest piece: two surrogates. */
enum { PIECE = 16 };

static void write_code(uint32_t code, rynd_escape escape, char piece[PIECE])
{
    if (letter_of(code)) {
        snprintf(piece, PIECE, "\\%c", letter_of(code));
    } else if (escape == RYND_ESCAPE_LINE) {
        snprintf(piece, PIECE,
                 code < 0x80      ? "\\x%02x"
                 : code < 0x10000 ? "\\u%04x"
                                  : "\\U%08x",
                 (unsigned)code);
    } else if (code < 0x10000) {
        snprintf(piece, PIECE, "\\u%04x", (unsigned)code);
    } else {
        const unsigned rest = (unsigned)code - 0x10000;
        snprintf(piece, PIECE, "\\u%04x\\u%04x", 0xd800 + (rest >> 10), 0xdc00 + (rest & 0x3ff));
    }
}

/* Escapes one character, or one byte of broken UTF-8; returns the number of bytes read. */
static size_t next_piece(const char *text, rynd_escape escape, char piece[PIECE])
{
    uint32_t code;
    const size_t length = decode((const unsigned char *)text, &code);
    if (!length) {
        snprintf(piece, PIECE, "%s%02x", escape == RYND_ESCAPE_JSON ? "\\\\x" : "\\x",
                 (unsigned)(unsigned char)*text);
        return 1;
    }
    if (is_unseen(code)) {
        write_code(code, escape, piece);
    } else if (escape == RYND_ESCAPE_JSON && (code == '"' || code == '\\')) {
        snprintf(piece, PIECE, "\\%c", (char)code);
    } else {
        snprintf(piece, PIECE, "%.*s", (int)length, text);
    }
    return length;
}

typedef struct output {
    char *to;
    size_t size, written, whole; /* written: bytes so far, without NUL; whole: bytes of the full
                                    text */
} output;

/* Once a piece has not fitted, none behind it is written, however small. */
static void put(output *o, const char *piece)
{
    const size_t length = strlen(piece);
    if (o->written == o->whole && o->whole + length < o->size) {
        memcpy(o->to + o->written, piece, length);
        o->written += length;
    }
    o->whole += length;
}

size_t ry_escape(const char *text, rynd_escape escape, char *to, size_t size)
{
    output o = {.to = to, .size = to ? size : 0};
    const char *quote = escape == RYND_ESCAPE_JSON ? "\"" : "";
    char piece[PIECE];
    put(&o, quote);
    for (text = text ? text : ""; *text;) {
        text += next_piece(text, escape, piece);
        put(&o, piece);
    }
    put(&o, quote);
    if (o.size) {
        o.to[o.written] = 0;
    }
    return o.whole;
}
