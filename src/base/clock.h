/* SPDX-License-Identifier: Apache-2.0 */
/* Monotonic time. */
#ifndef RY_BASE_CLOCK_H
#define RY_BASE_CLOCK_H

double ry_clock_seconds(void);

#endif
