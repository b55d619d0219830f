/* SPDX-License-Identifier: Apache-2.0 */
/* Batch normalisation by the statistics of the batch. A channel's elements are cut into PARTS: entry
 * `moments` has a group find mean and squares of LANES channels' part, in two passes, so that
 * nothing is lost to cancellation; entry `run` has as many groups join them and write their parts.
 *
 * Defined for it: gpu_batch_norm.c's numbers; lanes.cl; for element i of a channel the offsets
 * x_at(i), y_at(i), residual_at(i); `activate`. */
#define CHANNEL     (GROUP / PARTS * LANES + LANE)
#define IS_THERE    (CHANNEL < CHANNELS)
#define PART_OF     (GROUP % PARTS)
#define COUNT(part) ((float)min((INDEX)PART, (INDEX)ELEMENTS - (INDEX)(part) * PART))
/* Lanes behind the last channel compute it again. */
#define CHANNEL_READ min(CHANNEL, CHANNELS - 1)

#define EACH_OF_PART(i)                                                                     \
    for (INDEX i = (INDEX)PART_OF * PART + ROW,                                             \
               end = min((INDEX)ELEMENTS, (INDEX)(PART_OF + 1) * PART);                     \
         i < end; i += GROUP_ROWS)

#define MEAN(part)    WORKSPACE(float)[(part) * CHANNELS + CHANNEL_READ]
#define SQUARES(part) WORKSPACE(float)[(PARTS + (part)) * CHANNELS + CHANNEL_READ]

KERNEL(moments)(ARGUMENTS)
{
    LOCAL float room[GROUP_ITEMS];
    GLOBAL const TYPE_0 *x = IN(TYPE_0, 0);
    const INDEX channel = (INDEX)CHANNEL_READ * X_CHANNEL;
    float sum = 0.0f;
    EACH_OF_PART(i) {
        sum += LOAD_0(x, channel + x_at(i));
    }
    const float mean = sum_of_lane(sum, room) / COUNT(PART_OF);
    sum = 0.0f;
    EACH_OF_PART(i) {
        const float d = LOAD_0(x, channel + x_at(i)) - mean;
        sum += d * d;
    }
    const float squares = sum_of_lane(sum, room);
    if (ROW == 0 && IS_THERE) {
        MEAN(PART_OF) = mean;
        SQUARES(PART_OF) = squares;
    }
}

#define MOVED(running, batch) (KEPT * (running) + TAKEN * (batch))

KERNEL(run)(ARGUMENTS)
{
    GLOBAL const TYPE_0 *x = IN(TYPE_0, 0);
    const int c = CHANNEL_READ;
    const INDEX channel = (INDEX)c * X_CHANNEL;
    float mean = 0.0f, squares = 0.0f;
    for (int part = 0; part < PARTS; part++) {
        mean += MEAN(part) * (COUNT(part) / (float)ELEMENTS);
    }
    for (int part = 0; part < PARTS; part++) {
        const float d = MEAN(part) - mean;
        squares += SQUARES(part) + d * d * COUNT(part);
    }
    const float inverse = 1.0f / sqrt(squares / (float)ELEMENTS + EPSILON);
    const float factor = inverse * LOAD_1(IN(TYPE_1, 1), c * STEP_1),
                bias = LOAD_2(IN(TYPE_2, 2), c * STEP_2);
    if (IS_THERE) {
        EACH_OF_PART(i) {
            float value = (LOAD_0(x, channel + x_at(i)) - mean) * factor + bias;
#if HAS_IN_5
            value += LOAD_5(IN(TYPE_5, 5), (INDEX)c * RESIDUAL_CHANNEL + residual_at(i));
#endif
            STORE(OUT(TYPE_Y, 0), (INDEX)c * Y_CHANNEL + y_at(i), activate(value));
        }
    }
    if (IS_THERE && PART_OF == 0 && ROW == 0) {
#if HAS_OUT_1
        STORE_1(OUT(TYPE_Y_1, 1), c * Y_STEP_1, mean);
#endif
#if HAS_OUT_2
        STORE_2(OUT(TYPE_Y_2, 2), c * Y_STEP_2, inverse);
#endif
#if HAS_OUT_3
        STORE_3(OUT(TYPE_Y_3, 3), c * Y_STEP_3, MOVED(LOAD_3(IN(TYPE_3, 3), c * STEP_3), mean));
#endif
#if HAS_OUT_4
        STORE_4(OUT(TYPE_Y_4, 4), c * Y_STEP_4,
                MOVED(LOAD_4(IN(TYPE_4, 4), c * STEP_4), squares / (float)(ELEMENTS - 1)));
#endif
    }
}
