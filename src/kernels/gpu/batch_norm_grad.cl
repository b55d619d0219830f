/* SPDX-License-Identifier: Apache-2.0 */
/* The gradient of batch normalisation. A channel's elements are cut into PARTS: entry `sums` has a
 * group add up LANES channels' part of dy and of dy times the distance from the mean; entry `run`
 * has as many groups join them and write their parts.
 *
 * Defined for it: gpu_batch_norm.c's numbers; lanes.cl; for element i of a channel the offsets
 * dy_at(i), x_at(i), y_at(i), dx_at(i), residual_at(i); PASSES(y), where the activation is not
 * flat. */
#define CHANNEL  (GROUP / PARTS * LANES + LANE)
#define IS_THERE (CHANNEL < CHANNELS)
#define PART_OF  (GROUP % PARTS)
/* Lanes behind the last channel compute it again. */
#define CHANNEL_READ min(CHANNEL, CHANNELS - 1)

#define EACH_OF_PART(i)                                                                     \
    for (INDEX i = (INDEX)PART_OF * PART + ROW,                                             \
               end = min((INDEX)ELEMENTS, (INDEX)(PART_OF + 1) * PART);                     \
         i < end; i += GROUP_ROWS)

#define SUM(part)      WORKSPACE(float)[(part) * CHANNELS + CHANNEL_READ]
#define PRODUCTS(part) WORKSPACE(float)[(PARTS + (part)) * CHANNELS + CHANNEL_READ]

/* y's gradient as it passes the activation. */
#if HAS_ACTIVATION
#define PASSED(c, i)                                                                        \
    (PASSES(LOAD_5(IN(TYPE_5, 5), (INDEX)(c) * Y_CHANNEL + y_at(i)))                        \
         ? LOAD_0(IN(TYPE_0, 0), (INDEX)(c) * DY_CHANNEL + dy_at(i))                        \
         : 0.0f)
#else
#define PASSED(c, i) LOAD_0(IN(TYPE_0, 0), (INDEX)(c) * DY_CHANNEL + dy_at(i))
#endif
#define DISTANCE(c, i) (LOAD_1(IN(TYPE_1, 1), (INDEX)(c) * X_CHANNEL + x_at(i)) - mean)

KERNEL(sums)(ARGUMENTS)
{
    LOCAL float room[GROUP_ITEMS];
    const int c = CHANNEL_READ;
    const float mean = LOAD_3(IN(TYPE_3, 3), c * STEP_3);
    float sum = 0.0f, products = 0.0f;
    EACH_OF_PART(i) {
        const float dy = PASSED(c, i);
        sum += dy;
        products += dy * DISTANCE(c, i);
    }
    sum = sum_of_lane(sum, room);
    products = sum_of_lane(products, room);
    if (ROW == 0 && IS_THERE) {
        SUM(PART_OF) = sum;
        PRODUCTS(PART_OF) = products;
    }
}

KERNEL(run)(ARGUMENTS)
{
    const int c = CHANNEL_READ;
    const float mean = LOAD_3(IN(TYPE_3, 3), c * STEP_3),
                inverse = LOAD_4(IN(TYPE_4, 4), c * STEP_4);
    float sum = 0.0f, products = 0.0f;
    for (int part = 0; part < PARTS; part++) {
        sum += SUM(part);
        products += PRODUCTS(part);
    }
    const float factor = inverse * LOAD_2(IN(TYPE_2, 2), c * STEP_2);
    /* the gradient through the statistics */
    const float shift = FIXED ? 0.0f : sum / (float)ELEMENTS,
                slope = FIXED ? 0.0f : products * inverse * inverse / (float)ELEMENTS;
    if (IS_THERE) {
        EACH_OF_PART(i) {
            const float dy = PASSED(c, i);
#if HAS_OUT_0
            STORE(OUT(TYPE_Y, 0), (INDEX)c * DX_CHANNEL + dx_at(i),
                  (dy - shift - DISTANCE(c, i) * slope) * factor);
#endif
#if HAS_OUT_3
            STORE_3(OUT(TYPE_Y_3, 3), (INDEX)c * RESIDUAL_CHANNEL + residual_at(i), dy);
#endif
        }
    }
    if (IS_THERE && PART_OF == 0 && ROW == 0) {
#if HAS_OUT_1
        STORE_1(OUT(TYPE_Y_1, 1), c * Y_STEP_1, products * inverse);
#endif
#if HAS_OUT_2
        STORE_2(OUT(TYPE_Y_2, 2), c * Y_STEP_2, sum);
#endif
    }
}
