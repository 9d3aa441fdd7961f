/* List of warnings about implausible input or results that are not errors: a body without support, a step too long for a contact.
 *
 * A scene owns one list (scene.warnings). Checks of the scene, formulations and the run loop add entries; `check` and `run` print them, and the
 * quality block of a run counts them. Every warning has a code, a short name such as "unsupported-body", by which users disable it. */
#ifndef SS_CORE_WARNING_LIST_H
#define SS_CORE_WARNING_LIST_H
#include "core/error.h"

typedef struct warning_list warning_list;
PetscErrorCode              warning_list_create(warning_list **out);
void                        warning_list_destroy(warning_list **w); /* accepts NULL */
/* Ignore later warnings with this code (copied). */
PetscErrorCode warning_list_disable(warning_list *w, const char *code);
/* Add a warning about `subject`, for example the path "bodies.ball" or the pair "ball, floor". The same code and subject are added once; later calls are
 * only counted, so that a warning repeated in each step has one entry. Call from serial code only. Out of memory: the warning is printed instead. */
void warning_list_add(warning_list *w, const char *code, const char *subject, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
int         warning_list_count(const warning_list *w);           /* number of entries */
const char *warning_list_code(const warning_list *w, int i);     /* of entry i, 0 <= i < warning_list_count; owned by the list */
const char *warning_list_text(const warning_list *w, int i);     /* "SUBJECT: MESSAGE [CODE]"; owned by the list */
const char *warning_list_subject(const warning_list *w, int i);  /* of entry i; owned by the list */
int64_t     warning_list_repeated(const warning_list *w, int i); /* number of calls with the code and subject of entry i */
/* Print entries from number `first` on with log_warn, and return warning_list_count: the next value of `first`. */
int warning_list_log(const warning_list *w, int first);
#endif
