/* SPDX-License-Identifier: Apache-2.0 */
#include "problem/limits.h"

const ry_limit ry_limits[] = {
#define RY_LIMIT(name, family, value, beyond) {#name, family, beyond, value},
#include "problem/limits.inc"
#undef RY_LIMIT
};

const size_t ry_limit_count = sizeof ry_limits / sizeof *ry_limits;
