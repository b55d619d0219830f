/* SPDX-License-Identifier: Apache-2.0 */
/* Reads Linux' /proc/stat (proc(5)) and the process's own times. */
#include "base/competition.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static double seconds_of(const struct timeval *time)
{
    return (double)time->tv_sec + 1e-6 * (double)time->tv_usec;
}

static double own_seconds(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0
               ? seconds_of(&usage.ru_utime) + seconds_of(&usage.ru_stime)
               : 0;
}

bool ry_competition_parse(const char *line, double second, double own, ry_competition *now)
{
    enum { USER, NICE, SYSTEM, IDLE, WAIT, INTERRUPT, SOFT, STOLEN, FIELDS };
    uint64_t ticks[FIELDS] = {0};
    const int fields = sscanf(line,
                              "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
                              " %" SCNu64 " %" SCNu64 " %" SCNu64,
                              &ticks[USER], &ticks[NICE], &ticks[SYSTEM], &ticks[IDLE],
                              &ticks[WAIT], &ticks[INTERRUPT], &ticks[SOFT], &ticks[STOLEN]);
    double all = 0;
    for (int i = 0; i < FIELDS; i++) {
        all += (double)ticks[i] / second;
    }
    const double idle = ((double)ticks[IDLE] + (double)ticks[WAIT]) / second;
    *now = (ry_competition){all, all - idle - own};
    return fields > IDLE;
}

ry_competition ry_competition_now(void)
{
    char line[256];
    ry_competition now = {0, 0};
    const long second = sysconf(_SC_CLK_TCK);
    FILE *file = fopen("/proc/stat", "r");
    const bool read = file && fgets(line, sizeof line, file);
    if (file) {
        fclose(file);
    }
    return read && second > 0 && ry_competition_parse(line, (double)second, own_seconds(), &now)
               ? now
               : (ry_competition){0, 0};
}

double ry_competition_since(const ry_competition *begin)
{
    const ry_competition now = ry_competition_now();
    const double all = now.all - begin->all, others = now.others - begin->others;
    return all <= 0 || others <= 0 || begin->all <= 0 ? 0 : others < all ? others / all : 1;
}

double ry_disturbance_since(const ry_competition *begin, double best, double mean)
{
    const double lost = mean > best ? 1 - best / mean : 0, others = ry_competition_since(begin);
    return lost > others ? lost : others;
}
