/* SPDX-License-Identifier: Apache-2.0 */
/* Runs an entry that fake_nvrtc compiled: every group's items in turn, each to its next barrier. Groups
 * are given so many bytes of local memory beside what the text declares. */
#ifndef EMULATION_H
#define EMULATION_H

void emulation_run(void *library, void *entry, void *const *arguments, unsigned groups,
                   unsigned group, unsigned given);

#endif
