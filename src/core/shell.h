/* Commands of the machine, run through its shell. */
#ifndef SS_CORE_SHELL_H
#define SS_CORE_SHELL_H
#include "core/text.h"

/* Append a word so that a shell reads it back as it is: quoted where it has to be. */
PetscErrorCode shell_append_word(text_buffer *b, const char *word);
/* Run a command: *code is its exit code (-1: it was killed, or could not be run), *output what it says (standard error is part of it only where the
 * command says so), never NULL; memory_free(*output). */
PetscErrorCode shell_run(const char *command, int *code, char **output);
/* The first line of a text ends where the text ends now. */
void shell_first_line(char *text);
#endif
