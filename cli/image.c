/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of pictures. */
#include "image.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

void cli_image_free(cli_image *image)
{
    free(image->pixels);
    *image = (cli_image){0};
}

rynd_tensor cli_image_view(const cli_image *image)
{
    const int64_t dim[] = {image->height, image->width, image->channels};
    return rynd_tensor_of(image->pixels, RYND_DTYPE_F32, 3, dim);
}

unsigned char *cli_image_bytes(const cli_image *image)
{
    const size_t count = (size_t)image->height * (size_t)image->width * (size_t)image->channels;
    unsigned char *bytes = malloc(count);
    for (size_t i = 0; bytes && i < count; i++) {
        const float value = image->pixels[i];
        bytes[i] = (unsigned char)(value > 0 ? (value < 255 ? lrintf(value) : 255) : 0);
    }
    return bytes;
}

bool cli_image_make(cli_image *image, int64_t height, int64_t width, int channels, const char *name,
                    cli_failure *failure)
{
    *image = (cli_image){.height = height, .width = width, .channels = channels};
    int64_t count;
    if (height < 1 || width < 1 || __builtin_mul_overflow(height, width, &count) ||
        count > INT64_MAX / 64) {
        return cli_fail(
            failure, "'%s': a picture of %" PRId64 "x%" PRId64 " (height x width) cannot be used",
            name, height, width);
    }
    const size_t values = (size_t)count * (size_t)channels;
    image->pixels = calloc(values, sizeof *image->pixels);
    return image->pixels ||
           cli_fail_memory_for(failure, values * sizeof *image->pixels,
                               "the picture '%s' of %" PRId64 "x%" PRId64, name, height, width);
}

bool cli_image_begin(cli_image *image, int64_t height, int64_t width, int channels,
                     const cli_image_check *check, const char *name, cli_failure *failure)
{
    /* A file can claim a million times its bytes: 1032 by deflate, 8 by pixels of a bit, 12 by
     * floats of three channels. */
    const int64_t most = INT64_C(1) << 28;
    const cli_image head = {.height = height, .width = width, .channels = channels};
    if (check && !check->fits(check->user, &head, failure)) {
        return false;
    }
    if (height > most / (width > 0 ? width : 1)) {
        return cli_fail(failure,
                        "'%s' is a picture of %" PRId64 "x%" PRId64
                        " (height x width); pictures of at most %" PRId64 " pixels are read",
                        name, height, width, most);
    }
    return cli_image_make(image, height, width, channels, name, failure);
}
