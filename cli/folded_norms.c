/* SPDX-License-Identifier: Apache-2.0 */
/* Looks at the operators of a model. */
#include "folded_norms.h"

#include <stdbool.h>
#include <string.h>

enum { LEAST = 8, WITH_BIAS = 3 };

size_t cli_folded_norms(const rynd_model *model)
{
    size_t count = 0;
    for (size_t i = 0; i < rynd_model_node_count(model); i++) {
        rynd_node_info node = RYND_SIZED(rynd_node_info);
        if (rynd_model_get_node(model, i, &node) != RYND_OK ||
            strstr(node.source, "Normalization")) {
            return 0;
        }
        if (strcmp(node.source, "Conv") == 0) {
            if (node.inputs < WITH_BIAS) {
                return 0;
            }
            count++;
        }
    }
    return count >= LEAST ? count : 0;
}
