/* SPDX-License-Identifier: Apache-2.0 */
/* Which of several candidates is fastest, from times that are measured in rounds: nothing here
 * measures, reads a clock or takes memory, so the same times give the same verdict.
 *
 *     round:   canary | the candidates that are left, in random order | canary
 *
 * The canary is the untuned choice. A round whose two canaries differ by much more than usual was
 * disturbed and does not count; of the others, each candidate's time is divided by the mean of the
 * two, so that what slows a whole round slows nobody's ratio. A candidate is out when it is slower
 * than the leader by more than the gap with confidence: 99%, or 80% when it is in the worse half at
 * a round whose number is a power of two (successive halving). */
#ifndef RY_TUNE_RACE_H
#define RY_TUNE_RACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RY_RACE_CANDIDATES = 16, RY_RACE_ROUNDS = 64, RY_RACE_LEAST_ROUNDS = 5 };

/* What forms of a kernel must gain: times that are nearer to each other are equal. */
#define RY_RACE_GAP 0.02

typedef struct ry_racer {
    size_t workspace; /* bytes: of equals the one with less is taken, */
    int order;        /* and of those the first in the list of kernels */
    bool out;
    double ratio[RY_RACE_ROUNDS]; /* logarithm of its time over the canary's, in counted rounds */
} ry_racer;

/* Begins as zeros but for count, untuned, gap, random, and of each racer workspace and order. */
typedef struct ry_race {
    double gap;         /* times that are so near to each other are equal; 0: any gain is one */
    int count, untuned; /* racer `untuned` is the canary: it is never out, and its ratios are 0 */
    ry_racer racer[RY_RACE_CANDIDATES];
    int rounds, disturbed;                     /* rounds that count, rounds that do not */
    double spread[2 * RY_RACE_ROUNDS];         /* canary times of all rounds */
    uint64_t random;                           /* the generator's state */
    double now[RY_RACE_CANDIDATES], canary[2]; /* times of the current round */
} ry_race;

/* The racers that are left, but the canary, in a new random order; returns how many. */
int ry_race_begin_round(ry_race *race, int order[RY_RACE_CANDIDATES]);

/* Seconds of the canary at the begin (0) and the end (1) of the round, and of a racer. */
void ry_race_note_canary(ry_race *race, int end, double seconds);
void ry_race_note(ry_race *race, int racer, double seconds);

/* Counts the round or not, and puts out whom it can. False: the round was disturbed. */
bool ry_race_end_round(ry_race *race);

/* Is the best known, to within the gap, or is there no room for another round? */
bool ry_race_is_over(const ry_race *race);

/* The one to take: among those within the gap of the best the one with the least workspace,
 * then the first in the list; but the untuned one unless another is faster by the gap and
 * beyond noise. At any time. */
int ry_race_verdict(const ry_race *race);

/* The median of its time over the untuned one's, in counted rounds; 1 while there are none. */
double ry_race_ratio(const ry_race *race, int racer);

#endif
