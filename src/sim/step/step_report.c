/* Generic functions over the table of step quantities. */
#include "sim/step/step_report.h"
#include <string.h>

const char *const report_rule_names[] = {"sum", "maximum", "last", "sum", "at largest penetration"};

enum { IS_INDEX_int64_t = 0, IS_INDEX_double = 0, IS_INDEX_report_index = 1 };

const report_quantity report_quantities[REPORT_N_QUANTITIES] = {
#define X(name, type, unit, rule, group, help) {#name, unit, help, REPORT_##rule, REPORT_##group, IS_INDEX_##type},
    CONTACT_SUMMARY_TABLE(X) STEP_REPORT_TABLE(X)
#undef X
};

#define MERGE_SUM(a, b) ((a) + (b))
#define MERGE_MAX(a, b) ((b) > (a) ? (b) : (a))
#define MERGE_LAST(a, b) (b)
#define MERGE_FALLBACK(a, b) MERGE_SUM(a, b)
#define MERGE_DEEPEST(a, b) (substep->contact.penetration >= sum->contact.penetration ? (b) : (a))

void step_report_merge(step_report *sum, const step_report *substep)
{
  if (!sum->residual_body || substep->residual > sum->residual) sum->residual_body = substep->residual_body;
#define X(name, type, unit, rule, group, help) sum->name = MERGE_##rule(sum->name, substep->name);
  STEP_REPORT_TABLE(X) /* before the penetration of `sum` changes */
#undef X
#define X(name, type, unit, rule, group, help) sum->contact.name = MERGE_##rule(sum->contact.name, substep->contact.name);
  CONTACT_SUMMARY_TABLE(X)
#undef X
  relax_statistics_merge(&sum->contact.relaxation_chains, &substep->contact.relaxation_chains);
}

void step_report_values(const step_report *r, double *values)
{
#define X(name, type, unit, rule, group, help) values[REPORT_ROW_##name] = (double)r->contact.name;
  CONTACT_SUMMARY_TABLE(X)
#undef X
#define X(name, type, unit, rule, group, help) values[REPORT_ROW_##name] = (double)r->name;
  STEP_REPORT_TABLE(X)
#undef X
}
