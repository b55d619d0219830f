/* SPDX-License-Identifier: Apache-2.0 */
/* Prints --help from a command's tables. */
#include "help.h"

#include <stdio.h>
#include <string.h>

enum { WIDTH = 100, LEFT = 28 };

/* Prints text from column `at` on; further lines begin at column `left`. A newline in the text ends
 * a line, and spaces after it indent the next. */
static void print_wrapped(const char *text, size_t at, size_t left)
{
    while (*text) {
        const size_t spaces = strspn(text, " "), length = strcspn(text + spaces, " \n");
        if (length > 0 && at > left && at + spaces + length > WIDTH) {
            printf("\n%*s", (int)left, "");
            at = left;
            text += spaces;
            continue;
        }
        printf("%.*s", (int)(spaces + length), text);
        at += spaces + length;
        text += spaces + length;
        if (*text == '\n') {
            printf("\n%*s", text[1] && text[1] != '\n' ? (int)left : 0, "");
            at = left;
            text++;
        }
    }
    putchar('\n');
}

static void print_option(const cli_option *option)
{
    char left[64], letter[8] = "", text[1024];
    if (option->letter) {
        snprintf(letter, sizeof letter, "-%c, ", option->letter);
    }
    const int length = snprintf(left, sizeof left, "  %s--%s%s%s", letter, option->name,
                                option->value ? " " : "", option->value ? option->value : "");
    printf("%-*s", LEFT - 2, left);
    if (length > LEFT - 2) {
        printf("\n%*s", LEFT - 2, "");
    }
    snprintf(text, sizeof text, "%s%s%s%s", option->help, option->choices ? " (" : "",
             option->choices ? option->choices : "", option->choices ? ")" : "");
    printf("  ");
    print_wrapped(text, LEFT, LEFT);
}

/* A heading without a row after it is not printed. */
static void print_options(const cli_command *command)
{
    const char *heading = "options";
    const cli_option *option;
    for (size_t i = 0; (option = cli_option_at(command, i)) != NULL; i++) {
        if (option->kind == CLI_HEADING) {
            heading = option->help;
            continue;
        }
        if (heading) {
            printf("\n%s:\n", heading);
            heading = NULL;
        }
        print_option(option);
    }
}

static void print_examples(const char *examples)
{
    printf("\nexamples:\n");
    for (size_t n; *examples; examples += n + (examples[n] == '\n')) {
        n = strcspn(examples, "\n");
        printf("  %.*s\n", (int)n, examples);
    }
}

void cli_print_help(const cli_command *command)
{
    printf("usage: rynd %s%s%s [OPTION]...\n\n%s\n", command->name, command->arguments ? " " : "",
           command->arguments ? command->arguments : "", command->help);
    if (command->text) {
        putchar('\n');
        print_wrapped(command->text, 0, 0);
    }
    print_examples(command->examples);
    print_options(command);
}
