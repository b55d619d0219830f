/* SPDX-License-Identifier: Apache-2.0 */
/* Predicts a step within a network: tensors are where the previous step left them, constants
 * where a whole run left them. */
#ifndef RY_PREDICT_NETWORK_H
#define RY_PREDICT_NETWORK_H

#include "predict/predict.h"

/* What a calibration fits; the machine's own, or built in. */
typedef struct ry_network_fit {
    double step;                        /* seconds to start a step */
    double kept, exposed, rate, region; /* shares (rynd_machine) */
} ry_network_fit;

ry_network_fit ry_network_fit_of(const ry_machine *machine);

/* Seconds of one micro-batch; `network_bytes` are touched before its constants come again (0: they
 * come again at once, as in a later micro-batch). `factor`: what the kernel's arithmetic takes over
 * what it counts (forecast.h). */
ry_time ry_predict_in_network(const ry_parts *parts, const ry_machine *machine, unsigned threads,
                              double factor, double network_bytes);

#endif
