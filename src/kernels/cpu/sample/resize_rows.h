/* SPDX-License-Identifier: Apache-2.0 */
/* Rows resized along the width, and their weighted sums, in the type SUM (float or double), for
 * resize_isa.c: ROW(name) is name, followed by the type's name. */

/* Entries [begin, end) of the table: gathers, which compilers vectorise where the machine can. */
static void ROW(part)(const walk *at, SUM *restrict y, const SUM *restrict x, int64_t begin,
                      int64_t end)
{
    const resize_axis *t = &at->plan->width;
    const int64_t n = t->entries;
    const int32_t *restrict first = resize_firsts(&at->tables, t);
    const SUM *restrict w = resize_weights(&at->tables, t);
    for (int64_t o = begin; t->far && o < end; o++) {
        const SUM *from = x + resize_first(&at->tables, t, t->base + o);
        y[o] = w[o] * from[0];
        for (int64_t j = 1; j < t->taps; j++) {
            y[o] += w[j * n + o] * from[j];
        }
    }
    if (t->far) {
        return;
    }
    if (t->taps == 2) {
        for (int64_t o = begin; o < end; o++) {
            y[o] = w[o] * x[first[o]] + w[n + o] * x[first[o] + 1];
        }
        return;
    }
    for (int64_t o = begin; o < end; o++) {
        y[o] = w[o] * x[first[o]];
    }
    for (int64_t j = 1; j < t->taps; j++) {
        for (int64_t o = begin; o < end; o++) {
            y[o] += w[j * n + o] * x[first[o] + j];
        }
    }
}

/* The repeating outputs: loads side by side and interleaved stores. Inlined with constant taps and
 * period. */
RY_INLINE void ROW(period)(const walk *at, SUM *restrict y, const SUM *restrict x, int taps,
                           int period)
{
    const resize_axis *t = &at->plan->width;
    const SUM *from[RESIZE_PERIOD];
    SUM w[RESIZE_PERIOD][RESIZE_PERIOD_TAPS];
    for (int p = 0; p < period; p++) {
        from[p] = x + resize_first(&at->tables, t, t->begin + p);
        for (int j = 0; j < taps; j++) {
            w[p][j] = ((const SUM *)resize_weights(&at->tables, t))[j * t->out + t->begin + p];
        }
    }
    y += t->begin;
    const int64_t count = (t->end - t->begin) / period;
    for (int64_t i = 0; i < count; i++) {
#pragma GCC unroll 4
        for (int p = 0; p < period; p++) {
            SUM sum = w[p][0] * from[p][i];
#pragma GCC unroll 4
            for (int j = 1; j < taps; j++) {
                sum += w[p][j] * from[p][i + j];
            }
            y[i * period + p] = sum;
        }
    }
}

/* A row of single elements. */
static void ROW(elements)(const walk *at, SUM *restrict y, const SUM *restrict x)
{
    const resize_axis *t = &at->plan->width;
    switch (t->period * (t->taps == 2 || t->taps == 4 ? 10 : 0) + t->taps) {
    case 22: ROW(period)(at, y, x, 2, 2); break;
    case 32: ROW(period)(at, y, x, 2, 3); break;
    case 42: ROW(period)(at, y, x, 2, 4); break;
    case 24: ROW(period)(at, y, x, 4, 2); break;
    case 34: ROW(period)(at, y, x, 4, 3); break;
    case 44: ROW(period)(at, y, x, 4, 4); break;
    default: ROW(part)(at, y + t->base, x, 0, t->entries); return;
    }
    ROW(part)(at, y, x, 0, t->begin);
    ROW(part)(at, y, x, t->end, t->out);
}

/* y = (y, if `more`, plus) the sum of w[k] * x[k], in the order of k. */
RY_INLINE void ROW(add)(SUM *restrict y, const SUM *restrict a, const SUM *restrict b,
                        const SUM *restrict c, const SUM *restrict d, const SUM *w, const int count,
                        const bool more, int64_t n)
{
    const SUM p = w[0], q = w[count > 1], r = w[count > 2 ? 2 : 0], t = w[count > 3 ? 3 : 0];
    for (int64_t i = 0; i < n; i++) {
        SUM sum = more ? y[i] + p * a[i] : p * a[i];
        sum = count > 1 ? sum + q * b[i] : sum;
        sum = count > 2 ? sum + r * c[i] : sum;
        y[i] = count > 3 ? sum + t * d[i] : sum;
    }
}

/* The same of any number of rows. */
RY_INLINE void ROW(sum)(SUM *y, const SUM *const *x, const SUM *w, int64_t count, bool more,
                        int64_t n)
{
    while (count > 0) {
        switch ((count < 4 ? count : 4) + (more ? 4 : 0)) {
        case 1: ROW(add)(y, x[0], x[0], x[0], x[0], w, 1, false, n); break;
        case 2: ROW(add)(y, x[0], x[1], x[1], x[1], w, 2, false, n); break;
        case 3: ROW(add)(y, x[0], x[1], x[2], x[2], w, 3, false, n); break;
        case 4: ROW(add)(y, x[0], x[1], x[2], x[3], w, 4, false, n); break;
        case 5: ROW(add)(y, x[0], x[0], x[0], x[0], w, 1, true, n); break;
        case 6: ROW(add)(y, x[0], x[1], x[1], x[1], w, 2, true, n); break;
        case 7: ROW(add)(y, x[0], x[1], x[2], x[2], w, 3, true, n); break;
        default: ROW(add)(y, x[0], x[1], x[2], x[3], w, 4, true, n); break;
        }
        x += 4;
        w += 4;
        count -= 4;
        more = true;
    }
}

/* A row of pixels of `inner` elements. */
static void ROW(pixels)(const walk *at, SUM *y, const SUM *x)
{
    const resize_axis *t = &at->plan->width;
    const int64_t n = at->plan->inner;
    y += t->base * n;
    for (int64_t o = 0; o < t->entries; o++) {
        const SUM *w = (const SUM *)resize_weights(&at->tables, t) + o * t->taps,
                  *first = x + resize_first(&at->tables, t, t->base + o) * n;
        if (t->taps == 2) {
            ROW(add)(y + o * n, first, first + n, first, first, w, 2, false, n);
            continue;
        }
        for (int64_t k = 0; k < t->taps; k += RESIZE_RING) {
            const int64_t left = t->taps - k, count = left < RESIZE_RING ? left : RESIZE_RING;
            const SUM *from[RESIZE_RING];
            for (int64_t j = 0; j < count; j++) {
                from[j] = first + (k + j) * n;
            }
            ROW(sum)(y + o * n, from, w + k, count, k > 0, n);
        }
    }
}

static void ROW(resized)(const walk *at, SUM *y, const SUM *x)
{
    if (at->plan->inner == 1) {
        ROW(elements)(at, y, x);
    } else {
        ROW(pixels)(at, y, x);
    }
}

/* Input row i along the width, as sums: from the ring, from the input itself, or made now. */
RY_INLINE const SUM *ROW(find)(const walk *at, int64_t i, int64_t slot)
{
    const resize_plan *s = at->plan;
    const bool kept = s->width.repeat == 1;
    const char *from = (const char *)at->x + i * at->line_bytes;
    SUM *row = (SUM *)at->scratch + slot * s->pitch, *line = (SUM *)((char *)at->scratch + s->line);
    if (kept && !at->convert->load) {
        return (const SUM *)from;
    }
    if (at->held[slot] != i || !s->ring) {
        at->held[slot] = i;
        if (at->convert->load) {
            at->convert->load(kept ? row : line, from, s->width.in * s->inner);
        }
        if (!kept) {
            ROW(resized)(at, row, at->convert->load ? line : (const SUM *)from);
        }
    }
    return row;
}

/* The sum of the taps along the innermost lead, then of those sums along the next one. */
static void ROW(nested)(const walk *at, SUM *y)
{
    const resize_plan *s = at->plan;
    const int64_t n = s->width.out * s->inner;
    SUM *sum[RY_MAX_RANK] = {y};
    const resize_axis *lead[RY_MAX_RANK];
    int64_t o[RY_MAX_RANK], tap[RY_MAX_RANK] = {0};
    source from[RESIZE_RING];
    for (int a = 0, l = 0; a < s->leads; a++) {
        if (!s->lead[a].kept) {
            sum[l] = l == 0 ? y : (SUM *)((char *)at->scratch + s->level) + l * s->pitch;
            lead[l] = &s->lead[a];
            o[l++] = at->index[a];
        }
    }
    if (s->ring) {
        list_sources(at, from);
    }
    for (int64_t k = 0; k < s->taps; k++) {
        const source here = s->ring ? from[k] : find_source(at, k);
        const SUM *row = ROW(find)(at, here.row, here.slot);
        for (int l = s->levels - 1; l >= 0; l--) {
            const SUM weight = (SUM)resize_weight(&at->tables, lead[l], tap[l], o[l]);
            ROW(sum)(sum[l], &row, &weight, 1, tap[l] > 0, n);
            if (++tap[l] < lead[l]->taps) {
                break;
            }
            tap[l] = 0;
            row = sum[l];
        }
    }
}

/* An output row: the weighted sum of its input rows. */
static void ROW(output)(const walk *at, void *y)
{
    const resize_plan *s = at->plan;
    const int64_t n = s->width.out * s->inner;
    SUM *sum = at->convert->store ? (SUM *)((char *)at->scratch + s->sum) : y;
    const SUM *row[RESIZE_RING];
    SUM weight[RESIZE_RING];
    source from[RESIZE_RING];
    if (s->levels > 0) {
        ROW(nested)(at, sum);
    } else if (s->ring) {
        list_sources(at, from);
        for (int64_t k = 0; k < s->taps; k++) {
            row[k] = ROW(find)(at, from[k].row, from[k].slot);
            weight[k] = (SUM)from[k].weight;
        }
        ROW(sum)(sum, row, weight, s->taps, false, n);
    } else {
        for (int64_t k = 0; k < s->taps; k++) {
            from[0] = find_source(at, k);
            row[0] = ROW(find)(at, from[0].row, 0);
            weight[0] = (SUM)from[0].weight;
            ROW(sum)(sum, row, weight, 1, k > 0, n);
        }
    }
    if (at->convert->store) {
        at->convert->store(y, sum, n);
    }
}

/* Output rows [begin, end) of planes of SUM, whose rows alone have a table: the usual resize. */
static void ROW(planes)(const walk *at, int64_t begin, int64_t end, SUM *y)
{
    const resize_plan *s = at->plan;
    const resize_axis *t = &s->lead[s->leads - 1];
    const int64_t n = s->width.out * s->inner, line = s->width.in * s->inner, taps = t->taps;
    const SUM *weights = resize_weights(&at->tables, t);
    int64_t o = begin % t->out, plane = begin / t->out * t->in;
    for (int64_t r = begin; r < end; r++, y += n) {
        const SUM *w = weights + o * taps, *row[RESIZE_RING];
        const int64_t first = resize_first(&at->tables, t, o);
        for (int64_t k = 0; k < taps; k++) {
            const int64_t i = first + k, slot = i & (t->slots - 1);
            const SUM *from = (const SUM *)at->x + (plane + i) * line;
            SUM *kept = (SUM *)at->scratch + slot * s->pitch;
            row[k] = s->width.repeat == 1 ? from : kept;
            if (s->width.repeat != 1 && at->held[slot] != plane + i) {
                at->held[slot] = plane + i;
                ROW(resized)(at, kept, from);
            }
        }
        if (taps == 2) {
            ROW(add)(y, row[0], row[1], row[1], row[1], w, 2, false, n);
        } else {
            ROW(sum)(y, row, w, taps, false, n);
        }
        if (++o == t->out) {
            o = 0;
            plane += t->in;
        }
    }
}

#undef ROW
#undef SUM
