/* SPDX-License-Identifier: Apache-2.0 */
/* Options by declaration: each command states a table of rows; parsing, checking, messages and
 * --help (help.h) come from it.
 *
 *   --name VALUE   --name=VALUE   -n VALUE   -nVALUE   --flag   --   (only arguments follow)
 *
 * A row stores its value at `offset` in the command's settings, which begin with a cli_common. An
 * option that may be given several times is of a list kind; of the others the last one counts. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include "failure.h"

#include <rynd/rynd.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cli_list {
    const char **items;
    size_t count;
} cli_list;

typedef struct cli_settings {
    rynd_setting *items; /* their texts are owned */
    size_t count;
} cli_settings;

typedef struct cli_dims {
    rynd_dim *items; /* the symbols are owned */
    size_t count;
} cli_dims;

/* "480x640", or "256" (height is 0 then). */
typedef struct cli_extent {
    int64_t height, width;
} cli_extent;

/* A number for all channels, or three. */
typedef struct cli_channels {
    int count; /* 0: not given */
    double value[3];
} cli_channels;

typedef enum cli_kind {
    CLI_FLAG,     /* bool */
    CLI_TEXT,     /* const char *, borrowed from argv */
    CLI_CHOICE,   /* int: 1 + index into `choices`; 0 when not given */
    CLI_INTEGER,  /* int64_t from least to most */
    CLI_NUMBER,   /* double from least to most; a fraction "1/255" is a number */
    CLI_LIST,     /* cli_list */
    CLI_DIMS,     /* cli_dims: NAME=N */
    CLI_SETTINGS, /* cli_settings: STEP.KNOB=V */
    CLI_EXTENT,   /* cli_extent: HxW or N */
    CLI_CHANNELS, /* cli_channels: A or A,B,C from least to most, none 0 when least is above 0 */
    CLI_HEADING,  /* no option: `help` is the title of the rows after it */
    CLI_KINDS
} cli_kind;

typedef struct cli_option {
    const char *name; /* NULL ends a table */
    char letter;      /* 0: none */
    cli_kind kind;
    const char *value;   /* what --help calls the value; NULL for a flag */
    const char *choices; /* "strict|near32|..." */
    double least, most;
    size_t offset;
    const char *help;
} cli_option;

#define CLI_TITLE(text)                                 \
    {                                                   \
        .name = "", .kind = CLI_HEADING, .help = (text) \
    }

typedef enum cli_level {
    CLI_ERROR, /* errors only */
    CLI_WARN,  /* notes and the library's warnings, too */
    CLI_INFO,  /* details and the library's information, too */
    CLI_DEBUG, /* everything */
    CLI_LEVELS
} cli_level;

/* Settings that every command has. */
typedef struct cli_common {
    cli_list arguments;
    const char *device, *machine, *wisdom;
    int64_t threads;
    int accuracy; /* 1 + index: the value of rynd_accuracy; 0 default */
    cli_dims dims;
    cli_settings settings;
    int64_t batch; /* 0: not given */
    bool frozen, json, quiet, verbose, wide, help;
    /* what is said on standard error, by --quiet, --verbose or RYND_LOG: notes.h */
    cli_level level;
} cli_common;

/* Groups of options that many commands have. A command has a group only if it uses all of it. */
typedef enum cli_use {
    CLI_USE_ACCURACY = 1 << 0, /* --accuracy */
    CLI_USE_DIMS = 1 << 1,     /* --dim, --batch */
    CLI_USE_KNOBS = 1 << 2,    /* --set */
    CLI_USE_DEVICE = 1 << 3,   /* --device, --machine */
    CLI_USE_WISDOM = 1 << 4,   /* --wisdom, --frozen */
    CLI_USE_THREADS = 1 << 5,  /* --threads */
    CLI_USE_TABLES = 1 << 6,   /* --wide */
    CLI_USE_ALL = (1 << 7) - 1,
} cli_use;

typedef struct cli_command {
    const char *name;
    const char *arguments; /* for --help: "MODEL" */
    size_t least, most;    /* how many arguments */
    const char *help;      /* one line */
    const char *text;      /* more of --help, a paragraph a line; NULL: none */
    const char *examples;  /* for --help, one a line */
    const cli_option *options;
    unsigned uses; /* cli_use flags */
    size_t settings_size;
    const void *defaults; /* what the settings start as; NULL: zeros */
    bool (*run)(void *settings, cli_failure *failure);
} cli_command;

/* Row i of a command's options and headings: its own rows, then the common rows in use. After the
 * last row: NULL. */
const cli_option *cli_option_at(const cli_command *command, size_t i);

/* Reads the arguments after the command's name into settings. */
bool cli_parse(const cli_command *command, int argc, char **argv, void *settings,
               cli_failure *failure);
void cli_settings_free(const cli_command *command, void *settings);

/* "12", "-0.5", "1/255": false when it is anything else, or not finite. */
bool cli_parse_number(const char *text, size_t length, double *value);
bool cli_parse_integer(const char *text, size_t length, int64_t *value);

#endif
