/* SPDX-License-Identifier: Apache-2.0 */
/* Small networks for the calibration, as models' files in memory: like those that people use, but of
 * sizes that no known network has. */
#ifndef RY_API_CALIBRATION_NETWORKS_H
#define RY_API_CALIBRATION_NETWORKS_H

#include "base/memory.h"
#include "base/status.h"

enum { RY_CALIBRATION_NETWORKS = 6 };

/* The bytes of an ONNX file, in the arena. The network has one input, "x", and one output. */
rynd_status ry_calibration_network(int index, ry_arena *arena, const void **bytes, size_t *size,
                                   ry_error *error);

#endif
