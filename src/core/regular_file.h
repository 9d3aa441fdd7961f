/* Opening of regular files. A pipe or a device in place of a file would block the program or have side effects, and a symbolic link in place of an
 * output file would redirect the output to another file. Called by all modules that read or write files. */
#ifndef SS_CORE_REGULAR_FILE_H
#define SS_CORE_REGULAR_FILE_H
#include <stdio.h>

/* Open a regular file without waiting. `flags`: those of open(2); O_CLOEXEC is added. For outputs add O_NOFOLLOW: a symbolic link as the last component of
 * the path is rejected. Returns the descriptor, or -1 with errno and the reason in *why ("it is a pipe, not a regular file", or the text of errno; valid until the next call). */
int regular_file_open(const char *path, int flags, const char **why);
/* The same as a stream. `mode`: that of fopen(3), "r" for an input; "w" and "a" do not follow symbolic links. NULL on failure. */
FILE *regular_file_stream(const char *path, const char *mode, const char **why);
/* Create an empty file for output and open it for reading and writing. An earlier file or link with this name is removed first. */
int regular_file_create(const char *path, const char **why);
#endif
