/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes .npz with libzip. */
#include "npz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zip.h>

/* Deflate never makes more than 1032 bytes of one (its longest match, 258 bytes, takes two bits at
 * least): an entry that claims more is stored. */
#define MAX_EXPANSION 1032

/* libzip 1.7 reports "no error" if its own bookkeeping runs out of memory. */
static bool lacks_memory(const zip_error_t *error)
{
    return zip_error_code_zip(error) == ZIP_ER_MEMORY || zip_error_code_zip(error) == ZIP_ER_OK;
}

static bool fail_zip(cli_failure *failure, const char *name, zip_error_t *error)
{
    if (lacks_memory(error)) {
        cli_fail_memory(failure);
    } else {
        cli_fail(failure, "'%s' is not a readable .npz file: %s", name, zip_error_strerror(error));
    }
    zip_error_fini(error);
    return false;
}

/* Ways of packing by their numbers in APPNOTE.TXT, 4.4.5: what other programs may have used. */
static const struct {
    zip_int32_t method;
    const char *name;
} methods[] = {
    {ZIP_CM_SHRINK, "shrink"},
    {ZIP_CM_IMPLODE, "implode"},
    {ZIP_CM_DEFLATE64, "deflate64"},
    {ZIP_CM_BZIP2, "bzip2"},
    {ZIP_CM_LZMA, "lzma"},
    {93, "zstd"},
    {95, "xz"},
    {98, "ppmd"},
};

static bool check_method(const zip_stat_t *stat, const char *label, cli_failure *failure)
{
    const char *name = "an unknown method";
    if (stat->encryption_method != ZIP_EM_NONE) {
        return cli_fail(failure, "'%s' is encrypted; save it without a password", label);
    }
    if (stat->comp_method == ZIP_CM_STORE || stat->comp_method == ZIP_CM_DEFLATE) {
        return true;
    }
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        name = methods[i].method == stat->comp_method ? methods[i].name : name;
    }
    return cli_fail(
        failure,
        "'%s' is compressed by %s (zip method %d); rynd reads stored and deflated entries, as "
        "numpy.savez and numpy.savez_compressed write them",
        label, name, stat->comp_method);
}

static ssize_t read_unpacked(cli_stream *stream, void *to, size_t size)
{
    zip_int64_t got = zip_fread(stream->from, to, size);
    stream->why = got < 0 ? "its data cannot be unpacked; the file is damaged" : NULL;
    return (ssize_t)got;
}

static bool find_entry(zip_t *archive, zip_uint64_t index, const char *name, zip_stat_t *stat,
                       cli_failure *failure)
{
    const zip_uint64_t wanted = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE |
                                ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
    if (zip_stat_index(archive, index, 0, stat) != 0 || (stat->valid & wanted) != wanted) {
        return cli_fail(failure, "'%s': entry %u of the .npz is damaged", name, (unsigned)index);
    }
    return true;
}

static bool read_entry(zip_t *archive, const zip_stat_t *stat, size_t file_size, const char *label,
                       const cli_receiver *receiver, cli_failure *failure)
{
    if (!check_method(stat, label, failure)) {
        return false;
    }
    if (stat->comp_size > file_size || stat->size / MAX_EXPANSION > stat->comp_size + 1) {
        return cli_fail(failure, "'%s' is damaged: %llu bytes cannot hold the %llu that it claims",
                        label, (unsigned long long)stat->comp_size, (unsigned long long)stat->size);
    }
    zip_file_t *file = zip_fopen_index(archive, stat->index, 0);
    if (!file) {
        return cli_fail(failure, "'%s' is damaged: %s", label, zip_strerror(archive));
    }
    cli_tensor tensor;
    cli_stream stream = {
        .read = read_unpacked, .left = (int64_t)stat->size, .name = label, .from = file, .fd = -1};
    /* the checksum is compared by the read behind the array, which finds nothing more */
    bool done = cli_npy_read_whole(&stream, receiver, &tensor, failure);
    zip_fclose(file);
    if (!done) {
        return false;
    }
    done = receiver->take(receiver->user, &tensor, failure);
    cli_tensor_free(&tensor);
    return done;
}

static bool read_entries(zip_t *archive, size_t file_size, const char *name,
                         const cli_receiver *receiver, cli_failure *failure)
{
    zip_int64_t entries = zip_get_num_entries(archive, 0);
    if (entries <= 0) {
        return cli_fail(failure, "'%s' holds no array", name);
    }
    for (zip_uint64_t i = 0; i < (zip_uint64_t)entries; i++) {
        zip_stat_t stat;
        if (!find_entry(archive, i, name, &stat, failure)) {
            return false;
        }
        const size_t length = strlen(stat.name);
        const bool suffix = length > 4 && strcmp(stat.name + length - 4, ".npy") == 0;
        char *plain = strndup(stat.name, suffix ? length - 4 : length), label[512];
        if (!plain) {
            return cli_fail_memory(failure);
        }
        snprintf(label, sizeof label, "%s:%s", name, stat.name);
        const bool done = !receiver->wants(receiver->user, entries > 1 ? plain : NULL) ||
                          read_entry(archive, &stat, file_size, label, receiver, failure);
        free(plain);
        if (!done) {
            return false;
        }
    }
    return true;
}

/* A zip file ends with the record of its directory (APPNOTE.TXT, 4.3.16: 22 bytes, and a comment of
 * the length that its last two tell). libzip passes over what is behind it. */
static bool ends_with_directory(const cli_bytes *bytes)
{
    enum { RECORD = 22, LONGEST_COMMENT = 65535 };
    const unsigned char *data = bytes->data;
    for (size_t comment = 0; comment <= LONGEST_COMMENT && RECORD + comment <= bytes->size;
         comment++) {
        const unsigned char *record = data + bytes->size - comment - RECORD;
        if (memcmp(record, "PK\5\6", 4) == 0 &&
            ((size_t)record[20] | (size_t)record[21] << 8) == comment) {
            return true;
        }
    }
    return false;
}

bool cli_npz_read(const cli_bytes *bytes, const char *name, const cli_receiver *receiver,
                  cli_failure *failure)
{
    zip_error_t error;
    zip_error_init(&error);
    zip_source_t *source = zip_source_buffer_create(bytes->data, bytes->size, 0, &error);
    if (!source) {
        return fail_zip(failure, name, &error);
    }
    zip_t *archive = zip_open_from_source(source, ZIP_RDONLY, &error);
    if (!archive) {
        zip_source_free(source);
        return fail_zip(failure, name, &error);
    }
    bool done =
        ends_with_directory(bytes)
            ? read_entries(archive, bytes->size, name, receiver, failure)
            : cli_fail(failure, "'%s' is damaged: more bytes follow its zip directory", name);
    zip_discard(archive);
    zip_error_fini(&error);
    return done;
}
