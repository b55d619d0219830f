/* SPDX-License-Identifier: Apache-2.0 */
/* Paired comparisons and their confidence. */
#include "tune/race.h"

#include "tune/sample_statistics.h"
#include "tune/shuffle.h"

#include <math.h>
#include <string.h>

enum { LIKELY, SURE };

/* So few are not halved: they cost little. */
enum { HALVED = 3 };

/* Canaries of a quiet machine are this near to each other; and where they usually are not, a round
 * counts unless they are three times as far apart as usual. */
static const double QUIET = 0.10, UNUSUAL = 3;

int ry_race_begin_round(ry_race *race, int order[RY_RACE_CANDIDATES])
{
    int count = 0;
    for (int i = 0; i < race->count; i++) {
        if (i != race->untuned && !race->racer[i].out) {
            order[count++] = i;
        }
    }
    ry_shuffle(&race->random, order, count);
    return count;
}

void ry_race_note_canary(ry_race *race, int end, double seconds)
{
    race->canary[end] = seconds;
}

void ry_race_note(ry_race *race, int racer, double seconds)
{
    race->now[racer] = seconds;
}

static double median_spread(const ry_race *race, int count)
{
    double copy[2 * RY_RACE_ROUNDS];
    memcpy(copy, race->spread, (size_t)count * sizeof *copy);
    return ry_median(copy, count);
}

/* Was there something beside the candidates? */
static bool is_disturbed(ry_race *race)
{
    const int all = race->rounds + race->disturbed;
    const double spread = fabs(log(race->canary[1] / race->canary[0]));
    race->spread[all] = spread;
    return spread > QUIET && spread > UNUSUAL * median_spread(race, all + 1);
}

static double median_ratio(const ry_race *race, int racer)
{
    double copy[RY_RACE_ROUNDS];
    memcpy(copy, race->racer[racer].ratio, (size_t)race->rounds * sizeof *copy);
    return ry_median(copy, race->rounds);
}

/* Confidence bound of the mean log ratio of a's time to b's: lower (side -1) or upper (1). */
static double bound(const ry_race *race, int a, int b, int side, int sure)
{
    const double *x = race->racer[a].ratio, *y = race->racer[b].ratio;
    const int n = race->rounds;
    double mean = 0, variance = 0;
    for (int i = 0; i < n; i++) {
        mean += (x[i] - y[i]) / n;
    }
    for (int i = 0; i < n; i++) {
        variance += (x[i] - y[i] - mean) * (x[i] - y[i] - mean) / (n > 1 ? n - 1 : 1);
    }
    return n < 2 ? (side < 0 ? -INFINITY : INFINITY)
                 : mean + side * ry_student_bound(n, sure) * sqrt(variance);
}

static int leader(const ry_race *race)
{
    int best = race->untuned;
    double least = 0;
    for (int i = 0; i < race->count; i++) {
        const double ratio = race->racer[i].out ? INFINITY : median_ratio(race, i);
        if (ratio < least) {
            least = ratio;
            best = i;
        }
    }
    return best;
}

/* How many that are left have a smaller median. */
static int place_of(const ry_race *race, int racer)
{
    const double own = median_ratio(race, racer);
    int place = 0;
    for (int i = 0; i < race->count; i++) {
        place += !race->racer[i].out && median_ratio(race, i) < own;
    }
    return place;
}

static void put_out(ry_race *race)
{
    const int best = leader(race);
    bool slow[RY_RACE_CANDIDATES] = {false};
    int left = 0;
    for (int i = 0; i < race->count; i++) {
        left += !race->racer[i].out;
    }
    const bool halving = left > HALVED && (race->rounds & (race->rounds - 1)) == 0;
    for (int i = 0; i < race->count && race->rounds >= 3; i++) {
        const bool worse = halving && place_of(race, i) >= (left + 1) / 2;
        slow[i] = i != race->untuned && i != best &&
                  bound(race, i, best, -1, worse ? LIKELY : SURE) > log1p(race->gap);
    }
    for (int i = 0; i < race->count; i++) {
        race->racer[i].out |= slow[i];
    }
}

bool ry_race_end_round(ry_race *race)
{
    if (is_disturbed(race)) {
        race->disturbed++;
        return false;
    }
    const double base = sqrt(race->canary[0] * race->canary[1]);
    for (int i = 0; i < race->count; i++) {
        race->racer[i].ratio[race->rounds] =
            i == race->untuned || race->racer[i].out ? 0 : log(race->now[i] / base);
    }
    race->rounds++;
    put_out(race);
    return true;
}

/* Is the racer faster than the untuned form, by the required margin and beyond noise? */
static bool is_faster(const ry_race *race, int racer)
{
    return race->rounds >= RY_RACE_LEAST_ROUNDS && median_ratio(race, racer) < -log1p(race->gap) &&
           bound(race, racer, race->untuned, 1, SURE) < 0;
}

bool ry_race_is_over(const ry_race *race)
{
    if (race->rounds == RY_RACE_ROUNDS || race->rounds + race->disturbed == 2 * RY_RACE_ROUNDS) {
        return true;
    }
    const int best = leader(race);
    const bool gains = median_ratio(race, best) < -log1p(race->gap);
    bool clear = race->rounds >= RY_RACE_LEAST_ROUNDS && (!gains || is_faster(race, best));
    for (int i = 0; i < race->count && clear; i++) {
        clear =
            race->racer[i].out || i == best || bound(race, i, best, -1, SURE) > -log1p(race->gap);
    }
    return clear;
}

static bool is_preferred(const ry_racer *a, const ry_racer *b)
{
    return a->workspace != b->workspace ? a->workspace < b->workspace : a->order < b->order;
}

int ry_race_verdict(const ry_race *race)
{
    const int best = leader(race);
    const double limit = median_ratio(race, best) + log1p(race->gap);
    int taken = is_faster(race, best) ? best : race->untuned;
    for (int i = 0; i < race->count && taken != race->untuned; i++) {
        if (!race->racer[i].out && median_ratio(race, i) <= limit && is_faster(race, i) &&
            is_preferred(&race->racer[i], &race->racer[taken])) {
            taken = i;
        }
    }
    return taken;
}

double ry_race_ratio(const ry_race *race, int racer)
{
    return exp(median_ratio(race, racer));
}
