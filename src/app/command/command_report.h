/* Pages that other commands write at their end. */
#ifndef SS_APP_COMMAND_COMMAND_REPORT_H
#define SS_APP_COMMAND_COMMAND_REPORT_H
#include "core/error.h"

/* DIR/report.html by `page`, of a run or of a sweep. What went well does not fail for want of a page: without gnuplot, or where writing
 * fails, the log says so and the answer is false. `again` is the command that writes it later. */
bool command_write_report(const char *dir, const char *again, PetscErrorCode (*page)(const char *dir));
#endif
