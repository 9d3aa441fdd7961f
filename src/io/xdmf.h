/* The XDMF file that makes a time series of frames: text that names datasets in the frame files. */
#ifndef SS_IO_XDMF_H
#define SS_IO_XDMF_H
#include "io/catalog.h"

typedef struct xdmf xdmf;
PetscErrorCode xdmf_create(const char *job_name, xdmf **out);
void           xdmf_destroy(xdmf **x);
/* Append a frame, by what is in its file frames/NAME. */
PetscErrorCode xdmf_add(xdmf *x, const catalog *frame);
/* Replace `path` by the series so far. */
PetscErrorCode xdmf_write(const xdmf *x, const char *path);
#endif
