/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of pictures. */
#include "image.h"

#include <inttypes.h>
#include <stdlib.h>

void cli_image_free(cli_image *image)
{
    free(image->pixels);
    *image = (cli_image){0};
}

bool cli_image_make(cli_image *image, int64_t height, int64_t width, int channels, const char *name, cli_failure *failure)
{
    *image = (cli_image){.height = height, .width = width, .channels = channels};
    int64_t count;
    if (height < 1 || width < 1 || __builtin_mul_overflow(height, width, &count) || count > INT64_MAX / 64) {
        return cli_fail(failure, "'%s': a picture of %" PRId64 "x%" PRId64 " (height x width) cannot be used", name, height, width);
    }
    image->pixels = calloc((size_t)count * (size_t)channels, sizeof *image->pixels);
    return image->pixels ? true : cli_fail(failure, "'%s': out of memory for a picture of %" PRId64 "x%" PRId64, name, height, width);
}

bool cli_image_fits(const cli_image_check *check, int64_t height, int64_t width, int channels, cli_failure *failure)
{
    const cli_image head = {.height = height, .width = width, .channels = channels};
    return !check || check->fits(check->user, &head, failure);
}
