// SPDX-License-Identifier: Apache-2.0
// Bulk copies to given local memory and the barriers at which their bytes arrive (PTX ISA 8.7,
// "cp.async.bulk", "mbarrier"). A part of emulation_prefix.cpp, behind emulation_wide.cpp.
//
// A copy is made when an item would wait for it, no sooner: a wait for a turn that is over makes no copy.
// Until then the copy's place has other bytes, so that products that read the old bytes too late are wrong. The program
// ends where PTX leaves the behaviour undefined.

struct emulation_arrivals { // one copy at a time arrives: items call expect_bytes before it
    bool begun, shown;      // shown: a fence followed
    unsigned at, item, turn;
    int arrivals; // that the turn waits for
    long bytes;   // that it waits for
};

struct emulation_bulk_of {
    size_t to, bytes;
    const void *from;
    emulation_arrivals *barrier;
};

enum { EMULATION_BARRIERS = 16, EMULATION_BULKS = 16, EMULATION_MOST_BYTES = (1 << 20) - 1 };
static thread_local emulation_arrivals emulation_barriers[EMULATION_BARRIERS];
static thread_local emulation_bulk_of emulation_bulks[EMULATION_BULKS];
static thread_local int emulation_bulk_count;

static inline void emulation_need(bool is_so)
{
    if (!is_so) {
        __builtin_trap();
    }
}

// A group begins, or a launch ends: no copy is on its way, no barrier is begun.
static inline void emulation_end_bulks(void)
{
    emulation_need(emulation_bulk_count == 0);
    memset(emulation_barriers, 0, sizeof emulation_barriers);
}

// The place in given memory of an address.
static inline size_t emulation_given_at(unsigned address, size_t bytes)
{
    emulation_need(emulation_wide_state && address >= emulation_given);
    const size_t at = address - emulation_given;
    emulation_need(at + bytes <= emulation_wide_state->bytes);
    return at;
}

static inline emulation_arrivals *emulation_find_barrier(unsigned address)
{
    for (emulation_arrivals &b : emulation_barriers) {
        if (b.begun && b.at == address) {
            return &b;
        }
    }
    return NULL;
}

static inline void emulation_begin_barrier(unsigned address)
{
    emulation_given_at(address, 8);
    emulation_need(address % 8 == 0 && !emulation_find_barrier(address));
    for (emulation_arrivals &b : emulation_barriers) {
        if (!b.begun) {
            b = emulation_arrivals{true, false, address, threadIdx.x, 0, 1, 0};
            return;
        }
    }
    __builtin_trap();
}

static inline void emulation_show_barriers(void)
{
    for (emulation_arrivals &b : emulation_barriers) {
        b.shown = b.shown || (b.begun && b.item == threadIdx.x);
    }
}

static inline void emulation_end_turn(emulation_arrivals *b)
{
    if (b->arrivals == 0 && b->bytes == 0) {
        b->turn ^= 1;
        b->arrivals = 1;
    }
}

static inline void emulation_expect(unsigned address, unsigned bytes)
{
    emulation_arrivals *b = emulation_find_barrier(address);
    emulation_need(b && b->arrivals > 0 && b->bytes + bytes <= EMULATION_MOST_BYTES);
    b->arrivals--;
    b->bytes += bytes;
    emulation_end_turn(b);
}

static inline void emulation_bulk(unsigned to, const void *from, unsigned bytes, unsigned barrier)
{
    emulation_arrivals *b = emulation_find_barrier(barrier);
    const size_t at = emulation_given_at(to, bytes);
    emulation_need(b && b->shown && to % 16 == 0 && (uintptr_t)from % 16 == 0 && bytes % 16 == 0 &&
                   bytes > 0 && emulation_bulk_count < EMULATION_BULKS);
    for (const emulation_arrivals &other : emulation_barriers) {
        emulation_need(!other.begun || other.at + 8 <= to || other.at >= to + bytes);
    }
    memset(emulation_wide_state->room + at, 0xff, bytes);
    memset(emulation_wide_state->seen + at, 0xff, bytes);
    emulation_bulks[emulation_bulk_count++] = {at, bytes, from, b};
}

// Makes the barrier's first copy.
static inline void emulation_make_bulk(emulation_arrivals *b)
{
    int i = 0;
    while (i < emulation_bulk_count && emulation_bulks[i].barrier != b) {
        i++;
    }
    emulation_need(i < emulation_bulk_count); // else nothing ends the turn
    const emulation_bulk_of copy = emulation_bulks[i];
    emulation_need(b->bytes >= (long)copy.bytes); // else it was told to expect less
    memcpy(emulation_wide_state->room + copy.to, copy.from, copy.bytes);
    memcpy(emulation_wide_state->seen + copy.to, copy.from, copy.bytes);
    b->bytes -= (long)copy.bytes;
    emulation_end_turn(b);
    memmove(&emulation_bulks[i], &emulation_bulks[i + 1],
            (size_t)(--emulation_bulk_count - i) * sizeof *emulation_bulks);
}

static inline void emulation_await(unsigned address, unsigned turn)
{
    emulation_arrivals *b = emulation_find_barrier(address);
    emulation_need(b && turn < 2);
    while (b->turn == turn) {
        emulation_make_bulk(b);
    }
}
