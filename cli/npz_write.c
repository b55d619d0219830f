/* SPDX-License-Identifier: Apache-2.0 */
/* Zip archives of stored files: PKWARE's APPNOTE.TXT 6.3.10, with the fields of 64 bits (4.5.3)
 * that large archives need. */
#include "npz_write.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum {
    LOCAL = 30, /* bytes of a file's header, of its entry in the directory, of their ends */
    CENTRAL = 46,
    END = 22,
    END_64 = 56,
    LOCATOR_64 = 20,
    EXTRA_LOCAL = 20,
    EXTRA_CENTRAL = 28,
    VERSION = 45,           /* format 4.5, with fields of 64 bits */
    UTF_8 = 1 << 11,        /* a flag: how names are encoded */
    FIRST_DAY = 1 << 5 | 1, /* 1980-01-01, so that the same arrays give the same file */
    NAME = 512              /* plain names are shorter */
};

typedef struct cli_npz_entry {
    char *name;
    uint32_t checksum;
    uint64_t size, offset;
} entry;

/* Bytes of a header, of little end first. */
typedef struct bytes {
    unsigned char at[LOCAL + CENTRAL + END_64 + LOCATOR_64 + END];
    size_t used;
} bytes;

static void put(bytes *to, int size, uint64_t number)
{
    for (int i = 0; i < size; i++) {
        to->at[to->used++] = (unsigned char)(number >> 8 * i & 255);
    }
}

static bool put_out(cli_npz_writer *w, const void *data, size_t size)
{
    w->offset += size;
    return cli_output_put(w->output, data, size);
}

static uint32_t checksum_of(uint32_t before, const void *data, size_t size)
{
    const size_t most = 1u << 30; /* zlib counts in unsigned int */
    const unsigned char *at = data;
    for (; size > 0; at += size < most ? size : most, size -= size < most ? size : most) {
        before = (uint32_t)crc32(before, at, (unsigned)(size < most ? size : most));
    }
    return before;
}

/* What a file's header and its entry share: version to the lengths of name and extra. Sizes are in
 * the extra field always, so that no file is too large. */
static void put_common(bytes *to, const entry *e, int extra)
{
    put(to, 2, VERSION);
    put(to, 2, UTF_8);
    put(to, 2, 0); /* stored */
    put(to, 2, 0); /* midnight */
    put(to, 2, FIRST_DAY);
    put(to, 4, e->checksum);
    put(to, 4, UINT32_MAX);
    put(to, 4, UINT32_MAX);
    put(to, 2, strlen(e->name));
    put(to, 2, (uint64_t)extra);
}

static void put_extra(bytes *to, const entry *e, int extra)
{
    put(to, 2, 1); /* the field of 64-bit numbers */
    put(to, 2, (uint64_t)extra - 4);
    put(to, 8, e->size);
    put(to, 8, e->size);
    if (extra == EXTRA_CENTRAL) {
        put(to, 8, e->offset);
    }
}

static bool put_local(cli_npz_writer *w, const entry *e)
{
    bytes head = {.used = 0}, extra = {.used = 0};
    put(&head, 4, 0x04034b50);
    put_common(&head, e, EXTRA_LOCAL);
    put_extra(&extra, e, EXTRA_LOCAL);
    return put_out(w, head.at, head.used) && put_out(w, e->name, strlen(e->name)) &&
           put_out(w, extra.at, extra.used);
}

static bool put_central(cli_npz_writer *w, const entry *e)
{
    bytes head = {.used = 0}, extra = {.used = 0};
    put(&head, 4, 0x02014b50);
    put(&head, 2, VERSION);
    put_common(&head, e, EXTRA_CENTRAL);
    put(&head, 2, 0); /* no comment, disk 0, no attributes */
    put(&head, 2, 0);
    put(&head, 2, 0);
    put(&head, 4, 0);
    put(&head, 4, UINT32_MAX); /* the offset is in the extra field */
    put_extra(&extra, e, EXTRA_CENTRAL);
    return put_out(w, head.at, head.used) && put_out(w, e->name, strlen(e->name)) &&
           put_out(w, extra.at, extra.used);
}

static bool put_end(cli_npz_writer *w, uint64_t begin)
{
    const uint64_t size = w->offset - begin, at = w->offset;
    const uint64_t count = w->count;
    bytes end = {.used = 0};
    put(&end, 4, 0x06064b50);
    put(&end, 8, END_64 - 12);
    put(&end, 2, VERSION);
    put(&end, 2, VERSION);
    put(&end, 4, 0); /* this disk, and that of the directory */
    put(&end, 4, 0);
    put(&end, 8, count);
    put(&end, 8, count);
    put(&end, 8, size);
    put(&end, 8, begin);
    put(&end, 4, 0x07064b50);
    put(&end, 4, 0);
    put(&end, 8, at);
    put(&end, 4, 1);
    put(&end, 4, 0x06054b50);
    put(&end, 2, 0);
    put(&end, 2, 0);
    put(&end, 2, count < UINT16_MAX ? count : UINT16_MAX);
    put(&end, 2, count < UINT16_MAX ? count : UINT16_MAX);
    put(&end, 4, size < UINT32_MAX ? size : UINT32_MAX);
    put(&end, 4, begin < UINT32_MAX ? begin : UINT32_MAX);
    put(&end, 2, 0);
    return put_out(w, end.at, end.used);
}

static entry *new_entry(cli_npz_writer *w, const char *name)
{
    if (w->count == w->room) {
        entry *grown = realloc(w->entries, (2 * w->room + 16) * sizeof *grown);
        if (!grown) {
            return NULL;
        }
        w->entries = grown;
        w->room = 2 * w->room + 16;
    }
    const size_t length = strlen(name);
    entry *e = &w->entries[w->count];
    *e = (entry){.name = malloc(length + sizeof ".npy"), .offset = w->offset};
    if (!e->name) {
        return NULL;
    }
    memcpy(e->name, name, length);
    memcpy(e->name + length, ".npy", sizeof ".npy");
    w->count++;
    return e;
}

bool cli_npz_add(cli_npz_writer *w, const char *name, const rynd_tensor *tensor,
                 cli_failure *failure)
{
    cli_npy array;
    if (!cli_npy_open(tensor, &array, failure)) {
        return false;
    }
    entry *e = new_entry(w, name);
    if (e) {
        e->size = array.head_size + array.data_size;
        e->checksum =
            checksum_of(checksum_of(0, array.head, array.head_size), array.data, array.data_size);
        /* what fails here cli_output_end tells */
        (void)(put_local(w, e) && put_out(w, array.head, array.head_size) &&
               put_out(w, array.data, array.data_size));
    }
    cli_npy_free(&array);
    return e ? true : cli_fail_memory(failure);
}

bool cli_npz_end(cli_npz_writer *w, bool done)
{
    const uint64_t begin = w->offset;
    for (size_t i = 0; i < w->count; i++) {
        done = done && put_central(w, &w->entries[i]);
        free(w->entries[i].name);
    }
    done = done && put_end(w, begin);
    free(w->entries);
    *w = (cli_npz_writer){0};
    return done;
}

bool cli_npz_write(const char *path, const rynd_tensor *tensors, const char *const *names,
                   size_t count, cli_failure *failure)
{
    cli_output output;
    cli_npz_writer writer = {.output = &output};
    if (!cli_output_begin(&output, path, failure)) {
        return false;
    }
    bool done = true;
    for (size_t i = 0; done && i < count; i++) {
        done = cli_npz_add(&writer, names[i], &tensors[i], failure);
    }
    done = cli_npz_end(&writer, done);
    return cli_output_end(&output, done, failure);
}
