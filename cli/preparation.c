/* SPDX-License-Identifier: Apache-2.0 */
/* From options to a preparation. */
#include "preparation.h"

#include <string.h>

/* A crop from a shorter side is a part of it, and a size stretches the picture. */
static void take_fit(const cli_preprocess *facts, rynd_preparation *preparation)
{
    const int64_t crop = facts->crop.width, side = facts->size.width;
    if (crop && !facts->size.height && side >= crop) {
        preparation->fit = RYND_FIT_CROP;
        preparation->share = (double)crop / (double)side;
    } else if (side && facts->size.height && !crop) {
        preparation->fit = RYND_FIT_STRETCH;
    }
}

void cli_preparation_change(rynd_preparation *preparation, const cli_preprocess *options,
                            const cli_preprocess *facts)
{
    const bool own = cli_preprocess_has_values(options);
    take_fit(facts, preparation);
    if (facts->order) {
        preparation->bgr = facts->order == CLI_ORDER_BGR;
    }
    if (own || cli_preprocess_has_values(facts)) {
        cli_preprocess p = own ? *options : *facts;
        cli_preprocess_settle(&p);
        preparation->scale = p.scale;
        memcpy(preparation->mean, p.mean.value, sizeof p.mean.value);
        memcpy(preparation->deviation, p.std.value, sizeof p.std.value);
    }
    if (options->order) {
        preparation->bgr = options->order == CLI_ORDER_BGR;
    }
}
