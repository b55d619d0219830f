/* SPDX-License-Identifier: Apache-2.0 */
/* Adds the partial sums that groups of igemm.cl's tiles left in the workspace. The last text of a program;
 * panels.cl has its own entry. Empty where no sums are shared: compilers take as long for its end as for that of
 * `run`. */
#if !PANELS
KERNEL(join)(ARGUMENTS)
{
#if SPLITS > 1
    const tile t = tile_of(GROUP);
    SUM sum[ITEM_M * ITEM_N];
    GLOBAL const SUM *partial = WORKSPACE(SUM);
    UNROLL
    for (int l = 0; l < ITEM_M * ITEM_N; l++) {
        SUM s = partial[PARTIAL(0, l)];
        for (int split = 1; split < SPLITS; split++) {
            s += partial[PARTIAL(split, l)];
        }
        sum[l] = s;
    }
    FINISH(sum)
#endif
}
#endif
