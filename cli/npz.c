/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes .npz with libzip. */
#include "npz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zip.h>

/* Deflate never makes more than 1032 bytes of one (its longest match, 258 bytes, takes two bits at least): an entry that claims more lies. */
#define MOST_EXPANSION 1032

static bool fail_zip(cli_failure *failure, const char *name, zip_error_t *error)
{
    bool result = cli_fail(failure, "'%s' is not a readable .npz file: %s", name, zip_error_strerror(error));
    zip_error_fini(error);
    return result;
}

static bool read_entry(zip_t *archive, zip_uint64_t index, size_t file_size, const char *name, cli_tensor *tensor, cli_failure *failure)
{
    zip_stat_t stat;
    const zip_uint64_t wanted = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE;
    if (zip_stat_index(archive, index, 0, &stat) != 0 || (stat.valid & wanted) != wanted || stat.comp_size > file_size ||
        stat.size / MOST_EXPANSION > stat.comp_size + 1) {
        return cli_fail(failure, "'%s': entry %u of the .npz is damaged", name, (unsigned)index);
    }
    char label[512];
    snprintf(label, sizeof label, "%s:%s", name, stat.name);
    cli_bytes bytes = {.size = (size_t)stat.size};
    bytes.data = stat.size < SIZE_MAX - 64 ? aligned_alloc(64, ((size_t)stat.size / 64 + 1) * 64) : NULL;
    if (!bytes.data) {
        return cli_fail(failure, "'%s': out of memory for %llu bytes", label, (unsigned long long)stat.size);
    }
    zip_file_t *file = zip_fopen_index(archive, index, 0);
    zip_int64_t got = file ? zip_fread(file, bytes.data, stat.size) : -1;
    /* The checksum is compared at the end of the entry, by a read that finds nothing more. */
    char more;
    bool whole = got >= 0 && (zip_uint64_t)got == stat.size && zip_fread(file, &more, 1) == 0;
    if (file) {
        zip_fclose(file);
    }
    if (!whole) {
        free(bytes.data);
        return cli_fail(failure, "'%s' is damaged: its data cannot be unpacked", label);
    }
    if (!cli_npy_read(&bytes, label, tensor, failure)) {
        return false;
    }
    size_t length = strlen(stat.name);
    bool suffix = length > 4 && strcmp(stat.name + length - 4, ".npy") == 0;
    tensor->name = strndup(stat.name, suffix ? length - 4 : length);
    if (!tensor->name) {
        cli_tensor_free(tensor);
        return cli_fail_memory(failure);
    }
    return true;
}

static bool read_entries(zip_t *archive, size_t file_size, const char *name, cli_tensor **tensors, size_t *count, cli_failure *failure)
{
    zip_int64_t entries = zip_get_num_entries(archive, 0);
    if (entries <= 0) {
        return cli_fail(failure, "'%s' holds no array", name);
    }
    *tensors = calloc((size_t)entries, sizeof **tensors);
    if (!*tensors) {
        return cli_fail_memory(failure);
    }
    for (*count = 0; *count < (size_t)entries; ++*count) {
        if (!read_entry(archive, *count, file_size, name, &(*tensors)[*count], failure)) {
            return false;
        }
    }
    return true;
}

bool cli_npz_read(const cli_bytes *bytes, const char *name, cli_tensor **tensors, size_t *count, cli_failure *failure)
{
    *tensors = NULL;
    *count = 0;
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
    bool done = read_entries(archive, bytes->size, name, tensors, count, failure);
    zip_discard(archive);
    zip_error_fini(&error);
    for (size_t i = 0; !done && i < *count; i++) {
        cli_tensor_free(&(*tensors)[i]);
    }
    if (!done) {
        free(*tensors);
        *tensors = NULL;
        *count = 0;
    }
    return done;
}

static bool add_entry(zip_t *archive, const char *name, const rynd_tensor *tensor, cli_failure *failure)
{
    cli_bytes bytes;
    char entry[512];
    snprintf(entry, sizeof entry, "%s.npy", name);
    if (!cli_npy_write(tensor, &bytes, failure)) {
        return false;
    }
    zip_source_t *source = zip_source_buffer(archive, bytes.data, bytes.size, 1);
    if (!source) {
        free(bytes.data);
        return cli_fail_memory(failure);
    }
    zip_int64_t index = zip_file_add(archive, entry, source, ZIP_FL_ENC_UTF_8);
    if (index < 0) {
        zip_source_free(source);
        return cli_fail(failure, "cannot put '%s' into the .npz: %s", entry, zip_strerror(archive));
    }
    /* 1980-01-01, the zip format's first day: the same tensors give the same file. */
    zip_file_set_dostime(archive, (zip_uint64_t)index, 0, 1 << 5 | 1, 0);
    zip_set_file_compression(archive, (zip_uint64_t)index, ZIP_CM_STORE, 0);
    return true;
}

static bool read_back(zip_source_t *source, cli_bytes *bytes, cli_failure *failure)
{
    zip_stat_t stat;
    if (zip_source_stat(source, &stat) != 0 || !(stat.valid & ZIP_STAT_SIZE) || zip_source_open(source) != 0) {
        return cli_fail(failure, "cannot make an .npz: %s", zip_error_strerror(zip_source_error(source)));
    }
    bytes->size = (size_t)stat.size;
    bytes->data = malloc(bytes->size + 1);
    bool done = bytes->data && zip_source_read(source, bytes->data, stat.size) == (zip_int64_t)stat.size;
    zip_source_close(source);
    if (!done) {
        free(bytes->data);
        *bytes = (cli_bytes){0};
        return cli_fail_memory(failure);
    }
    return true;
}

bool cli_npz_write(const rynd_tensor *tensors, const char *const *names, size_t count, cli_bytes *bytes, cli_failure *failure)
{
    *bytes = (cli_bytes){0};
    zip_error_t error;
    zip_error_init(&error);
    zip_source_t *source = zip_source_buffer_create(NULL, 0, 0, &error);
    zip_t *archive = source ? zip_open_from_source(source, ZIP_TRUNCATE, &error) : NULL;
    if (!archive) {
        zip_source_free(source);
        return fail_zip(failure, "output", &error);
    }
    zip_source_keep(source);
    bool done = true;
    for (size_t i = 0; done && i < count; i++) {
        done = add_entry(archive, names[i], &tensors[i], failure);
    }
    if (done && zip_close(archive) != 0) {
        done = cli_fail(failure, "cannot make an .npz: %s", zip_strerror(archive));
        zip_discard(archive);
    } else if (!done) {
        zip_discard(archive);
    }
    done = done && read_back(source, bytes, failure);
    zip_source_free(source);
    zip_error_fini(&error);
    return done;
}
