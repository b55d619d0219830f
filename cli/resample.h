/* SPDX-License-Identifier: Apache-2.0 */
/* Changes the size of a picture: bilinear, with antialiasing when it becomes smaller; of a map of
 * classes by its nearest pixels. */
#ifndef CLI_RESAMPLE_H
#define CLI_RESAMPLE_H

#include "image.h"

/* Replaces the pixels. */
bool cli_image_resize(cli_image *image, int64_t height, int64_t width, cli_failure *failure);
/* Cuts out the middle; the picture must be as large at least. */
void cli_image_crop(cli_image *image, int64_t height, int64_t width);

#endif
