/* SPDX-License-Identifier: Apache-2.0 */
/* JPEG in and out with TurboJPEG. */
#include "exif.h"
#include "image.h"

#include <stdlib.h>
#include <string.h>
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
    const int orientation = cli_exif_orientation(bytes);
    const bool aside = cli_orientation_swaps(orientation);
    if (!cli_image_begin(image, aside ? width : height, aside ? height : width, channels, check,
                         name, failure)) {
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
    if (done) {
        cli_image_turn(image, raw, orientation);
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

bool cli_jpeg_write(const cli_image *image, cli_bytes *bytes, cli_failure *failure)
{
    enum { QUALITY = 95, MOST = 65500 }; /* the largest side that JPEG's libraries take */
    unsigned char *out = NULL;
    unsigned long size = 0;
    *bytes = (cli_bytes){0};
    if (image->height > MOST || image->width > MOST) {
        return cli_fail(failure, "a JPEG has at most %d pixels a side; give a .png", MOST);
    }
    unsigned char *raw = cli_image_bytes(image);
    tjhandle handle = raw ? tjInitCompress() : NULL;
    bool done = handle != NULL;
    if (!done) {
        cli_fail_memory(failure);
    } else if (tjCompress2(handle, raw, (int)image->width, 0, (int)image->height,
                           image->channels == 1 ? TJPF_GRAY : TJPF_RGB, &out, &size,
                           image->channels == 1 ? TJSAMP_GRAY : TJSAMP_444, QUALITY,
                           TJFLAG_ACCURATEDCT) != 0) {
        done = cli_fail(failure, "cannot make a JPEG: %s", tjGetErrorStr2(handle));
    }
    if (done) {
        bytes->data = malloc(size);
        bytes->size = size;
        done = bytes->data ? true : cli_fail_memory(failure);
    }
    if (done) {
        memcpy(bytes->data, out, size);
    }
    if (handle) {
        tjDestroy(handle);
    }
    tjFree(out);
    free(raw);
    return done;
}
