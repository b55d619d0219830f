/* SPDX-License-Identifier: Apache-2.0 */
/* What a prediction is made from, before rates of memory and what hides what: for predict.c, and
 * for who fits its coefficients. */
#ifndef RY_PREDICT_PREDICT_PARTS_H
#define RY_PREDICT_PREDICT_PARTS_H

#include "predict/predict.h"

typedef struct ry_parts {
    double arithmetic, overhead, pack; /* seconds; pack: of packing before each run */
    double bytes;                      /* that are read and written, constants included */
    double raw, read; /* of constants: bytes as the model has them, and as the kernel reads them */
} ry_parts;

/* `constants`: bit i, input i is the same in each run. */
ry_parts ry_predict_count(const ry_prepared *prepared, const ry_machine *machine, unsigned threads,
                          unsigned constants);

#endif
