// SPDX-License-Identifier: Apache-2.0
// Local memory that launches give, and warp groups that multiply from it (PTX ISA 8.7, "Asynchronous
// Warpgroup Level Matrix Instructions"). A part of emulation_prefix.cpp.
//
// The asynchronous proxy has a copy of that memory, which an item's fence.proxy.async brings up to
// date with its writes ("Async Proxy"). Products are made at the wait, no sooner: a sum read earlier
// is the old one, and a tile overwritten earlier gives a wrong sum.

struct emulation_product {
    char type;           // 't', 'f', 'b': tf32, f16, bf16; 'u', 's': bytes
    char right_type;     // the right bytes' type
    int columns, groups; // groups: number of batches committed before it
    bool from_registers;
    unsigned left_words[4];
    unsigned long left, right; // descriptors
    void *sum;
};

enum { EMULATION_WIDE_ITEMS = 384, EMULATION_PRODUCTS = 64, EMULATION_WRITTEN = 256 };

struct emulation_wide_item {
    int issued, done, committed, written;
    emulation_product product[EMULATION_PRODUCTS];
    unsigned at[EMULATION_WRITTEN]; // chunks of 16 bytes that no fence has followed
};

struct emulation_wide {
    unsigned bytes;
    unsigned char *room, *seen; // the items' memory, the asynchronous proxy's
    emulation_wide_item item[EMULATION_WIDE_ITEMS];
};
static thread_local emulation_wide *emulation_wide_state;

#include "emulation_bulk.cpp"

static size_t emulation_given_size(void)
{
    return (emulation_wide_state->bytes + 1023u) / 1024u * 1024u;
}

// A group finds no other's bytes.
static void emulation_begin_group(void)
{
    emulation_wide *w = emulation_wide_state;
    emulation_end_bulks();
    if (w) {
        memset(w->room, 0xff, emulation_given_size());
        memset(w->seen, 0xff, emulation_given_size());
        memset(w->item, 0, sizeof w->item);
    }
}

extern "C" {
void emulation_end(void)
{
    emulation_end_bulks();
    if (emulation_wide_state) {
        free(emulation_wide_state->room);
        free(emulation_wide_state->seen);
        free(emulation_wide_state);
        emulation_wide_state = NULL;
    }
}

void emulation_begin(unsigned given)
{
    emulation_end();
    emulation_wide *w = (emulation_wide *)calloc(1, sizeof *w);
    emulation_wide_state = w;
    w->bytes = given;
    w->room = (unsigned char *)aligned_alloc(1024, emulation_given_size());
    w->seen = (unsigned char *)aligned_alloc(1024, emulation_given_size());
    emulation_begin_group();
}
}

static inline unsigned char *emulation_given_room(void)
{
    if (!emulation_wide_state) {
        __builtin_trap(); // the launch gives no memory
    }
    return emulation_wide_state->room;
}

// Local memory begins with what the launch gives.
static inline size_t __cvta_generic_to_shared(const void *at)
{
    return (size_t)((const unsigned char *)at - emulation_given_room());
}

static inline bool emulation_is_given(const void *place)
{
    const emulation_wide *w = emulation_wide_state;
    return w && (const unsigned char *)place >= w->room &&
           (const unsigned char *)place < w->room + emulation_given_size();
}

// An item wrote 16 bytes, maybe in the given memory.
static inline void emulation_wrote(const void *to)
{
    emulation_wide *w = emulation_wide_state;
    if (!emulation_is_given(to)) {
        return;
    }
    emulation_wide_item *item = &w->item[threadIdx.x];
    const size_t at = (size_t)((const unsigned char *)to - w->room);
    if (at + 16 > w->bytes || item->written == EMULATION_WRITTEN) {
        __builtin_trap();
    }
    item->at[item->written++] = (unsigned)at;
}

static inline void emulation_keep(void *to, const unsigned *words)
{
    memcpy(to, words, 16);
    emulation_wrote(to);
}

static inline void emulation_proxy_fence(void)
{
    emulation_wide *w = emulation_wide_state;
    emulation_wide_item *item = &w->item[threadIdx.x];
    for (int i = 0; i < item->written; i++) {
        memcpy(w->seen + item->at[i], w->room + item->at[i], 16);
    }
    item->written = 0;
    emulation_show_barriers();
}

// Where byte `byte` of the 32 that an instruction reads of a row is, by a matrix descriptor, for
// matrices whose terms are beside each other ("Matrix Descriptor Format", "Shared Memory Matrix
// Layout"): bits 0 to 13 the first address, 16 to 29 the leading and 32 to 45 the stride dimension's
// byte offset, all without their last four bits; 49 to 51 the base offset; 62 and 63 how chunks are
// exchanged: by 3 bits of a row's number in rows of 128 bytes (1), by 2 of 64 (2), by 1 of 32 (3), or
// not, in matrices of 8 rows of 16 bytes (0).
static inline size_t emulation_place(unsigned long descriptor, unsigned row, unsigned byte)
{
    const size_t first = (descriptor & 0x3fffu) << 4, leading = (descriptor >> 16 & 0x3fffu) << 4,
                 stride = (descriptor >> 32 & 0x3fffu) << 4, base = descriptor >> 49 & 7u;
    const unsigned mode = (unsigned)(descriptor >> 62);
    if (mode == 0) {
        return first + row / 8 * stride + byte / 16 * leading + row % 8 * 16 + byte % 16;
    }
    const unsigned bits = 4 - mode;
    const size_t at = first + row / 8 * stride + row % 8 * (16u << bits) + byte;
    return at ^ ((at >> 7) - base & ((1u << bits) - 1)) << 4;
}

static inline unsigned emulation_word(unsigned long descriptor, unsigned row, unsigned word)
{
    const size_t at = emulation_place(descriptor, row, word * 4);
    unsigned bits;
    if (at + 4 > emulation_wide_state->bytes) {
        __builtin_trap();
    }
    memcpy(&bits, emulation_wide_state->seen + at, 4);
    return bits;
}

// Issues a product of 64 rows: operands of the left matrix in LOCAL memory, or four words an item.
static inline emulation_product *emulation_issue(const char *type, int columns, void *sum,
                                                 unsigned long right)
{
    emulation_wide_item *item = &emulation_wide_state->item[threadIdx.x];
    emulation_product *p = &item->product[item->issued++ % EMULATION_PRODUCTS];
    if (item->issued - item->done > EMULATION_PRODUCTS / 2) {
        __builtin_trap();
    }
    const bool bytes = *type == 'u' || *type == 's'; // "u8s8"
    *p = emulation_product{
        *type, bytes ? type[2] : *type, columns, item->committed, false, {0}, 0, right, sum};
    return p;
}

static inline void emulation_multiply(const char *type, int columns, void *sum, unsigned long left,
                                      unsigned long right)
{
    emulation_issue(type, columns, sum, right)->left = left;
}

static inline void emulation_multiply(const char *type, int columns, float *sum,
                                      const unsigned *left, unsigned long right)
{
    emulation_product *p = emulation_issue(type, columns, sum, right);
    p->from_registers = true;
    memcpy(p->left_words, left, sizeof p->left_words);
}

static inline void emulation_commit_products(void)
{
    emulation_wide_state->item[threadIdx.x].committed++;
}

// Word `word` of 8 of a row of the item's warp, of product `number`: by the descriptor or from the
// registers of its item ("Register Fragments": matrix A of wgmma is laid out as that of mma).
static inline unsigned emulation_left_word(const emulation_product *p, int number, unsigned row,
                                           unsigned word)
{
    const unsigned first = threadIdx.x & ~31u;
    if (!p->from_registers) {
        return emulation_word(p->left, threadIdx.x % 128 / 32 * 16 + row, word);
    }
    const emulation_wide_item *item = &emulation_wide_state->item[first + row % 8 * 4 + word % 4];
    return item->product[number % EMULATION_PRODUCTS].left_words[row / 8 + word / 4 * 2];
}

// An item has two neighbouring columns of 8 in two rows, 8 below each other ("Register Fragments":
// accumulator D).
static inline void emulation_make_product(const emulation_product *p, int number)
{
    const unsigned lane = threadIdx.x % 32;
    const int pair = p->type == 't' ? 1 : 2;
    double left[2][16];
    for (unsigned row = 0; row < 2; row++) {
        for (unsigned word = 0; word < 8; word++) {
            const unsigned bits = emulation_left_word(p, number, lane / 4 + row * 8, word);
            for (int i = 0; i < pair; i++) {
                left[row][word * pair + i] = emulation_operand(p->type, bits, i);
            }
        }
    }
    for (int column = 0; column < p->columns / 4; column++) {
        const unsigned at = (unsigned)(column / 2 * 8 + column % 2) + lane % 4 * 2;
        double right[16];
        for (unsigned word = 0; word < 8; word++) {
            const unsigned bits = emulation_word(p->right, at, word);
            for (int i = 0; i < pair; i++) {
                right[word * pair + i] = emulation_operand(p->type, bits, i);
            }
        }
        for (int row = 0; row < 2; row++) {
            float *to = (float *)p->sum + column / 2 * 4 + row * 2 + column % 2;
            for (int half = 0; half < 2; half++) {
                double addend[9] = {*to};
                for (int i = 0; i < 4 * pair; i++) {
                    const int term = half * 4 * pair + i;
                    addend[i + 1] = left[row][term] * right[term];
                }
                *to = emulation_sum(addend, 4 * pair + 1);
            }
        }
    }
}

// The same of bytes: exact sums.
static inline void emulation_make_byte_product(const emulation_product *p, int number)
{
    const unsigned lane = threadIdx.x % 32;
    for (int column = 0; column < p->columns / 4; column++) {
        const unsigned at = (unsigned)(column / 2 * 8 + column % 2) + lane % 4 * 2;
        for (unsigned row = 0; row < 2; row++) {
            int *to = (int *)p->sum + column / 2 * 4 + row * 2 + column % 2;
            for (unsigned word = 0; word < 8; word++) {
                const unsigned a = emulation_left_word(p, number, lane / 4 + row * 8, word),
                               b = emulation_word(p->right, at, word);
                for (int shift = 0; shift < 32; shift += 8) {
                    *to += emulation_byte(&p->type, a, shift) *
                           emulation_byte(&p->right_type, b, shift);
                }
            }
        }
    }
}

// Until at most `groups` of the item's committed groups are not done.
static inline void emulation_wait_products(int groups)
{
    emulation_wide_item *item = &emulation_wide_state->item[threadIdx.x];
    emulation_barrier(); // all items have issued theirs
    while (item->done < item->issued &&
           item->product[item->done % EMULATION_PRODUCTS].groups < item->committed - groups) {
        const emulation_product *p = &item->product[item->done % EMULATION_PRODUCTS];
        if (p->type == 'u' || p->type == 's') {
            emulation_make_byte_product(p, item->done);
        } else {
            emulation_make_product(p, item->done);
        }
        item->done++;
    }
}
