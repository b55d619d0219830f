/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers by seed and place. */
#include "api/api_check.h"
#include "api/handles.h"
#include "base/philox.h"

static ry_random taken(const rynd_random *random)
{
    return (ry_random){random->seed, random->stream, random->step};
}

rynd_status rynd_random_uniform(const rynd_random *random, uint64_t first, size_t count,
                                float *values)
{
    RY_API_REQUIRE(random);
    if (count) {
        RY_API_REQUIRE(values);
        const ry_random from = taken(random);
        ry_random_uniform(&from, first, count, values);
    }
    return RYND_OK;
}

rynd_status rynd_random_normal(const rynd_random *random, uint64_t first, size_t count,
                               float *values)
{
    RY_API_REQUIRE(random);
    if (count) {
        RY_API_REQUIRE(values);
        const ry_random from = taken(random);
        ry_random_normal(&from, first, count, values);
    }
    return RYND_OK;
}

rynd_status rynd_random_permutation(const rynd_random *random, size_t count, uint64_t *order)
{
    RY_API_REQUIRE(random);
    if (count) {
        RY_API_REQUIRE(order);
        const ry_random from = taken(random);
        ry_random_permutation(&from, count, order);
    }
    return RYND_OK;
}
