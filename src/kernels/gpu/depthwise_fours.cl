/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolutions of channels-last tensors: a work-item sums OUTPUT_ROWS outputs of four neighbouring
 * channels, which it reads and stores at once. Put behind depthwise.cl, whose entry `run` it replaces.
 *
 * Defined for it: READ_FOUR_X, READ_FOUR_RESIDUAL and WRITE_FOUR, four elements at a multiple of four;
 * FOUR_ADDRESSES, the tensors' addresses, whose bits tell whether they may. */

#if FOURS
FUNCTION void take_four(float *to, VECTOR4 v)
{
    to[0] = v.x;
    to[1] = v.y;
    to[2] = v.z;
    to[3] = v.w;
}

FUNCTION void read_x(float *to, GLOBAL const TYPE_0 *x, INDEX at, int inside, int aligned)
{
    UNROLL
    for (int e = 0; e < 4; e++) {
        to[e] = 0.0f;
    }
    if (inside && aligned) {
        take_four(to, READ_FOUR_X(x, at));
    } else if (inside) {
        UNROLL
        for (int e = 0; e < 4; e++) {
            to[e] = LOAD_0(x, at + e);
        }
    }
}

/* Adds a column of the window to the sums. */
FUNCTION void add_column(float *sum, const float *column, GLOBAL const float *weights)
{
    UNROLL
    for (int j = 0; j < WINDOW_1; j++) {
        float w[4];
        take_four(w, ALIGNED_LOAD4_f32(weights, j * (WINDOW_2 * CHANNELS_OUT)));
        UNROLL
        for (int i = 0; i < OUTPUT_ROWS * 4; i++) {
            sum[i] += column[(i / 4 * STRIDE_1 + j) * 4 + i % 4] * w[i % 4];
        }
    }
}

/* Sums an item's windows. */
FUNCTION void sum_windows(float *sum, GLOBAL const TYPE_0 *x, GLOBAL const float *weights, int at_0,
                          int at_1, int at_2, int aligned)
{
    for (int j0 = 0; j0 < WINDOW_0; j0++) {
        const int i0 = at_0 + j0 * STEP_0;
        if (!is_inside(MASK_0, i0, IN_0)) {
            continue;
        }
        UNROLL_WINDOW
        for (int j2 = 0; j2 < WINDOW_2; j2++) {
            const int i2 = at_2 + j2 * STEP_2, inside = is_inside(MASK_2, i2, IN_2);
            float column[REACH * 4];
            UNROLL
            for (int i = 0; i < REACH; i++) {
                read_x(column + i * 4, x,
                       (INDEX)i0 * X_STEP_0 + (INDEX)(at_1 + i) * X_STEP_1 + (INDEX)i2 * X_STEP_2,
                       inside && (uint)(at_1 + i) < (uint)IN_1, aligned);
            }
            add_column(sum, column,
                       weights + (INDEX)(j0 * (WINDOW_1 * WINDOW_2) + j2) * CHANNELS_OUT);
        }
    }
}

KERNEL(run)(ARGUMENTS)
{
    const int aligned = FOUR_ADDRESSES % 16 == 0;
    INDEX rest = (INDEX)GROUP * GROUP_ITEMS + ITEM;
    if (rest >= (INDEX)IMAGES * (CHANNELS_OUT / 4) * OUT_0 * BLOCKS * OUT_2) {
        return;
    }
    const int k = (int)(rest % (CHANNELS_OUT / 4)) * 4;
    rest /= CHANNELS_OUT / 4;
    const int o2 = (int)(rest % OUT_2);
    rest /= OUT_2;
    const int o1 = (int)(rest % BLOCKS) * OUTPUT_ROWS;
    rest /= BLOCKS;
    const int o0 = (int)(rest % OUT_0), image = (int)(rest / OUT_0);
    float sum[OUTPUT_ROWS * 4], added[OUTPUT_ROWS * 4];
    UNROLL
    for (int i = 0; i < OUTPUT_ROWS * 4; i++) {
        sum[i] = added[i] = 0.0f;
    }
    sum_windows(sum, IN(TYPE_0, 0) + (INDEX)image * X_IMAGE + k, PACKED(const float) + k,
                o0 * STRIDE_0 + FIRST_0(0), o1 * STRIDE_1 + FIRST_1(0), o2 * STRIDE_2 + FIRST_2(0),
                aligned);
    if (!aligned) {
        UNROLL
        for (int i = 0; i < OUTPUT_ROWS * 4; i++) {
            if (o1 + i / 4 < OUT_1) {
                FINISH_SUM(sum[i], image, k + i % 4, o0, (INDEX)(o1 + i / 4), o2, 0, 0, 0);
            }
        }
        return;
    }
#ifdef READ_FOUR_RESIDUAL
    UNROLL
    for (int i = 0; i < OUTPUT_ROWS; i++) {
        if (o1 + i < OUT_1) {
            take_four(added + i * 4, READ_FOUR_RESIDUAL(IN(TYPE_3, 3),
                                                        RESIDUAL_AT(image, k, o0, (INDEX)(o1 + i), o2)));
        }
    }
#endif
    UNROLL
    for (int i = 0; i < OUTPUT_ROWS; i++) {
        float v[4];
        UNROLL
        for (int e = 0; e < 4; e++) {
            v[e] = activate(ADD_BIAS(sum[i * 4 + e], k + e, 0, 0, 0) + added[i * 4 + e]);
        }
        if (o1 + i < OUT_1) {
            WRITE_FOUR(OUT(TYPE_Y, 0), Y_AT(image, k, o0, (INDEX)(o1 + i), o2),
                       MAKE_VECTOR4(v[0], v[1], v[2], v[3]));
        }
    }
}
#endif
