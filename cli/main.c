/* SPDX-License-Identifier: Apache-2.0 */
/* The command `rynd`: finds the command in a table and runs it. Exit codes: 0 done, 1 failed, 2
 * wrong usage. */
#include "commands.h"
#include "help.h"
#include "line.h"
#include "notes.h"
#include "table.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const cli_command *const commands[] = {
    &cli_command_run,     &cli_command_eval,    &cli_command_inspect,  &cli_command_bench,
    &cli_command_profile, &cli_command_plan,    &cli_command_predict,  &cli_command_sweep,
    &cli_command_tune,    &cli_command_train,   &cli_command_quantize, &cli_command_place,
    &cli_command_wisdom,  &cli_command_devices,
};
#define COMMANDS (sizeof commands / sizeof *commands)

static void print_overview(void)
{
    printf("usage: rynd COMMAND [ARGUMENT]... [OPTION]...\n"
           "\n"
           "Runs, times, tunes and trains convolutional networks.\n"
           "\n"
           "commands:\n");
    for (size_t i = 0; i < COMMANDS; i++) {
        printf("  %-10s%s\n", commands[i]->name, commands[i]->help);
    }
    printf("\n"
           "'rynd help COMMAND' explains a command; 'rynd --version' prints the version.\n");
}

static const cli_command *find_command(const char *name)
{
    for (size_t i = 0; i < COMMANDS; i++) {
        if (strcmp(commands[i]->name, name) == 0) {
            return commands[i];
        }
    }
    return NULL;
}

static bool run_command(const cli_command *command, int argc, char **argv, cli_failure *failure)
{
    void *settings = calloc(1, command->settings_size);
    if (!settings) {
        return cli_fail_memory(failure);
    }
    if (command->defaults) {
        memcpy(settings, command->defaults, command->settings_size);
    }
    bool done =
        cli_parse(command, argc, argv, settings, failure) && cli_notes_set_level(settings, failure);
    cli_table_set_wide(((cli_common *)settings)->wide);
    if (done && ((cli_common *)settings)->help) {
        cli_print_help(command);
    } else if (done) {
        done = command->run(settings, failure);
    }
    cli_settings_free(command, settings);
    free(settings);
    return done;
}

static bool dispatch(int argc, char **argv, cli_failure *failure)
{
    if (argc < 2) {
        return cli_fail_usage(failure, "a command is missing; 'rynd --help' lists them");
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        print_overview();
        return true;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("rynd %s\n", rynd_version());
        return true;
    }
    const bool help = strcmp(argv[1], "help") == 0;
    if (help && argc == 2) {
        print_overview();
        return true;
    }
    const char *name = argv[1 + help];
    const cli_command *command = find_command(name);
    if (!command) {
        return cli_fail_usage(failure, "there is no command '%s'; 'rynd --help' lists them", name);
    }
    if (help) {
        cli_print_help(command);
        return true;
    }
    return run_command(command, argc - 2, argv + 2, failure);
}

int main(int argc, char **argv)
{
    cli_failure failure = {0};
    /* A file-size limit shall be an error like a full disk, not the end of the process. */
    signal(SIGXFSZ, SIG_IGN);
    dispatch(argc, argv, &failure);
    errno = 0;
    bool flushed = fflush(stdout) == 0 && !ferror(stdout);
    if (!flushed && failure.exit_code == 0) {
        cli_fail(&failure, "cannot write standard output: %s",
                 errno ? strerror(errno) : "an earlier write failed");
    }
    if (failure.exit_code != 0) {
        cli_line(stderr, "rynd: %s", failure.text);
    }
    return failure.exit_code;
}
