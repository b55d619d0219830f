/* SPDX-License-Identifier: Apache-2.0 */
/* Which dimension of a tensor is what, when the tensor is seen as pictures. */
#ifndef CLI_PICTURE_LAYOUT_H
#define CLI_PICTURE_LAYOUT_H

#include "held_tensor.h"
#include "image.h"

/* Dimension numbers; -1: the layout lacks the dimension. */
typedef struct cli_picture_layout {
    int batch, channel, height, width;
    int channels; /* 1 or 3 */
} cli_picture_layout;

/* [N,C,H,W], [N,H,W,C], [C,H,W], [H,W,C] with 1 or 3 channels, or [H,W]. Open dims are -1: an open
 * channel dim takes `otherwise` channels. False when it is none of these. */
bool cli_picture_layout_of(int rank, const int64_t *dim, int otherwise, cli_picture_layout *layout);

/* A picture [C,H,W] or [H,W,C] of 1 or 3 channels as [H,W,C]. */
rynd_tensor cli_picture_of(const rynd_tensor *tensor);

/* Copies a picture into the `index`-th place of a tensor's batch, with the tensor's dtype; sizes
 * and channels must agree. */
void cli_picture_put(const rynd_tensor *tensor, const cli_picture_layout *layout, int64_t index,
                     const cli_image *image);
/* Makes a picture of the first of a tensor's batch, pixels multiplied by scale, blue and red
 * swapped where `swap`. */
bool cli_picture_get(const rynd_tensor *tensor, const cli_picture_layout *layout, double scale,
                     bool swap, cli_image *image, cli_failure *failure);

#endif
