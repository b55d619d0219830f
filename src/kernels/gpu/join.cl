/* SPDX-License-Identifier: Apache-2.0 */
/* Adds the partial sums that groups of igemm.cl's tiles left in the workspace: a group has a part of a
 * tile, an item four sums, whose splits it reads several at once. The last text of a program; panels.cl
 * has its own entry. Empty where no sums are shared: compilers take as long for its end as for that of
 * `run`. */
#if !PANELS
#define SPLITS_AT_ONCE 8

KERNEL(join)(ARGUMENTS)
{
#if SPLITS > 1
    const int part = GROUP % PARTS, number = GROUP / PARTS;
    const tile t = tile_of(number);
    GLOBAL const SUM_VECTOR *partial = WORKSPACE(const SUM_VECTOR);
    SUM sum[4] = {0, 0, 0, 0};
    int m[4 / RUN], n[4 / RUN];
    for (int split = 0; split < SPLITS; split += SPLITS_AT_ONCE) {
        SUM_VECTOR read[SPLITS_AT_ONCE];
        UNROLL_SHORT
        for (int i = 0; i < SPLITS_AT_ONCE; i++) {
            read[i] = partial[PARTIAL(min(split + i, SPLITS - 1), number, part)];
        }
        UNROLL_SHORT
        for (int i = 0; i < SPLITS_AT_ONCE; i++) {
            if (split + i < SPLITS) {
                sum[0] += read[i].x;
                sum[1] += read[i].y;
                sum[2] += read[i].z;
                sum[3] += read[i].w;
            }
        }
    }
    FIND_RUNS(m, n, part * 4 / RUN, 4 / RUN)
    END_RUNS(sum, m, n, 4 / RUN);
#endif
}
#endif
