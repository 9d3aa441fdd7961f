/* The quality block of a run: numbers that show whether its results can be trusted, with their bounds.
 *
 * result.yaml, summary.txt, the report page, the final output of `run` and docs/reference/files.md are derived from RUN_QUALITY_TABLE. An entry is
 * bad if it exceeds its bound (run_quality_evaluate). A run with a bad entry has the status `finished, see quality`. The values come from
 * quality_monitor.h; readers are run.c, run_result.c and the report. */
#ifndef SS_APP_RUN_RUN_QUALITY_H
#define SS_APP_RUN_RUN_QUALITY_H
#include "core/key_table.h"
#include "core/text.h"

typedef const char *quality_text; /* "": nothing to report */
typedef key_list    quality_list; /* of const char * */

/* Columns: member, type (int64_t, double: NaN if unknown, quality_text, quality_list), unit, help. */
/* clang-format off */
#define RUN_QUALITY_TABLE(X)                                                                                                       \
  X(steps, int64_t, "1", "completed time steps")                                                                                   \
  X(steps_above_tolerance, int64_t, "1", "steps accepted although the residual or a contact solver exceeds its tolerance; bad if > 0") \
  X(largest_residual, double, "1", "largest residual of an accepted step, in the unit of solver.newton.tolerance (monolith: solver.monolith.tolerance)") \
  X(largest_residual_body, quality_text, "", "body with the largest part of it")                                                   \
  X(deepest_overlap, double, "m", "largest overlap depth of the shapes of two bodies in any step")                                                      \
  X(deepest_overlap_bodies, quality_text, "", "the two bodies")                                                                    \
  X(overlap_ratio, double, "1", "largest ratio of an overlap to the size of the smaller body: the smallest extent of a rigid body, the diameter of a rod, "        \
                                "the spacing of other bodies; bad if > 0.1")                                                        \
  X(overlap_ratio_bodies, quality_text, "", "the two bodies")                                                                      \
  X(energy_increase, double, "J", "largest increase of energy after an earlier minimum, without external work: kinetic, elastic, potential and contact energy " \
                                  "plus energy dissipated by friction")                                                            \
  X(energy_increase_ratio, double, "1", "energy_increase over the energy that the motion has exchanged; bad if > 0.001")            \
  X(energy_not_checked, quality_text, "", "the external work that prevents a check of the energy; then both are absent")           \
  X(fallen_bodies, int64_t, "1", "rigid bodies that are below everything that could stop them at the end of the run")                 \
  X(relaxation_steps, double, "1", "time.start: at_rest: steps of the search for the initial equilibrium; absent otherwise")        \
  X(remaining_velocity, double, "m/s", "velocity, root mean square of the body with the largest residual acceleration, after the last of these steps before it was set to 0")  \
  X(step_halvings, int64_t, "1", "failed attempts, each repeated with half the step length")                                       \
  X(warnings, int64_t, "1", "different warnings; bad if > 0")                                                                      \
  X(warning_texts, quality_list, "", "the warnings")                                                                               \
  X(bad, quality_list, "", "one sentence for each bad entry; absent if there is none")
/* clang-format on */

typedef struct {
#define X(member, type, unit, help) type member;
  RUN_QUALITY_TABLE(X)
#undef X
} run_quality;
extern const key_table run_quality_table;

enum { RUN_QUALITY_MAX_BAD = 4, RUN_QUALITY_SENTENCE = 300 };
/* Storage of the list run_quality.bad. */
typedef struct {
  char     text[RUN_QUALITY_MAX_BAD][RUN_QUALITY_SENTENCE];
  key_item item[RUN_QUALITY_MAX_BAD];
} run_quality_sentences;
/* Set q->bad from the other members; `to` must live as long as *q. */
void run_quality_evaluate(run_quality *q, run_quality_sentences *to);
/* Append one line per entry that has a value: "  steps above tolerance      12". `first`: text before each line. */
void run_quality_print(const run_quality *q, const char *first, text_buffer *out);
/* The same as one line, "steps 120, steps above tolerance 0, ...", without lists. */
void run_quality_line(const run_quality *q, text_buffer *out);
/* Rows of an HTML table, one per entry that has a value. */
void run_quality_html(const run_quality *q, text_buffer *page);
#endif
