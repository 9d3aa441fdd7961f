/* XDMF file of a time series of frames: XML text that refers to datasets in the frame files. Used by frames.c. */
#ifndef SS_IO_XDMF_H
#define SS_IO_XDMF_H
#include "io/catalog.h"

typedef struct xdmf xdmf;
PetscErrorCode      xdmf_create(const char *job_name, xdmf **out);
void                xdmf_destroy(xdmf **x);
/* Append a frame with the contents of its file frames/NAME. A frame without visible groups is omitted. */
PetscErrorCode xdmf_add(xdmf *x, const catalog *frame);
/* Read a series written by xdmf_write, so that its entries can be copied (xdmf_copy) without opening the frame files. *out = NULL if there is
 * no file at `path`, or if it was not written by this program for that job name. */
PetscErrorCode xdmf_read(const char *path, const char *job_name, xdmf **out);
/* Append the entry of file frames/`name` from `old`. *is_there = false if `old` has none. Fast if called in the order of the series. */
PetscErrorCode xdmf_copy(xdmf *x, xdmf *old, const char *name, bool *is_there);
/* Replace the file `path` by the current series. */
PetscErrorCode xdmf_write(const xdmf *x, const char *path);
#endif
