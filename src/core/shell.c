#include "core/shell.h"
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include "core/memory.h"

PetscErrorCode shell_append_word(text_buffer *b, const char *word)
{
  PetscFunctionBegin;
  const char *plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+.,:/=@%";
  if (*word && strspn(word, plain) == strlen(word)) {
    PetscCall(text_append(b, word, (int64_t)strlen(word)));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(text_append(b, "'", 1));
  for (const char *c = word; *c; ++c) PetscCall(*c == '\'' ? text_append(b, "'\\''", 4) : text_append(b, c, 1));
  PetscCall(text_append(b, "'", 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode shell_run(const char *command, int *code, char **output)
{
  PetscFunctionBegin;
  char           part[4096];
  text_buffer    b     = {0};
  PetscErrorCode error = text_append(&b, "", 0);
  FILE          *in    = popen(command, "re");
  *code = -1;
  while (in && !error && fgets(part, sizeof part, in)) error = text_append(&b, part, (int64_t)strlen(part));
  const int status = in ? pclose(in) : -1;
  if (status >= 0 && WIFEXITED(status)) *code = WEXITSTATUS(status);
  PetscCall(error);
  *output = b.data;
  PetscFunctionReturn(PETSC_SUCCESS);
}

void shell_first_line(char *text) { text[strcspn(text, "\n")] = '\0'; }
