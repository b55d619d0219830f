/* SPDX-License-Identifier: Apache-2.0 */
/* Classes of accuracy, the strictest first (docs/accuracy.md). */
#ifndef RY_PROBLEM_ACCURACY_H
#define RY_PROBLEM_ACCURACY_H

typedef enum ry_accuracy {
    RY_ACCURACY_strict,
    RY_ACCURACY_near32,
    RY_ACCURACY_tf32,
    RY_ACCURACY_bf16,
    RY_ACCURACY_int8
} ry_accuracy;

#endif
