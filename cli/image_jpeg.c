/* SPDX-License-Identifier: Apache-2.0 */
/* JPEG in with TurboJPEG. */
#include "image.h"

#include <stdlib.h>
#include <turbojpeg.h>

/* Pixels that one byte of a JPEG can stand for: a block of 64 pixels takes a bit at least, 512
 * pixels a byte, and colour with its chroma taken at half the size less than that. Twice this for
 * arithmetic coding, and a header's worth besides. */
#define MAX_PIXELS(bytes) (1024.0 * (double)(bytes) + 65536.0)

static bool decode(tjhandle handle, const cli_bytes *bytes, const char *name,
                   const cli_image_check *check, cli_image *image, cli_failure *failure)
{
    /* a file of tables only leaves them as they are, and is no failure */
    int width = 0, height = 0, sampling, colours = 0;
    if (tjDecompressHeader3(handle, bytes->data, bytes->size, &width, &height, &sampling,
                            &colours) != 0) {
        return cli_fail(failure, "'%s' is not a readable JPEG: %s", name, tjGetErrorStr2(handle));
    }
    if (width < 1 || height < 1) {
        return cli_fail(failure, "'%s' is a JPEG without a picture; the file is damaged", name);
    }
    if (colours == TJCS_CMYK || colours == TJCS_YCCK) {
        return cli_fail(failure, "'%s' is a CMYK JPEG; convert it to RGB first", name);
    }
    if ((double)width * (double)height > MAX_PIXELS(bytes->size)) {
        return cli_fail(
            failure, "'%s' is damaged: %zu bytes cannot hold a picture of %dx%d (height x width)",
            name, bytes->size, height, width);
    }
    int channels = colours == TJCS_GRAY ? 1 : 3;
    if (!cli_image_begin(image, height, width, channels, check, name, failure)) {
        return false;
    }
    size_t count = (size_t)width * (size_t)height * (size_t)channels;
    unsigned char *raw = malloc(count);
    if (!raw) {
        return cli_fail_memory_for(failure, count, "the picture '%s' of %dx%d", name, height,
                                   width);
    }
    /* A file that ends early gives a warning and grey pixels: not what anyone wants to compute
     * with. */
    bool done = tjDecompress2(handle, bytes->data, bytes->size, raw, width, 0, height,
                              channels == 1 ? TJPF_GRAY : TJPF_RGB, TJFLAG_ACCURATEDCT) == 0 ||
                cli_fail(failure, "'%s' is a damaged JPEG: %s", name, tjGetErrorStr2(handle));
    for (size_t i = 0; done && i < count; i++) {
        image->pixels[i] = raw[i];
    }
    image->bits = 8;
    free(raw);
    return done;
}

bool cli_jpeg_read(const cli_bytes *bytes, const char *name, const cli_image_check *check,
                   cli_image *image, cli_failure *failure)
{
    *image = (cli_image){0};
    tjhandle handle = tjInitDecompress();
    if (!handle) {
        return cli_fail_memory(failure);
    }
    bool done = decode(handle, bytes, name, check, image, failure);
    tjDestroy(handle);
    if (!done) {
        cli_image_free(image);
    }
    return done;
}
