/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers of signals: they call what is async-signal-safe only (POSIX.1-2008, 2.4.3). */
#include "ending.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

static const int numbers[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU};
#define NUMBERS (sizeof numbers / sizeof *numbers)

/* Written while the signals are held only, so a handler never sees it half done. */
static const char *volatile unfinished;

/* waits: the next signal is noted only; noted: its number. */
static volatile sig_atomic_t waits, noted;

static void catch_signals(void);

/* SA_RESETHAND has set the default action again, and SA_NODEFER lets the signal through: raising
 * it ends the process as if nothing had caught it. */
static void on_signal(int number)
{
    if (waits) {
        waits = 0;
        noted = number;
        catch_signals();
        return;
    }
    if (unfinished) {
        unlink(unfinished);
    }
    raise(number);
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal,
                               .sa_flags = (int)(SA_RESETHAND | SA_NODEFER)},
                     old;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < NUMBERS; i++) {
        /* What is ignored stays so: nohup(1) ignores SIGHUP. */
        if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN) {
            sigaction(numbers[i], &action, NULL);
        }
    }
}

void cli_ending_hold(sigset_t *before)
{
    sigset_t all;
    sigemptyset(&all);
    for (size_t i = 0; i < NUMBERS; i++) {
        sigaddset(&all, numbers[i]);
    }
    pthread_sigmask(SIG_BLOCK, &all, before);
}

void cli_ending_release(const sigset_t *before)
{
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

static void catch_once(void)
{
    static bool caught;
    if (!caught) {
        catch_signals();
        caught = true;
    }
}

void cli_ending_removes(const char *file)
{
    unfinished = file;
    catch_once();
}

void cli_ending_waits(void)
{
    waits = 1;
    catch_once();
}

int cli_ending_was_asked(void)
{
    return noted != 0;
}

void cli_ending_give_in(void)
{
    if (noted) {
        fflush(stdout);
        signal(noted, SIG_DFL);
        raise(noted);
    }
}
