/* SPDX-License-Identifier: Apache-2.0 */
/* How much of the machine other work takes, from the system's own counts. */
#ifndef RY_BASE_COMPETITION_H
#define RY_BASE_COMPETITION_H

#include <stdbool.h>

/* Processor seconds since the system's start; zeros where the system does not tell. */
typedef struct ry_competition {
    double all;    /* time of all processors, idle or not */
    double others; /* taken by other processes, or by the host from a virtual machine (stolen) */
} ry_competition;

ry_competition ry_competition_now(void);

/* The share of all processors' time since `begin` that others took, 0 to 1; 0 where the system does
 * not tell, or no tick of its clock (usually 10 ms) passed. */
double ry_competition_since(const ry_competition *begin);

/* How disturbed measurements since `begin` were, 0 to 1, for all that measures: the larger of the
 * canary's loss (a repeated run's mean over its best time) and of others' share. */
double ry_disturbance_since(const ry_competition *begin, double best, double mean);

/* Parses the first line of /proc/stat, in ticks of which `second` are a second. False: it is none.
 * `own`: seconds that this process used. */
bool ry_competition_parse(const char *line, double second, double own, ry_competition *now);

#endif
