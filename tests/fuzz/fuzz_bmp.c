/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a BMP file: refused with a message, or a picture whose pixels are between 0 and 255.
 */
#include "fuzz_bytes.h"
#include "image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cli_bytes bytes = fuzz_bytes(data, size);
    cli_image image = {.pixels = NULL};
    cli_failure failure = {.exit_code = 0};
    if (cli_bmp_read(&bytes, "fuzz.bmp", NULL, &image, &failure)) {
        for (int64_t i = 0; i < image.height * image.width * image.channels; i++) {
            if (!(image.pixels[i] >= 0 && image.pixels[i] <= 255)) {
                abort();
            }
        }
        cli_image_free(&image);
    } else {
        fuzz_refused(&failure);
    }
    free(bytes.data);
    return 0;
}
