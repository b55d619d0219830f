/* SPDX-License-Identifier: Apache-2.0 */
/* RandAugment: Cubuk, Zoph, Shlens, Le, "RandAugment: Practical automated data augmentation with a
 * reduced search space", 2019; operations and magnitudes are torchvision's. */
#ifndef CLI_RAND_AUGMENT_H
#define CLI_RAND_AUGMENT_H

#include "image.h"

enum { CLI_RAND_AUGMENT_MAGNITUDES = 30 };

/* Applies an operation to a picture. `choice`, 0 to below 1, says which; `side` on which side of
 * no change, where it has two; magnitude 0 to 30 says how much. */
bool cli_rand_augment(cli_image *image, float choice, float side, int64_t magnitude,
                      const char *name, cli_failure *failure);

#endif
