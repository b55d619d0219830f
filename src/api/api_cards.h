/* SPDX-License-Identifier: Apache-2.0 */
/* Cards whose machines are built in, so that plans can be made for them anywhere. */
#ifndef RY_API_API_CARDS_H
#define RY_API_API_CARDS_H

#include "machine/machine.h"

#include <stdbool.h>

/* Finds the machine of a card by its name. */
bool ry_api_card(const char *name, ry_machine *machine);
/* Lists the names of all cards of a kind of device: "v100, t4, ..."; cut to the room. */
void ry_api_card_names(const char *device, char *text, size_t room);

#endif
