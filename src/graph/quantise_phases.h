/* SPDX-License-Identifier: Apache-2.0 */
/* A transposed convolution as a convolution of unit stride. Along a spatial dim of stride s and
 * padding p, output o is place q = (o + p) mod s of block b = (o + p) / s. It adds taps q, q + s, ..
 * of the inputs b, b - 1, .. The places of a block are the channels of the convolution:
 *
 *     weights: w'[q, k][c][T - 1 - j] = w[c][k][q + s j], 0 behind the last tap; T = ceil(taps / s)
 *
 * A shuffle brings them to their places, and a slice drops what lies outside the output. */
#ifndef RY_GRAPH_QUANTISE_PHASES_H
#define RY_GRAPH_QUANTISE_PHASES_H

#include "graph/emitter.h"

typedef struct ry_phases {
    int64_t groups;
    int64_t count;      /* places of a block */
    int64_t by_channel; /* order of the convolution's channels: 1: [k][q], 0: [q][k] */
    int64_t rank;       /* spatial dims */
    int64_t stride[RY_MAX_RANK];
    int64_t taps[RY_MAX_RANK];     /* T */
    int64_t pads[2 * RY_MAX_RANK]; /* begins, ends of the convolution */
    int64_t first[RY_MAX_RANK];    /* place of output 0 among the shuffled ones */
} ry_phases;

/* False: the node is another one, or the convolution would have far more products. */
bool ry_phases_of(const ry_graph *graph, const ry_node *node, ry_phases *phases);

/* The channel k of an output channel of the convolution. `channels`: number of the transposed
 * one's. */
int64_t ry_phase_channel(const ry_phases *phases, int64_t channels, int64_t at);

/* Elements of the transposed convolution's weights, of shape `w`, in the convolution's order:
 * from[i], -1: zero. `i` counts the convolution's weights row by row. */
int64_t ry_phase_weight(const ry_phases *phases, const ry_shape *w, int64_t i);

/* Shape of the convolution's weights. */
ry_shape ry_phase_weights(const ry_phases *phases, const ry_shape *w);

/* Makes `y`, the transposed convolution's output, out of the convolution's output. */
void ry_emit_phases(ry_emitter *emitter, const ry_phases *phases, ry_value_id blocks,
                    ry_value_id y);

#endif
