/* SPDX-License-Identifier: Apache-2.0 */
/* The table of file formats, and reading and writing through it. */
#include "files.h"

#include "file_names.h"
#include "input_file.h"
#include "npz.h"
#include "npz_write.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

typedef bool (*read_function)(rynd_context *context, const char *path, const cli_receiver *receiver,
                              cli_failure *failure);
typedef bool (*write_function)(rynd_context *context, const char *path, const rynd_tensor *tensors,
                               const char *const *names, size_t count, cli_failure *failure);
typedef bool npy_reader(cli_stream *stream, const cli_receiver *receiver, cli_tensor *tensor,
                        cli_failure *failure);

/* `read`: cli_npy_read or cli_npy_read_whole. */
static bool read_npy_stream(cli_stream *stream, npy_reader *read, const cli_receiver *receiver,
                            cli_failure *failure)
{
    cli_tensor tensor;
    if (!read(stream, receiver, &tensor, failure)) {
        return false;
    }
    bool done = receiver->take(receiver->user, &tensor, failure);
    cli_tensor_free(&tensor);
    return done;
}

static bool read_npy(rynd_context *context, const char *path, const cli_receiver *receiver,
                     cli_failure *failure)
{
    (void)context;
    size_t size = 0;
    int fd = cli_input_open(path, &size, failure);
    if (fd < 0) {
        return false;
    }
    cli_stream stream = cli_stream_of_file(fd, (int64_t)size, path);
    bool done = read_npy_stream(&stream, cli_npy_read_whole, receiver, failure);
    close(fd);
    return done;
}

static bool read_npz(rynd_context *context, const char *path, const cli_receiver *receiver,
                     cli_failure *failure)
{
    (void)context;
    cli_bytes bytes;
    bool done =
        cli_input_map(path, &bytes, failure) && cli_npz_read(&bytes, path, receiver, failure);
    cli_input_unmap(&bytes);
    return done;
}

/* A TensorProto takes at most 10 bytes an element (an int64 as a varint) besides its dims, name and
 * notes. */
static bool check_pb_size(const cli_bytes *bytes, const char *path, const cli_receiver *receiver,
                          cli_failure *failure)
{
    const double most = 10.0 * (double)receiver->elements + (1 << 20);
    return receiver->elements < 0 || (double)bytes->size <= most
               ? true
               : cli_fail(failure,
                          "'%s' is of %zu bytes, more than a tensor of %" PRId64 " elements takes",
                          path, bytes->size, receiver->elements);
}

static bool read_pb(rynd_context *context, const char *path, const cli_receiver *receiver,
                    cli_failure *failure)
{
    cli_bytes bytes;
    rynd_tensor read;
    if (!cli_input_map(path, &bytes, failure)) {
        return false;
    }
    bool done = check_pb_size(&bytes, path, receiver, failure);
    if (done && rynd_tensor_read_pb(context, bytes.data, bytes.size, &read, NULL) != RYND_OK) {
        cli_fail_library(failure);
        done = cli_fail_prefix(failure, "'%s': ", path);
    }
    cli_input_unmap(&bytes);
    if (!done) {
        return false;
    }
    cli_tensor tensor;
    done = receiver->fits(receiver->user, &read, failure) &&
           cli_tensor_copy_of(&read, &tensor, failure);
    rynd_tensor_free(context, &read);
    if (done) {
        done = receiver->take(receiver->user, &tensor, failure);
        cli_tensor_free(&tensor);
    }
    return done;
}

static bool write_bytes(const char *path, cli_bytes *bytes, cli_failure *failure)
{
    bool done = cli_file_write(path, bytes->data, bytes->size, failure);
    free(bytes->data);
    return done;
}

static bool write_npy(rynd_context *context, const char *path, const rynd_tensor *tensors,
                      const char *const *names, size_t count, cli_failure *failure)
{
    (void)context, (void)names, (void)count;
    cli_bytes bytes;
    return cli_npy_write(tensors, &bytes, failure) && write_bytes(path, &bytes, failure);
}

static bool write_npz(rynd_context *context, const char *path, const rynd_tensor *tensors,
                      const char *const *names, size_t count, cli_failure *failure)
{
    (void)context;
    return cli_npz_write(path, tensors, names, count, failure);
}

static bool write_pb(rynd_context *context, const char *path, const rynd_tensor *tensors,
                     const char *const *names, size_t count, cli_failure *failure)
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
    const bool done = cli_file_write(path, data, size, failure);
    rynd_memory_free(context, data);
    return done;
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
    {"jpg",  CLI_FILE_IMAGE,   CLI_FILE_IMAGE,   false, NULL,     NULL},
    {"jpeg", CLI_FILE_IMAGE,   CLI_FILE_IMAGE,   false, NULL,     NULL},
    {"bmp",  CLI_FILE_IMAGE,   CLI_FILE_NONE,    false, NULL,     NULL},
    {"webp", CLI_FILE_IMAGE,   CLI_FILE_NONE,    false, NULL,     NULL},
    {"tif",  CLI_FILE_IMAGE,   CLI_FILE_NONE,    false, NULL,     NULL},
    {"tiff", CLI_FILE_IMAGE,   CLI_FILE_NONE,    false, NULL,     NULL},
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

bool cli_tensors_read(rynd_context *context, const char *path, const cli_receiver *receiver,
                      cli_failure *failure)
{
    return format_of(path)->read(context, path, receiver, failure);
}

bool cli_tensor_read_standard_input(const cli_receiver *receiver, cli_failure *failure)
{
    cli_stream stream = cli_stream_of_file(STDIN_FILENO, -1, "standard input");
    return read_npy_stream(&stream, cli_npy_read, receiver, failure);
}

typedef bool image_reader(const cli_bytes *bytes, const char *name, const cli_image_check *check,
                          cli_image *image, cli_failure *failure);

/* Kinds of pictures by their first bytes; '?' stands for any byte. */
static const struct signature {
    const char *bytes;
    size_t size;
    image_reader *read;
} signatures[] = {
    {"\x89PNG", 4, cli_png_read},        {"\xff\xd8", 2, cli_jpeg_read},
    {"RIFF????WEBP", 12, cli_webp_read}, {"II*\0", 4, cli_tiff_read},
    {"MM\0*", 4, cli_tiff_read},         {"BM", 2, cli_bmp_read},
};

static bool has_signature(const cli_bytes *bytes, const struct signature *signature)
{
    const char *data = bytes->data;
    bool same = bytes->size >= signature->size;
    for (size_t i = 0; same && i < signature->size; i++) {
        same = signature->bytes[i] == '?' || signature->bytes[i] == data[i];
    }
    return same;
}

static bool decode_image(const cli_bytes *bytes, const char *path, const cli_image_check *check,
                         cli_image *image, cli_failure *failure)
{
    for (size_t i = 0; i < sizeof signatures / sizeof *signatures; i++) {
        if (has_signature(bytes, &signatures[i])) {
            return signatures[i].read(bytes, path, check, image, failure);
        }
    }
    return cli_fail(failure, "'%s' is neither a PNG nor a JPEG, BMP, WebP or TIFF file", path);
}

bool cli_image_read(const char *path, const cli_image_check *check, cli_image *image,
                    cli_failure *failure)
{
    cli_bytes bytes;
    *image = (cli_image){0};
    bool done =
        cli_input_map(path, &bytes, failure) && decode_image(&bytes, path, check, image, failure);
    cli_input_unmap(&bytes);
    return done;
}

bool cli_tensors_write(rynd_context *context, const char *path, const rynd_tensor *tensors,
                       const char *const *names, size_t count, cli_failure *failure)
{
    return format_of(path)->write(context, path, tensors, names, count, failure);
}

bool cli_image_write(const char *path, const cli_image *image, cli_failure *failure)
{
    cli_bytes bytes;
    const bool png = strcasecmp(cli_extension(path), "png") == 0;
    if (!(png ? cli_png_write : cli_jpeg_write)(image, &bytes, failure)) {
        return cli_fail_prefix(failure, "'%s': ", path);
    }
    return write_bytes(path, &bytes, failure);
}
