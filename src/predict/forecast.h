/* SPDX-License-Identifier: Apache-2.0 */
/* How far predicted times are off: of each family of kernels, on machines that were measured, how
 * much longer its arithmetic takes than it counts, and how wide the times around a prediction are
 * (residuals.inc). */
#ifndef RY_PREDICT_FORECAST_H
#define RY_PREDICT_FORECAST_H

#include "predict/predict.h"

#define RY_FORECAST_COVERAGE 0.9

/* A time is median * exp(e), with e of standard deviation `spread` around 0. */
typedef struct ry_forecast {
    double median, low, high;
} ry_forecast;

/* Steps of one family are off together, and each by its own; and all of a machine together. Sums
 * are made in any order: begin with zeros, add all steps, then end. */
typedef struct ry_forecast_sum {
    double seconds, variance; /* variance of errors independent between steps */
    double *family;           /* seconds times spread, by the family's row */
} ry_forecast_sum;

/* Rows of a machine's calibration and of residuals.inc. */
size_t ry_forecast_families(void);

typedef struct ry_residual {
    double factor; /* measured arithmetic time of a kernel's family over its counted time */
    double spread; /* standard deviation of the logarithm of measured over predicted time */
} ry_residual;

/* By the machine's calibration; for a family that it lacks by residuals.inc. */
ry_residual ry_forecast_residual(const ry_machine *machine, const ry_kernel *kernel);

/* The factor by the machine's calibration alone; 1 for a family that it lacks. Choices use this
 * one: residuals.inc was fitted to steps within networks. */
double ry_forecast_calibrated(const ry_machine *machine, const ry_kernel *kernel);

/* The forecast of one step, predicted at `seconds`. */
ry_forecast ry_forecast_step(const ry_machine *machine, const ry_kernel *kernel, double seconds);

/* sum->family has ry_forecast_families() zeros, the caller's. */
void ry_forecast_add(ry_forecast_sum *sum, const ry_machine *machine, const ry_kernel *kernel,
                     double seconds);
ry_forecast ry_forecast_end(const ry_forecast_sum *sum);

#endif
