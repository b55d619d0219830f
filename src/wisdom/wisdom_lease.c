/* SPDX-License-Identifier: Apache-2.0 */
/* Leases: which process measures which key. A row names the holder by host, process number and
 * start time, because process numbers recur. */
#include "base/clock.h"
#include "base/number.h"
#include "wisdom/wisdom_inside.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* No lease is longer: what a file says beyond is not believed. */
enum { MAX_SECONDS = 24 * 3600 };

enum { MAX_HOST = 160 };

typedef struct owner {
    char host[MAX_HOST];
    int64_t process, born;
} owner;

/* In clock ticks since the system started (proc(5), the 22nd field, counted behind the name, which
 * may have blanks and brackets); 0: there is no such process, or no /proc. */
static int64_t born(int64_t process)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%lld/stat", (long long)process);
    FILE *file = fopen(path, "re");
    const size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file) {
        fclose(file);
    }
    text[length] = 0;
    const char *at = strrchr(text, ')');
    for (int field = 2; at && field < 22; field++) {
        at = strchr(at + 1, ' ');
    }
    int64_t ticks = 0;
    return at && ry_integer_parse(at + 1, strcspn(at + 1, " \n"), &ticks) ? ticks : 0;
}

/* Processes are told apart by their numbers within one start of one system, and one of its
 * namespaces: a container's are others. */
static void find_owner(owner *self)
{
    char boot[64] = "", space[48] = "", name[40] = "";
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (file) {
        boot[fread(boot, 1, sizeof boot - 1, file)] = 0;
        boot[strcspn(boot, "\n")] = 0;
        fclose(file);
    }
    const ssize_t length = readlink("/proc/self/ns/pid", space, sizeof space - 1);
    space[length > 0 ? length : 0] = 0;
    gethostname(name, sizeof name - 1);
    snprintf(self->host, sizeof self->host, "%s %s %s", name, boot, space);
    self->process = getpid();
    self->born = born(self->process);
}

static bool is_gone(const owner *other, const owner *self)
{
    if (strcmp(other->host, self->host) != 0 || other->process < 1 || other->process > INT32_MAX) {
        return false;
    }
    return (kill((pid_t)other->process, 0) != 0 && errno == ESRCH) ||
           born(other->process) != other->born;
}

/* Has somebody else the lease of the key that is bound? */
static int find_lease(ry_wisdom *w, const ry_wisdom_key *key, const owner *self, bool *taken)
{
    sqlite3_stmt *s = w->connection.statement[RY_WISDOM_LEASE];
    ry_wisdom_bind(s, key, NULL);
    *taken = false;
    if (sqlite3_step(s) == SQLITE_ROW) {
        owner other = {"", sqlite3_column_int64(s, 1), sqlite3_column_int64(s, 2)};
        const char *host = (const char *)sqlite3_column_text(s, 0);
        const int64_t now = ry_clock_calendar_seconds(), expires = sqlite3_column_int64(s, 3);
        snprintf(other.host, sizeof other.host, "%s", host ? host : "");
        *taken = expires > now && expires <= now + MAX_SECONDS && !is_gone(&other, self);
    }
    return sqlite3_reset(s);
}

/* The lease is ours where the others' is over. */
static int lend(ry_wisdom *w, const ry_wisdom_key *key, const owner *self, int64_t seconds,
                bool *taken)
{
    sqlite3_stmt *s = w->connection.statement[RY_WISDOM_LEND];
    int result = ry_wisdom_run(w, RY_WISDOM_BEGIN);
    if (result != SQLITE_OK) {
        return result;
    }
    result = find_lease(w, key, self, taken);
    if (result == SQLITE_OK && !*taken) {
        ry_wisdom_bind(s, key, NULL);
        sqlite3_bind_text(s, 5, self->host, -1, SQLITE_STATIC);
        sqlite3_bind_int64(s, 6, self->process);
        sqlite3_bind_int64(s, 7, self->born);
        sqlite3_bind_int64(s, 8, ry_clock_calendar_seconds() + seconds);
        result = ry_wisdom_run(w, RY_WISDOM_LEND);
    }
    result = result != SQLITE_OK ? result : ry_wisdom_run(w, RY_WISDOM_COMMIT);
    if (result != SQLITE_OK && !sqlite3_get_autocommit(w->connection.db)) {
        ry_wisdom_run(w, RY_WISDOM_ROLLBACK);
    }
    return result;
}

bool ry_wisdom_claim(ry_wisdom *wisdom, const ry_wisdom_key *key, int64_t seconds)
{
    if (!wisdom) {
        return true;
    }
    if (wisdom->frozen) {
        return false;
    }
    owner self;
    find_owner(&self);
    bool taken = false;
    ry_wisdom_lock(wisdom);
    for (int tries = 0; tries < RY_WISDOM_TRIES && ry_wisdom_is_open(wisdom, true); tries++) {
        const int result =
            lend(wisdom, key, &self, seconds < MAX_SECONDS ? seconds : MAX_SECONDS, &taken);
        if (result == SQLITE_OK) {
            break;
        }
        taken = false;
        ry_wisdom_give_up(wisdom, result);
    }
    ry_wisdom_unlock(wisdom);
    return !taken;
}

void ry_wisdom_disclaim(ry_wisdom *wisdom, const ry_wisdom_key *key)
{
    if (!wisdom || wisdom->frozen) {
        return;
    }
    owner self;
    find_owner(&self);
    ry_wisdom_lock(wisdom);
    if (ry_wisdom_is_open(wisdom, false)) {
        sqlite3_stmt *s = wisdom->connection.statement[RY_WISDOM_RETURN];
        ry_wisdom_bind(s, key, NULL);
        sqlite3_bind_text(s, 5, self.host, -1, SQLITE_STATIC);
        sqlite3_bind_int64(s, 6, self.process);
        sqlite3_bind_int64(s, 7, self.born);
        const int result = ry_wisdom_run(wisdom, RY_WISDOM_RETURN);
        if (result != SQLITE_OK) {
            ry_wisdom_give_up(wisdom, result);
        }
    }
    ry_wisdom_unlock(wisdom);
}
