/* SPDX-License-Identifier: Apache-2.0 */
/* How a camera was held: the orientation of Exif, and pictures turned upright. */
#ifndef CLI_EXIF_H
#define CLI_EXIF_H

#include "image.h"

/* 1 to 8 as in Exif 2.32, tag 0x0112; 1, upright, if a JPEG's Exif segment is absent or damaged. */
int cli_exif_orientation(const cli_bytes *jpeg);
/* Are height and width exchanged? */
bool cli_orientation_swaps(int orientation);
/* Fills an image, whose size is the upright one, from bytes as the file has them. */
void cli_image_turn(cli_image *image, const unsigned char *raw, int orientation);

#endif
