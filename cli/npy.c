/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes .npy. The header is a Python dict literal: {'descr': '<f4', 'fortran_order':
 * False, 'shape': (3, 4), }. */
#include "npy.h"

#include "options.h"
#include "wording.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const unsigned char magic[6] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

/* clang-format off */
static const struct {
    rynd_dtype dtype;
    char descr[4]; /* without the byte order */
} names[] = {
    {RYND_DTYPE_F32, "f4"}, {RYND_DTYPE_F16, "f2"}, {RYND_DTYPE_F64, "f8"},
    {RYND_DTYPE_I8, "i1"},  {RYND_DTYPE_I16, "i2"}, {RYND_DTYPE_I32, "i4"}, {RYND_DTYPE_I64, "i8"},
    {RYND_DTYPE_U8, "u1"},  {RYND_DTYPE_U16, "u2"}, {RYND_DTYPE_U32, "u4"}, {RYND_DTYPE_U64, "u8"},
    {RYND_DTYPE_BOOL, "b1"},
};
/* clang-format on */
#define NAMES (sizeof names / sizeof *names)

typedef struct header {
    rynd_dtype dtype;
    bool swapped, fortran;
    int rank;
    int64_t dim[RYND_MAX_RANK];
} header;

/* The text after "'key':" and spaces; NULL when the key is not there. */
static const char *find_key(const char *text, const char *key)
{
    char quoted[32];
    const char quotes[] = "'\"";
    for (int q = 0; q < 2; q++) {
        snprintf(quoted, sizeof quoted, "%c%s%c", quotes[q], key, quotes[q]);
        const char *at = strstr(text, quoted);
        if (at) {
            at += strlen(quoted);
            at += strspn(at, " ");
            return *at == ':' ? at + 1 + strspn(at + 1, " ") : NULL;
        }
    }
    return NULL;
}

static bool parse_descr(const char *text, const char *name, header *h, cli_failure *failure)
{
    char descr[64] = "";
    size_t length = text && (*text == '\'' || *text == '"') ? strcspn(text + 1, "'\"") : 0;
    if (length == 0) {
        /* A list of fields stands here for records. */
        return cli_fail(
            failure,
            "'%s': the .npy has a structured dtype; save each field as an array of numbers", name);
    }
    snprintf(descr, sizeof descr, "%.*s",
             length < sizeof descr ? (int)length : (int)sizeof descr - 1, text + 1);
    for (size_t i = 0; i < NAMES; i++) {
        if (strchr("<>|=", descr[0]) && strcmp(descr + 1, names[i].descr) == 0) {
            h->dtype = names[i].dtype;
            h->swapped = descr[0] == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? '>' : '<');
            return true;
        }
    }
    return cli_fail(
        failure,
        "'%s': rynd has no dtype '%s'; save as float32 or an integer type, for example with "
        "a.astype('float32')",
        name, descr);
}

static bool parse_shape(const char *text, const char *name, header *h, cli_failure *failure)
{
    if (!text || *text != '(') {
        return cli_fail(failure, "'%s': the .npy header has no shape; the file is damaged", name);
    }
    text++;
    for (;;) {
        text += strspn(text, " ,");
        if (*text == ')') {
            return true;
        }
        size_t digits = strspn(text, "0123456789");
        if (h->rank == RYND_MAX_RANK) {
            return cli_fail(failure, "'%s': the array has more than %d dimensions", name,
                            RYND_MAX_RANK);
        }
        if (!cli_parse_integer(text, digits, &h->dim[h->rank])) {
            return cli_fail(failure,
                            "'%s': the shape in the .npy header is not a tuple of whole numbers; "
                            "the file is damaged",
                            name);
        }
        h->rank++;
        text += digits;
    }
}

static bool parse_header(const char *text, const char *name, header *h, cli_failure *failure)
{
    const char *fortran = find_key(text, "fortran_order");
    if (!fortran || (strncmp(fortran, "True", 4) != 0 && strncmp(fortran, "False", 5) != 0)) {
        return cli_fail(
            failure, "'%s': the .npy header does not say fortran_order; the file is damaged", name);
    }
    h->fortran = *fortran == 'T';
    return parse_descr(find_key(text, "descr"), name, h, failure) &&
           parse_shape(find_key(text, "shape"), name, h, failure);
}

/* The header's length: of 2 bytes in version 1, of 4 in later ones. */
static bool read_length(cli_stream *stream, size_t *length, cli_failure *failure)
{
    unsigned char start[12];
    size_t got = 0, more = 0;
    const char *name = stream->name;
    if (!cli_stream_read(stream, start, 10, &got, failure)) {
        return false;
    }
    if (got < 10 || memcmp(start, magic, sizeof magic) != 0) {
        return cli_fail(failure, "'%s' is not an .npy file: it does not begin with \\x93NUMPY",
                        name);
    }
    if (start[6] < 1 || start[6] > 3) {
        return cli_fail(failure, "'%s': .npy version %d is not known; versions 1 to 3 are", name,
                        start[6]);
    }
    *length = (size_t)start[8] | (size_t)start[9] << 8;
    if (start[6] > 1) {
        if (!cli_stream_read(stream, start + 10, 2, &more, failure)) {
            return false;
        }
        if (more < 2) {
            return cli_fail(failure, "'%s' is truncated: it ends inside its header", name);
        }
        *length |= (size_t)start[10] << 16 | (size_t)start[11] << 24;
    }
    return true;
}

/* The header's text, to be freed; NULL when it fails. */
static char *read_header(cli_stream *stream, cli_failure *failure)
{
    /* NumPy writes more only for the fields of records. */
    const size_t most = 65536;
    size_t length = 0, got = 0;
    if (!read_length(stream, &length, failure)) {
        return NULL;
    }
    if (stream->left >= 0 && length > (uint64_t)stream->left) {
        cli_fail(failure, "'%s' is truncated: its header is of %zu bytes, but %" PRId64 " follow",
                 stream->name, length, stream->left);
        return NULL;
    }
    if (length > most) {
        cli_fail(failure, "'%s': an .npy header of %zu bytes is not that of a plain array",
                 stream->name, length);
        return NULL;
    }
    char *text = malloc(length + 1);
    if (!text) {
        cli_fail_memory(failure);
    } else if (cli_stream_read(stream, text, length, &got, failure) && got < length) {
        cli_fail(failure, "'%s' is truncated: it ends inside its header", stream->name);
    }
    if (!text || got < length) {
        free(text);
        return NULL;
    }
    text[length] = 0;
    return text;
}

static void swap_bytes(char *data, size_t count, size_t size)
{
    for (char *element = data; count > 0; count--, element += size) {
        for (size_t i = 0; i < size / 2; i++) {
            char saved = element[i];
            element[i] = element[size - 1 - i];
            element[size - 1 - i] = saved;
        }
    }
}

static bool fail_truncated(const cli_stream *stream, const rynd_tensor *head, int64_t need,
                           int64_t have, cli_failure *failure)
{
    return cli_fail(failure,
                    "'%s' is truncated: shape %s of %s needs %s%" PRId64 " bytes, but %" PRId64
                    " follow the header",
                    stream->name, cli_shape_of_tensor(head).text, rynd_dtype_name(head->dtype),
                    need < 0 ? "more than " : "", need < 0 ? INT64_MAX : need, have);
}

/* A tensor of more bytes than 2^63 has no description that a receiver could look at. */
static bool check_size(const cli_stream *stream, const header *h, cli_failure *failure)
{
    rynd_tensor head = {.dtype = h->dtype, .rank = h->rank};
    memcpy(head.dim, h->dim, sizeof head.dim);
    return cli_shape_bytes(h->rank, h->dim, rynd_dtype_size(h->dtype)) >= 0
               ? true
               : fail_truncated(stream, &head, -1, stream->left, failure);
}

/* The bytes as they are in the machine: its byte order, strides, and bools of 0 and 1. */
static void settle(const header *h, char *data, size_t bytes, rynd_tensor *view)
{
    size_t size = rynd_dtype_size(h->dtype);
    if (h->swapped) {
        swap_bytes(data, bytes / size, size);
    }
    for (int i = 0; h->fortran && i < h->rank && bytes > 0; i++) {
        view->stride[i] = i ? view->stride[i - 1] * h->dim[i - 1] : 1;
    }
    for (size_t i = 0; h->dtype == RYND_DTYPE_BOOL && i < bytes; i++) {
        data[i] = data[i] != 0;
    }
    view->data = data;
}

static bool read_data(cli_stream *stream, const header *h, cli_tensor *tensor, cli_failure *failure)
{
    rynd_tensor *view = &tensor->view;
    const int64_t need = cli_shape_bytes(h->rank, h->dim, rynd_dtype_size(h->dtype));
    if (need < 0 || (uint64_t)need > SIZE_MAX || (stream->left >= 0 && need > stream->left)) {
        return fail_truncated(stream, view, need, stream->left, failure);
    }
    size_t got = 0;
    tensor->memory = cli_stream_take(stream, (size_t)need, &got, failure);
    if (!tensor->memory) {
        return false;
    }
    if (got < (size_t)need) {
        return fail_truncated(stream, view, need, (int64_t)got, failure);
    }
    settle(h, tensor->memory, got, view);
    return true;
}

bool cli_npy_read(cli_stream *stream, const cli_receiver *receiver, cli_tensor *tensor,
                  cli_failure *failure)
{
    header h = {0};
    *tensor = (cli_tensor){0};
    char *text = read_header(stream, failure);
    bool done = text && parse_header(text, stream->name, &h, failure);
    free(text);
    if (done) {
        tensor->view = rynd_tensor_of(NULL, h.dtype, h.rank, h.dim);
        done = check_size(stream, &h, failure) &&
               (!receiver || receiver->fits(receiver->user, &tensor->view, failure)) &&
               read_data(stream, &h, tensor, failure);
    }
    if (!done) {
        cli_tensor_free(tensor);
    }
    return done;
}

bool cli_npy_read_whole(cli_stream *stream, const cli_receiver *receiver, cli_tensor *tensor,
                        cli_failure *failure)
{
    char more;
    size_t got = 0;
    if (!cli_npy_read(stream, receiver, tensor, failure)) {
        return false;
    }
    bool done = cli_stream_read(stream, &more, 1, &got, failure);
    if (done && got) {
        done = cli_fail(failure, "'%s' is damaged: more bytes follow its array", stream->name);
    }
    if (!done) {
        cli_tensor_free(tensor);
    }
    return done;
}

enum { HEAD = 10 }; /* magic, version, and the length of the rest */

static size_t write_header(const rynd_tensor *tensor, char *text, size_t size)
{
    const char *descr = "f4";
    for (size_t i = 0; i < NAMES; i++) {
        descr = names[i].dtype == tensor->dtype ? names[i].descr : descr;
    }
    char order = rynd_dtype_size(tensor->dtype) == 1         ? '|'
                 : __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? '<'
                                                             : '>';
    size_t used = (size_t)snprintf(
        text, size, "{'descr': '%c%s', 'fortran_order': False, 'shape': (", order, descr);
    for (int i = 0; i < tensor->rank; i++) {
        used += (size_t)snprintf(text + used, size - used, "%s%" PRId64 "%s", i ? " " : "",
                                 tensor->dim[i], i + 1 < tensor->rank || i == 0 ? "," : "");
    }
    used += (size_t)snprintf(text + used, size - used, "), }");
    /* Spaces and a newline make the data begin at a multiple of 64. */
    size_t total = (10 + used + 1 + 63) / 64 * 64 - 10;
    memset(text + used, ' ', total - used - 1);
    text[total - 1] = '\n';
    return total;
}

void cli_npy_free(cli_npy *array)
{
    cli_tensor_free(&array->packed);
}

/* What can be written as it is needs no copy. */
static bool take_data(const rynd_tensor *tensor, cli_npy *array, cli_failure *failure)
{
    cli_conversion conversion;
    if (tensor->dtype != RYND_DTYPE_BF16 && cli_is_row_major(tensor)) {
        array->packed = (cli_tensor){.view = *tensor};
        return true;
    }
    return cli_tensor_copy_of(tensor, &array->packed, failure) &&
           (tensor->dtype != RYND_DTYPE_BF16 ||
            cli_tensor_convert(&array->packed, RYND_DTYPE_F32, &conversion, failure));
}

bool cli_npy_open(const rynd_tensor *tensor, cli_npy *array, cli_failure *failure)
{
    *array = (cli_npy){.data = NULL};
    if (!take_data(tensor, array, failure)) {
        cli_npy_free(array);
        return false;
    }
    const rynd_tensor *view = &array->packed.view;
    const size_t size = write_header(view, array->head + HEAD, sizeof array->head - HEAD);
    memcpy(array->head, magic, sizeof magic);
    array->head[sizeof magic] = 1; /* the version: 1.0 */
    array->head[HEAD - 2] = (char)(unsigned char)(size & 255);
    array->head[HEAD - 1] = (char)(unsigned char)(size >> 8);
    array->head_size = HEAD + size;
    array->data = view->data;
    array->data_size = (size_t)cli_shape_bytes(view->rank, view->dim, rynd_dtype_size(view->dtype));
    return true;
}

bool cli_npy_write(const rynd_tensor *tensor, cli_bytes *bytes, cli_failure *failure)
{
    cli_npy array;
    *bytes = (cli_bytes){0};
    if (!cli_npy_open(tensor, &array, failure)) {
        return false;
    }
    const size_t size = array.head_size + array.data_size;
    unsigned char *out = malloc(size);
    if (out) {
        memcpy(out, array.head, array.head_size);
        if (array.data_size) {
            memcpy(out + array.head_size, array.data, array.data_size);
        }
        *bytes = (cli_bytes){.data = out, .size = size};
    }
    cli_npy_free(&array);
    return out ? true : cli_fail_memory_for(failure, size, "an array to be written");
}
