/* SPDX-License-Identifier: Apache-2.0 */
/* Local search: one part, or one segment, goes to another device. */
#include "placement/assign_search.h"

#include <string.h>

enum { MOST_TRIES = 100000 };

/* Tries every device for the parts first to last, which are on one; true when one was better. */
static bool move(const ry_assign_problem *problem, const ry_assign_scratch *scratch, size_t first,
                 size_t last, unsigned char *device, ry_assign_score *best, int *tries)
{
    const unsigned char before = device[first];
    unsigned char found = before;
    for (size_t d = 0; d < problem->devices && *tries < MOST_TRIES; d++) {
        if (d == before) {
            continue;
        }
        memset(device + first, (int)d, last + 1 - first);
        const ry_assign_score score = ry_assign_score_of(problem, device, scratch);
        (*tries)++;
        if (ry_assign_better(score, *best)) {
            *best = score;
            found = (unsigned char)d;
        }
    }
    memset(device + first, found, last + 1 - first);
    return found != before;
}

void ry_assign_improve(const ry_assign_problem *problem, const ry_assign_scratch *scratch,
                       unsigned char *device, ry_assign_score *best)
{
    int tries = 0;
    for (bool better = true; better && tries < MOST_TRIES;) {
        better = false;
        for (size_t c = 0, begin = 0; c < problem->chains; begin += problem->chain[c++].parts) {
            const size_t end = begin + problem->chain[c].parts;
            for (size_t first = begin, last; first < end; first = last + 1) {
                for (last = first; last + 1 < end && device[last + 1] == device[first];) {
                    last++;
                }
                better |= move(problem, scratch, first, last, device, best, &tries);
            }
            for (size_t part = begin; part < end; part++) {
                better |= move(problem, scratch, part, part, device, best, &tries);
            }
        }
    }
}
