/* The XDMF file that makes a time series of frames: text that names datasets in the frame files. */
#ifndef SS_IO_XDMF_H
#define SS_IO_XDMF_H
#include "io/catalog.h"

typedef struct xdmf xdmf;
PetscErrorCode xdmf_create(const char *job_name, xdmf **out);
void           xdmf_destroy(xdmf **x);
/* Append a frame, by what is in its file frames/NAME. */
PetscErrorCode xdmf_add(xdmf *x, const catalog *frame);
/* A series as xdmf_write left it, to be taken up frame by frame without opening the files it names. *out = NULL if there is none at
 * `path`, or not one of ours by that job name. */
PetscErrorCode xdmf_read(const char *path, const char *job_name, xdmf **out);
/* Append the frame in file frames/`name` as it stands in `old`. *is_there = false if it does not. Quick when called in the order of
 * the series. */
PetscErrorCode xdmf_copy(xdmf *x, xdmf *old, const char *name, bool *is_there);
/* Replace `path` by the series so far. */
PetscErrorCode xdmf_write(const xdmf *x, const char *path);
#endif
