/* SPDX-License-Identifier: Apache-2.0 */
/* What became of many models. */
#include "case_totals.h"

#include <assert.h>
#include <inttypes.h>

const char *case_outcome_name(case_outcome outcome)
{
    static const char *const names[] = {"refused", "beyond the limits", "failed to run", "ran",
                                        "WRONG"};
    return names[outcome];
}

void case_totals_count(case_totals *totals, const grammar *g, const case_report *report)
{
    assert(ry_operator_count <= CASE_ROWS);
    totals->models++;
    totals->outcomes[report->outcome]++;
    totals->compared += report->compared;
    for (int i = 0; i < g->node_count && report->outcome == CASE_RAN; i++) {
        totals->rows[g->nodes[i].row - ry_operators]++;
        totals->nodes++;
    }
}

void case_totals_print(const case_totals *totals, FILE *file)
{
    size_t rarest = 0, reached = 0;
    for (size_t i = 0; i < ry_operator_count; i++) {
        rarest = totals->rows[i] < totals->rows[rarest] ? i : rarest;
        reached += totals->rows[i] > 0;
    }
    fprintf(file, "%" PRId64 " models:", totals->models);
    for (int i = 0; i <= CASE_WRONG; i++) {
        fprintf(file, " %" PRId64 " %s%s", totals->outcomes[i], case_outcome_name((case_outcome)i),
                i < CASE_WRONG ? "," : "");
    }
    fprintf(file,
            "; %" PRId64
            " nodes ran, of %zu of %zu rows of operators (rarest: %s of opset %d, %" PRId64
            " times); ",
            totals->nodes, reached, ry_operator_count, ry_operators[rarest].name,
            ry_operators[rarest].first, totals->rows[rarest]);
    fprintf(file, "%" PRId64 " outputs were compared\n", totals->compared);
}
