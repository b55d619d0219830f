/* SPDX-License-Identifier: Apache-2.0 */
/* Calls the functions of rynd/quantize.h with each of their pointers NULL. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "null_arguments.h"

void null_quantizers(void **state)
{
    (void)state;
    const rynd_quantize_options options = RYND_SIZED(rynd_quantize_options, .batch = 1);
    rynd_quantizer *quantizer;
    rynd_tensor tensor = {.data = NULL};
    rynd_quantized_layer layer = RYND_SIZED(rynd_quantized_layer);
    rynd_quantized_info info = RYND_SIZED(rynd_quantized_info);
    void *data;
    size_t length;
    REFUSES(rynd_quantizer_create, model, NULL, &options, &quantizer);
    REFUSES(rynd_quantizer_create, quantizer, model, &options, NULL);
    TAKES(rynd_quantizer_create, options,
          rynd_quantizer_create(model, NULL, &quantizer) == RYND_ERROR_SHAPE);
    assert_int_equal(rynd_quantizer_create(model, &options, &quantizer), RYND_OK);
    REFUSES(rynd_quantizer_observe, quantizer, NULL, &tensor);
    REFUSES(rynd_quantizer_observe, inputs, quantizer, NULL);
    REFUSES(rynd_quantizer_measure, quantizer, NULL);
    TAKES(rynd_quantizer_layer_count, quantizer, rynd_quantizer_layer_count(NULL) == 0);
    REFUSES(rynd_quantizer_get_layer, quantizer, NULL, 0, &layer);
    REFUSES(rynd_quantizer_get_layer, layer, quantizer, 0, NULL);
    REFUSES(rynd_quantizer_set_float, quantizer, NULL, 0, 1);
    REFUSES(rynd_quantizer_keep_float, quantizer, NULL, 0);
    REFUSES(rynd_quantizer_get_info, quantizer, NULL, &info);
    REFUSES(rynd_quantizer_get_info, info, quantizer, NULL);
    REFUSES(rynd_quantizer_save, quantizer, NULL, "/dev/null");
    REFUSES(rynd_quantizer_save, path, quantizer, NULL);
    REFUSES(rynd_quantizer_save_memory, quantizer, NULL, &data, &length);
    REFUSES(rynd_quantizer_save_memory, data, quantizer, NULL, &length);
    REFUSES(rynd_quantizer_save_memory, size, quantizer, &data, NULL);
    rynd_quantization quantization = RYND_SIZED(rynd_quantization);
    REFUSES(rynd_model_get_quantization, model, NULL, &quantization);
    REFUSES(rynd_model_get_quantization, info, model, NULL);
    IGNORES(rynd_quantizer_destroy, quantizer, NULL);
    rynd_quantizer_destroy(quantizer);
}
