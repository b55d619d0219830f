/* SPDX-License-Identifier: Apache-2.0 */
/* Runs an entry that fake_nvrtc compiled: every group's items in turn, each to its next barrier. */
#ifndef EMULATION_H
#define EMULATION_H

void emulation_run(void *library, void *entry, void *const *arguments, unsigned groups,
                   unsigned group);

#endif
