/* SPDX-License-Identifier: Apache-2.0 */
/* Monotonic time. */
#include "base/clock.h"

#include <time.h>

double ry_clock_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
