/* SPDX-License-Identifier: Apache-2.0 */
/* Prints random problems of assignment, a JSON object a line, and what was found for each:
 * test_place_solver.py gives them to an integer program's solver.
 *
 *   place_instances COUNT SEED DEVICES CHAINS PARTS */
#include "place_instance.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* What is infinite is null. */
static void print_numbers(const char *name, const double *numbers, size_t count)
{
    printf("\"%s\":[", name);
    for (size_t i = 0; i < count; i++) {
        printf(numbers[i] < INFINITY ? "%s%.17g" : "%snull", i ? "," : "", numbers[i]);
    }
    printf("],");
}

static void print_problem(const ry_assign_problem *p)
{
    static const char *const names[] = {"latency", "throughput", "energy", "memory"};
    printf("{\"objective\":\"%s\",\"devices\":%zu,", names[p->objective], p->devices);
    print_numbers("bandwidth", p->bandwidth, p->devices * p->devices);
    print_numbers("latency", p->latency, p->devices * p->devices);
    print_numbers("memory", p->memory, p->devices);
    print_numbers("watts", p->watts, p->devices);
    printf("\"chains\":[");
    for (size_t c = 0; c < p->chains; c++) {
        const ry_assign_chain *chain = &p->chain[c];
        const size_t entries = chain->parts * chain->parts * p->devices;
        printf("%s{", c ? "," : "");
        print_numbers("seconds", chain->seconds, entries);
        print_numbers("bytes", chain->bytes, entries);
        print_numbers("crossing", chain->crossing, chain->parts + 1);
        printf("\"parts\":%zu}", chain->parts);
    }
    printf("],");
}

static bool solve(const ry_assign_problem *problem)
{
    ry_arena arena;
    ry_assignment found;
    ry_arena_init(&arena, &ry_system_allocator);
    const rynd_status status = ry_assign(problem, &arena, &found, NULL);
    const bool good = status == RYND_OK || status == RYND_ERROR_NOT_FOUND;
    print_problem(problem);
    if (status == RYND_OK) {
        printf("\"value\":%.17g,\"bound\":%.17g}\n", found.value, found.bound);
    } else {
        printf("\"value\":null,\"bound\":null}\n");
    }
    ry_arena_free(&arena);
    return good;
}

int main(int argc, char **argv)
{
    if (argc != 6) {
        fprintf(stderr, "usage: place_instances COUNT SEED DEVICES CHAINS PARTS\n");
        return 2;
    }
    const int count = atoi(argv[1]);
    const size_t devices = (size_t)atoi(argv[3]), chains = (size_t)atoi(argv[4]),
                 parts = (size_t)atoi(argv[5]);
    if (devices < 1 || devices > PLACE_DEVICES || chains < 1 || chains > PLACE_CHAINS ||
        parts < 1 || parts > RY_ASSIGN_PARTS) {
        fprintf(stderr, "place_instances: too many, or none\n");
        return 2;
    }
    srand((unsigned)atoi(argv[2]));
    bool good = true;
    for (int i = 0; good && i < count; i++) {
        place_instance in;
        place_instance_make(&in, (ry_assign_objective)(i % RY_ASSIGN_OBJECTIVES), devices, chains,
                            parts);
        good = solve(&in.problem);
        place_instance_release(&in);
    }
    return good ? 0 : 1;
}
