/* SPDX-License-Identifier: Apache-2.0 */
/* Mixup: Zhang, Cisse, Dauphin, Lopez-Paz, "mixup: Beyond Empirical Risk Minimization", 2018. */
#ifndef CLI_MIXUP_H
#define CLI_MIXUP_H

#include "failure.h"

#include <rynd/rynd.h>

enum { CLI_MIXUP_NUMBERS = 32 };

/* A share of 0 to 1 drawn from Beta(a, a), a above 0 to 1, by numbers of 0 to 1 (Jöhnk, 1964). Its
 * steps of 1/65536 hide what machines' powers differ by. */
float cli_mixup_share(double a, const float numbers[CLI_MIXUP_NUMBERS]);

/* Each row of an f32 tensor becomes share * row + (1 - share) * the row before; the first takes the
 * last. */
bool cli_mixup_rows(const rynd_tensor *rows, float share, cli_failure *failure);

#endif
