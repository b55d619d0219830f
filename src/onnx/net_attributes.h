/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes of a net's nodes as records: for conversions. */
#ifndef RY_ONNX_NET_ATTRIBUTES_H
#define RY_ONNX_NET_ATTRIBUTES_H

#include "onnx/net.h"
#include "onnx/proto.h"

/* *found: the node has an attribute of that name. */
rynd_status ry_net_attribute(const ry_net *net, const ry_net_node *node, const char *name,
                             ry_attribute_record *record, bool *found, ry_error *error);

#endif
