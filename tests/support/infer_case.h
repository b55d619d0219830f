/* SPDX-License-Identifier: Apache-2.0 */
/* One node, given and expected as text, through shape inference. */
#ifndef TESTS_SUPPORT_INFER_CASE_H
#define TESTS_SUPPORT_INFER_CASE_H

#include <stddef.h>

/* node      operator and attributes as in a problem's text: "pool kernel=3,3 stride=2,2" inputs
 * "1x3xHx8:f32 - 2:i64=0,-1": dims (numbers or symbols), type, content; "-" is absent, "?" an
 * unknown rank, "~" before dims: bounded outputs   "1x3x4x4:f32"; a leading "later " or a "~"
 * before a shape mean what they say; "!text": inference fails with a message that holds `text` (a
 * node
 *           of n outputs: n times "!"); "_" stands for any unknown dim
 * attrs     a part of the problem's text after inference, or NULL */
typedef struct infer_case {
    const char *node, *inputs, *outputs, *attrs;
} infer_case;

/* Runs all of them, each twice on the same node (inference must not change what it made); fails the
 * test after naming those that are wrong. */
void infer_cases(const infer_case *cases, size_t count);

#endif
