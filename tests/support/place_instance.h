/* SPDX-License-Identifier: Apache-2.0 */
/* Random problems of assignment, of rand(). */
#ifndef TESTS_PLACE_INSTANCE_H
#define TESTS_PLACE_INSTANCE_H

#include "placement/assign.h"

#include <math.h>
#include <stdlib.h>

enum { PLACE_CHAINS = 4, PLACE_DEVICES = RY_ASSIGN_DEVICES };

/* A random problem and its memory. */
typedef struct place_instance {
    ry_assign_problem problem;
    ry_assign_chain chains[PLACE_CHAINS];
    double *tables[PLACE_CHAINS][3];
    double bandwidth[PLACE_DEVICES * PLACE_DEVICES], latency[PLACE_DEVICES * PLACE_DEVICES];
    double memory[PLACE_DEVICES], watts[PLACE_DEVICES];
    size_t parts;
} place_instance;

static inline double place_random(double low, double high)
{
    return low + (high - low) * (double)rand() / RAND_MAX;
}

/* A segment takes what its parts take, less a little for each joint, as fusions make it. */
static inline void place_instance_chain(place_instance *in, size_t c, size_t parts)
{
    const size_t devices = in->problem.devices;
    double *seconds = calloc(parts * parts * devices, sizeof *seconds);
    double *bytes = calloc(parts * parts * devices, sizeof *bytes);
    double *crossing = calloc(parts + 1, sizeof *crossing);
    if (!seconds || !bytes || !crossing) {
        abort();
    }
    for (size_t d = 0; d < devices; d++) {
        const bool refuses = rand() % 12 == 0 && d > 0;
        double part[RY_ASSIGN_PARTS], held[RY_ASSIGN_PARTS];
        for (size_t i = 0; i < parts; i++) {
            part[i] = place_random(0.1, 5);
            held[i] = (double)(rand() % 50 + 1);
        }
        for (size_t first = 0; first < parts; first++) {
            double sum = 0, room = 0;
            for (size_t last = first; last < parts; last++) {
                sum += part[last] - (last > first ? place_random(0, 0.1) : 0);
                room += held[last];
                seconds[(first * parts + last) * devices + d] =
                    refuses && last == parts - 1 ? INFINITY : sum;
                bytes[(first * parts + last) * devices + d] = room;
            }
        }
    }
    for (size_t i = 0; i <= parts; i++) {
        crossing[i] = rand() % 8 ? place_random(0, 3) : 0;
    }
    in->chains[c] = (ry_assign_chain){parts, seconds, bytes, crossing};
    in->tables[c][0] = seconds;
    in->tables[c][1] = bytes;
    in->tables[c][2] = crossing;
    in->parts += parts;
}

static inline void place_instance_make(place_instance *in, ry_assign_objective objective,
                                       size_t devices, size_t chains, size_t parts)
{
    *in = (place_instance){0};
    in->problem = (ry_assign_problem){.objective = objective,
                                      .devices = devices,
                                      .chains = chains,
                                      .chain = in->chains,
                                      .bandwidth = in->bandwidth,
                                      .latency = in->latency,
                                      .memory = in->memory,
                                      .watts = in->watts,
                                      .most_nodes = 4000000,
                                      .most_work = SIZE_MAX};
    for (size_t a = 0; a < devices; a++) {
        for (size_t b = 0; b < a; b++) {
            in->bandwidth[a * devices + b] = in->bandwidth[b * devices + a] = place_random(0.5, 20);
            in->latency[a * devices + b] = in->latency[b * devices + a] = place_random(0, 0.5);
        }
        in->memory[a] = rand() % 4 ? INFINITY : place_random(50, 200);
        in->watts[a] = place_random(1, 30);
    }
    for (size_t c = 0; c < chains; c++) {
        place_instance_chain(in, c, parts);
    }
}

static inline void place_instance_release(const place_instance *in)
{
    for (size_t c = 0; c < in->problem.chains; c++) {
        for (int t = 0; t < 3; t++) {
            free(in->tables[c][t]);
        }
    }
}

#endif
