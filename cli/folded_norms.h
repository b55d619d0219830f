/* SPDX-License-Identifier: Apache-2.0 */
/* Models whose batch normalisations seem folded into convolutions. */
#ifndef CLI_FOLDED_NORMS_H
#define CLI_FOLDED_NORMS_H

#include <rynd/rynd.h>
#include <stddef.h>

/* The number of convolutions, if there are at least eight, all have biases, and the model has no
 * normalisation; else 0. */
size_t cli_folded_norms(const rynd_model *model);

#endif
