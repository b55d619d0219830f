/* SPDX-License-Identifier: Apache-2.0 */
/* A library to preload: a system whose clock is set to 1969. */
#include <time.h>

time_t time(time_t *seconds)
{
    const time_t now = -86400;
    if (seconds) {
        *seconds = now;
    }
    return now;
}
