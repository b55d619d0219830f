/* SPDX-License-Identifier: Apache-2.0 */
/* Choices out of bytes. */
#include "choices.h"

static unsigned next_byte(choices *c)
{
    return c->at < c->end ? *c->at++ : 0;
}

choices choices_begin(const uint8_t *bytes, size_t size)
{
    choices c = {bytes, bytes + size, 0};
    const unsigned mood = choose(&c, 8);
    c.slips = mood < 5 ? 0 : mood < 7 ? 1 : 3;
    return c;
}

unsigned choose(choices *c, unsigned count)
{
    if (count <= 1) {
        return 0;
    }
    unsigned number = next_byte(c);
    if (count > 256) {
        number |= next_byte(c) << 8;
    }
    return number % count;
}

int64_t choose_between(choices *c, int64_t least, int64_t most)
{
    return least + (int64_t)choose(c, (unsigned)(most - least + 1));
}

bool chance(choices *c, unsigned parts)
{
    return next_byte(c) >= 256 - parts;
}

bool slip(choices *c)
{
    if (c->slips == 0 || !chance(c, 20)) {
        return false;
    }
    c->slips--;
    return true;
}

int64_t choose_edge(choices *c)
{
    static const int64_t edges[] = {
        0,
        -1,
        1,
        -2,
        17,
        64,
        1000,
        65536,
        INT32_MAX,
        (int64_t)INT32_MAX + 1,
        INT32_MIN,
        (int64_t)1 << 53,
        (int64_t)1 << 62,
        INT64_MAX,
        INT64_MIN,
    };
    return edges[choose(c, sizeof edges / sizeof *edges)];
}

/* splitmix64 (Steele, Lea, Flood 2014). */
uint64_t generator_next(generator *n)
{
    uint64_t z = n->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

double generator_unit(generator *n)
{
    return (double)(generator_next(n) >> 11) * 0x1p-53;
}
