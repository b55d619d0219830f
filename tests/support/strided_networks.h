/* SPDX-License-Identifier: Apache-2.0 */
/* Small models whose input may be read with any strides. */
#ifndef STRIDED_NETWORKS_H
#define STRIDED_NETWORKS_H

#include "onnx_bytes.h"

enum {
    STRIDED_RANK = 4,
    STRIDED_CHANNELS = 6,
    STRIDED_HEIGHT = 14,
    STRIDED_WIDTH = 18,
    STRIDED_NETWORKS = 13
};

/* A model of one input, x. */
typedef struct strided_network {
    const char *name;
    void (*build)(onnx_bytes *graph);
    int rank;    /* rank of x */
    int outputs; /* y0, y1, .. */
} strided_network;

extern const strided_network strided_networks[STRIDED_NETWORKS];

#endif
