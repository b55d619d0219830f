/* SPDX-License-Identifier: Apache-2.0 */
/* The table of file formats, and reading and writing through it. */
#include "files.h"

#include "npz.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef bool (*read_function)(rynd_context *context, cli_bytes *bytes, const char *path, cli_tensor **tensors, size_t *count,
                              cli_failure *failure);
typedef bool (*write_function)(rynd_context *context, const rynd_tensor *tensors, const char *const *names, size_t count, cli_bytes *bytes,
                               cli_failure *failure);

static bool take_one(cli_tensor *tensor, cli_tensor **tensors, size_t *count, cli_failure *failure)
{
    *tensors = malloc(sizeof **tensors);
    if (!*tensors) {
        cli_tensor_free(tensor);
        return cli_fail_memory(failure);
    }
    **tensors = *tensor;
    *count = 1;
    return true;
}

static bool read_npy(rynd_context *context, cli_bytes *bytes, const char *path, cli_tensor **tensors, size_t *count, cli_failure *failure)
{
    (void)context;
    cli_tensor tensor;
    return cli_npy_read(bytes, path, &tensor, failure) && take_one(&tensor, tensors, count, failure);
}

static bool read_npz(rynd_context *context, cli_bytes *bytes, const char *path, cli_tensor **tensors, size_t *count, cli_failure *failure)
{
    (void)context;
    return cli_npz_read(bytes, path, tensors, count, failure);
}

static bool read_pb(rynd_context *context, cli_bytes *bytes, const char *path, cli_tensor **tensors, size_t *count, cli_failure *failure)
{
    rynd_tensor read;
    const char *name = NULL;
    if (rynd_tensor_read_pb(context, bytes->data, bytes->size, &read, &name) != RYND_OK) {
        cli_fail_library(failure);
        return cli_fail_prefix(failure, "'%s': ", path);
    }
    cli_tensor tensor;
    bool done = cli_tensor_copy_of(&read, &tensor, failure);
    if (done && name && *name) {
        tensor.name = strdup(name);
    }
    rynd_tensor_free(context, &read);
    return done && take_one(&tensor, tensors, count, failure);
}

static bool write_npy(rynd_context *context, const rynd_tensor *tensors, const char *const *names, size_t count, cli_bytes *bytes,
                      cli_failure *failure)
{
    (void)context, (void)names, (void)count;
    return cli_npy_write(tensors, bytes, failure);
}

static bool write_npz(rynd_context *context, const rynd_tensor *tensors, const char *const *names, size_t count, cli_bytes *bytes,
                      cli_failure *failure)
{
    (void)context;
    return cli_npz_write(tensors, names, count, bytes, failure);
}

static bool write_pb(rynd_context *context, const rynd_tensor *tensors, const char *const *names, size_t count, cli_bytes *bytes,
                     cli_failure *failure)
{
    (void)count;
    cli_tensor packed;
    void *data;
    size_t size;
    if (!cli_tensor_copy_of(tensors, &packed, failure)) {
        return false;
    }
    rynd_status status = rynd_tensor_write_pb(context, names[0], &packed.view, &data, &size);
    cli_tensor_free(&packed);
    if (status != RYND_OK) {
        return cli_fail_library(failure);
    }
    /* Memory of the library's becomes memory that free() takes, like all cli_bytes. */
    bytes->data = malloc(size + 1);
    bytes->size = size;
    if (bytes->data) {
        memcpy(bytes->data, data, size);
    }
    rynd_memory_free(context, data);
    return bytes->data ? true : cli_fail_memory(failure);
}

/* clang-format off */
static const struct format {
    const char *extension;
    cli_file_kind in, out;
    bool many;
    read_function read;
    write_function write;
} formats[] = {
    {"npy",  CLI_FILE_TENSORS, CLI_FILE_TENSORS, false, read_npy, write_npy},
    {"npz",  CLI_FILE_TENSORS, CLI_FILE_TENSORS, true,  read_npz, write_npz},
    {"pb",   CLI_FILE_TENSORS, CLI_FILE_TENSORS, false, read_pb,  write_pb},
    {"png",  CLI_FILE_IMAGE,   CLI_FILE_IMAGE,   false, NULL,     NULL},
    {"jpg",  CLI_FILE_IMAGE,   CLI_FILE_NONE,    false, NULL,     NULL},
    {"jpeg", CLI_FILE_IMAGE,   CLI_FILE_NONE,    false, NULL,     NULL},
    {NULL,   CLI_FILE_NONE,    CLI_FILE_NONE,    false, NULL,     NULL}, /* the end, and what stands for an unknown extension */
};
/* clang-format on */

static const struct format *format_of(const char *path)
{
    const struct format *format = formats;
    while (format->extension && strcasecmp(format->extension, cli_extension(path)) != 0) {
        format++;
    }
    return format;
}

cli_file_kind cli_input_kind(const char *path)
{
    return format_of(path)->in;
}

cli_file_kind cli_output_kind(const char *path)
{
    return format_of(path)->out;
}

bool cli_output_takes_many(const char *path)
{
    return format_of(path)->many;
}

bool cli_tensors_read(rynd_context *context, const char *path, cli_tensor **tensors, size_t *count, cli_failure *failure)
{
    cli_bytes bytes;
    if (!cli_file_read(path, &bytes, failure)) {
        return false;
    }
    bool done = format_of(path)->read(context, &bytes, path, tensors, count, failure);
    free(bytes.data);
    return done;
}

bool cli_image_read(const char *path, cli_image *image, cli_failure *failure)
{
    cli_bytes bytes;
    *image = (cli_image){0};
    if (!cli_file_read(path, &bytes, failure)) {
        return false;
    }
    const unsigned char *data = bytes.data;
    bool done;
    if (bytes.size >= 4 && memcmp(data, "\x89PNG", 4) == 0) {
        done = cli_png_read(&bytes, path, image, failure);
    } else if (bytes.size >= 2 && data[0] == 0xff && data[1] == 0xd8) {
        done = cli_jpeg_read(&bytes, path, image, failure);
    } else {
        done = cli_fail(failure, "'%s' is neither a PNG nor a JPEG file", path);
    }
    free(bytes.data);
    return done;
}

static bool write_bytes(const char *path, cli_bytes *bytes, cli_failure *failure)
{
    bool done = cli_file_write(path, bytes->data, bytes->size, failure);
    free(bytes->data);
    return done;
}

bool cli_tensors_write(rynd_context *context, const char *path, const rynd_tensor *tensors, const char *const *names, size_t count,
                       cli_failure *failure)
{
    cli_bytes bytes;
    return format_of(path)->write(context, tensors, names, count, &bytes, failure) && write_bytes(path, &bytes, failure);
}

bool cli_image_write(const char *path, const cli_image *image, cli_failure *failure)
{
    cli_bytes bytes;
    return cli_png_write(image, &bytes, failure) && write_bytes(path, &bytes, failure);
}
