/* SPDX-License-Identifier: Apache-2.0 */
/* Writes records of TFRecord files, each an Event of TensorFlow's event.proto: a record is its
 * length (8 bytes), a checksum of the length, the bytes, a checksum of the bytes. */
#include "tensorboard.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MOST_BYTES = 1024, MOST_TAG = 64 };

/* Fields of Event, Summary, Summary.Value and SessionLog: number and wire type. */
enum {
    EVENT_TIME = 1 << 3 | 1,
    EVENT_STEP = 2 << 3,
    EVENT_VERSION = 3 << 3 | 2,
    EVENT_SUMMARY = 5 << 3 | 2,
    EVENT_SESSION = 7 << 3 | 2,
    SUMMARY_VALUE = 1 << 3 | 2,
    VALUE_TAG = 1 << 3 | 2,
    VALUE_NUMBER = 2 << 3 | 5,
    SESSION_STATUS = 1 << 3,
    SESSION_START = 1
};

typedef struct message {
    size_t size;
    unsigned char bytes[MOST_BYTES];
} message;

static void put(message *m, const void *bytes, size_t size)
{
    if (size <= MOST_BYTES - m->size) {
        memcpy(m->bytes + m->size, bytes, size);
        m->size += size;
    }
}

/* The low bytes of a number, the lowest first. */
static void put_fixed(message *m, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) {
        const unsigned char byte = (unsigned char)(value >> 8 * i);
        put(m, &byte, 1);
    }
}

static void put_varint(message *m, uint64_t value)
{
    for (; value >= 0x80; value >>= 7) {
        put_fixed(m, value | 0x80, 1);
    }
    put_fixed(m, value, 1);
}

static void put_bytes(message *m, int field, const void *bytes, size_t size)
{
    put_varint(m, (uint64_t)field);
    put_varint(m, size);
    put(m, bytes, size);
}

static void put_double(message *m, int field, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_varint(m, (uint64_t)field);
    put_fixed(m, bits, 8);
}

static void put_float(message *m, int field, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_varint(m, (uint64_t)field);
    put_fixed(m, bits, 4);
}

/* CRC-32C (Castagnoli), masked as TFRecord files have it. */
static uint32_t checksum(const unsigned char *bytes, size_t size)
{
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < size; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0x82f63b78) : 0);
        }
    }
    crc = ~crc;
    return (crc >> 15 | crc << 17) + UINT32_C(0xa282ead8);
}

static bool write_record(const cli_tensorboard *board, const message *event, cli_failure *failure)
{
    message head = {0}, tail = {0};
    put_fixed(&head, event->size, 8);
    put_fixed(&head, checksum(head.bytes, head.size), 4);
    put_fixed(&tail, checksum(event->bytes, event->size), 4);
    const bool done = fwrite(head.bytes, head.size, 1, board->file) == 1 &&
                      fwrite(event->bytes, event->size, 1, board->file) == 1 &&
                      fwrite(tail.bytes, tail.size, 1, board->file) == 1 &&
                      fflush(board->file) == 0;
    return done || cli_fail(failure, "cannot write '%s': %s", board->path, strerror(errno));
}

static message event_at(uint64_t step)
{
    message event = {0};
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    put_double(&event, EVENT_TIME, (double)now.tv_sec + 1e-9 * (double)now.tv_nsec);
    put_varint(&event, EVENT_STEP);
    put_varint(&event, step);
    return event;
}

static bool begin_file(const cli_tensorboard *board, uint64_t step, cli_failure *failure)
{
    static const char version[] = "brain.Event:2";
    message first = event_at(0), again = event_at(step + 1), session = {0};
    put_bytes(&first, EVENT_VERSION, version, sizeof version - 1);
    put_varint(&session, SESSION_STATUS);
    put_varint(&session, SESSION_START);
    put_bytes(&again, EVENT_SESSION, session.bytes, session.size);
    return write_record(board, &first, failure) && write_record(board, &again, failure);
}

static bool name_file(cli_tensorboard *board, const char *folder, cli_failure *failure)
{
    char host[65] = "";
    const size_t room = strlen(folder) + sizeof host + 80;
    if (gethostname(host, sizeof host - 1) != 0) {
        *host = 0;
    }
    board->path = malloc(room);
    if (!board->path) {
        return cli_fail_memory(failure);
    }
    snprintf(board->path, room, "%s/events.out.tfevents.%010lld.%s.%ld", folder,
             (long long)time(NULL), host, (long)getpid());
    return true;
}

bool cli_tensorboard_open(cli_tensorboard *board, const char *folder, uint64_t step,
                          cli_failure *failure)
{
    *board = (cli_tensorboard){0};
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        return cli_fail(failure, "the folder '%s' cannot be made: %s", folder, strerror(errno));
    }
    if (!name_file(board, folder, failure)) {
        return false;
    }
    board->file = fopen(board->path, "wb");
    return board->file ? begin_file(board, step, failure)
                       : cli_fail(failure, "cannot write '%s': %s", board->path, strerror(errno));
}

bool cli_tensorboard_add(cli_tensorboard *board, uint64_t step, const cli_scalar *scalars,
                         size_t count, cli_failure *failure)
{
    message event = event_at(step), summary = {0};
    if (!board->file) {
        return true;
    }
    for (size_t i = 0; i < count && i < CLI_MOST_SCALARS; i++) {
        message value = {0};
        if (isfinite(scalars[i].value)) {
            put_bytes(&value, VALUE_TAG, scalars[i].tag, strnlen(scalars[i].tag, MOST_TAG));
            put_float(&value, VALUE_NUMBER, (float)scalars[i].value);
            put_bytes(&summary, SUMMARY_VALUE, value.bytes, value.size);
        }
    }
    put_bytes(&event, EVENT_SUMMARY, summary.bytes, summary.size);
    return write_record(board, &event, failure);
}

void cli_tensorboard_close(cli_tensorboard *board)
{
    if (board->file) {
        fclose(board->file);
    }
    free(board->path);
    *board = (cli_tensorboard){0};
}
