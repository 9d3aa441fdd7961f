/* What to cite for a run: the program, and the papers behind what the job used. */
#ifndef SS_APP_REPORT_CITE_H
#define SS_APP_REPORT_CITE_H
#include "core/text.h"
#include "app/job/job.h"

/* A list, as HTML. j NULL: the program alone. */
PetscErrorCode cite_put(const job *j, text_buffer *page);
#endif
