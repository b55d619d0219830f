/* SPDX-License-Identifier: Apache-2.0 */
/* Time. */
#include "base/clock.h"

#include <time.h>

double ry_clock_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int64_t ry_clock_calendar_seconds(void)
{
    const time_t now = time(NULL);
    return now > 0 ? (int64_t)now : 0;
}
