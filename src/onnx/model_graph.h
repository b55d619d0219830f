/* SPDX-License-Identifier: Apache-2.0 */
/* A GraphProto into a graph. */
#ifndef RY_ONNX_MODEL_GRAPH_H
#define RY_ONNX_MODEL_GRAPH_H

#include "onnx/nodes.h"
#include "onnx/onnx.h"

/* Fills an empty graph, and model->usage. */
rynd_status ry_model_graph(ry_reader *reader, ry_slice graph_bytes, const ry_opsets *opsets,
                           const ry_slices *functions, ry_onnx_model *model);

#endif
