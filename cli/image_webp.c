/* SPDX-License-Identifier: Apache-2.0 */
/* WebP in with libwebp, if rynd was built with it. */
#include "image.h"

#if RYND_WEBP

#include <stdlib.h>
#include <webp/decode.h>

/* A picture of one colour takes no bits a pixel, so small files may hold 16 million pixels. */
#define MAX_PIXELS(bytes) (16777216.0 + 4096.0 * (double)(bytes))

bool cli_webp_read(const cli_bytes *bytes, const char *name, const cli_image_check *check,
                   cli_image *image, cli_failure *failure)
{
    WebPBitstreamFeatures head;
    *image = (cli_image){0};
    if (WebPGetFeatures(bytes->data, bytes->size, &head) != VP8_STATUS_OK) {
        return cli_fail(failure, "'%s' is not a readable WebP", name);
    }
    if (head.has_animation) {
        return cli_fail(failure, "'%s' is an animated WebP; save one of its pictures", name);
    }
    if ((double)head.width * (double)head.height > MAX_PIXELS(bytes->size)) {
        return cli_fail(
            failure, "'%s' is damaged: %zu bytes cannot hold a picture of %dx%d (height x width)",
            name, bytes->size, head.height, head.width);
    }
    if (!cli_image_begin(image, head.height, head.width, 3, check, name, failure)) {
        return false;
    }
    const size_t count = (size_t)head.width * (size_t)head.height * 3;
    unsigned char *raw = malloc(count);
    bool done = raw ? true
                    : cli_fail_memory_for(failure, count, "the picture '%s' of %dx%d", name,
                                          head.height, head.width);
    if (done && !WebPDecodeRGBInto(bytes->data, bytes->size, raw, count, 3 * head.width)) {
        done = cli_fail(failure, "'%s' is a damaged WebP", name);
    }
    for (size_t i = 0; done && i < count; i++) {
        image->pixels[i] = raw[i];
    }
    image->bits = 8;
    image->dropped_alpha = head.has_alpha != 0;
    free(raw);
    if (!done) {
        cli_image_free(image);
    }
    return done;
}

#else

bool cli_webp_read(const cli_bytes *bytes, const char *name, const cli_image_check *check,
                   cli_image *image, cli_failure *failure)
{
    (void)bytes, (void)check;
    *image = (cli_image){0};
    return cli_fail(failure, "'%s' is a WebP, and rynd was built without libwebp", name);
}

#endif
