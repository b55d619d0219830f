/* SPDX-License-Identifier: Apache-2.0 */
/* The commands. Each cmd_<name>.c defines one. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "options.h"

extern const cli_command cli_command_run;
extern const cli_command cli_command_eval;
extern const cli_command cli_command_inspect;
extern const cli_command cli_command_bench;
extern const cli_command cli_command_profile;
extern const cli_command cli_command_plan;
extern const cli_command cli_command_predict;
extern const cli_command cli_command_tune;
extern const cli_command cli_command_train;
extern const cli_command cli_command_place;
extern const cli_command cli_command_quantize;
extern const cli_command cli_command_devices;
extern const cli_command cli_command_wisdom;
extern const cli_command cli_command_sweep;

#endif
