/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of a picture's colours, in place. Pixels are 0 to 255, and stay so. */
#ifndef CLI_PICTURE_COLOURS_H
#define CLI_PICTURE_COLOURS_H

#include "image.h"

/* Multiplies all pixels. */
void cli_picture_brightness(cli_image *image, float factor);
/* Moves pixels away from the grey of the picture's mean (factor above 1), or towards it. */
void cli_picture_contrast(cli_image *image, float factor);
/* Moves pixels away from their own grey, or towards it. */
void cli_picture_saturation(cli_image *image, float factor);
/* Moves pixels away from the blurred picture (3x3, PIL's SMOOTH), or towards it; the outermost
 * pixels stay. Fails without memory. */
bool cli_picture_sharpness(cli_image *image, float factor, cli_failure *failure);
/* Keeps the upper bits of 8. */
void cli_picture_posterize(cli_image *image, int bits);
/* Inverts pixels of at least `threshold`. */
void cli_picture_solarize(cli_image *image, float threshold);
/* Stretches each channel to 0 to 255. */
void cli_picture_autocontrast(cli_image *image);
/* Equalizes each channel's histogram of 256 levels, as PIL's ImageOps.equalize. */
void cli_picture_equalize(cli_image *image);

#endif
