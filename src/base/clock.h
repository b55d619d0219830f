/* SPDX-License-Identifier: Apache-2.0 */
/* Time. */
#ifndef RY_BASE_CLOCK_H
#define RY_BASE_CLOCK_H

#include <stdint.h>

/* Monotonic, from any point on. */
double ry_clock_seconds(void);

/* Since 1970; 0 where the system's clock is set to a time before. */
int64_t ry_clock_calendar_seconds(void);

#endif
