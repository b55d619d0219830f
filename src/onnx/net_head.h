/* SPDX-License-Identifier: Apache-2.0 */
/* Another last layer: fine-tuning on other classes. */
#ifndef RY_ONNX_NET_HEAD_H
#define RY_ONNX_NET_HEAD_H

#include "onnx/net.h"

/* Replaces the weights of the last product (Gemm, MatMul, or Conv with one group) before the first
 * output by random ones for `classes` outputs, and its bias by zeros. Weights are uniform from
 * -1/sqrt(fan-in) to 1/sqrt(fan-in), as PyTorch's layers begin; seed and sizes decide them.
 * UNSUPPORTED names the node that lies in between. */
rynd_status ry_net_new_head(ry_net *net, int64_t classes, uint64_t seed, ry_error *error);

#endif
