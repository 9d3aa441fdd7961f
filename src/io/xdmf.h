/* XDMF file of a time series of frames: XML text that refers to datasets in the frame files. Used by frames.c. */
#ifndef SS_IO_XDMF_H
#define SS_IO_XDMF_H
#include "io/catalog.h"

typedef struct xdmf xdmf;
PetscErrorCode      xdmf_create(const char *job_name, xdmf **out);
void                xdmf_destroy(xdmf **x);
/* Append a frame; its entry describes the geometries and fields of the frame file. A frame without groups with a geometry is omitted. */
PetscErrorCode xdmf_add(xdmf *x, const catalog *frame);
/* Read a series written by xdmf_write, so that xdmf_copy can copy its entries without opening the frame files. *out = NULL if the file does not exist,
 * was not written by this program or has another job name. */
PetscErrorCode xdmf_read(const char *path, const char *job_name, xdmf **out);
/* Append the entry of the file frames/`name` from `old`, in the order of the series. *is_there = false if `old` has none after the last copied one. */
PetscErrorCode xdmf_copy(xdmf *x, xdmf *old, const char *name, bool *is_there);
/* Replace the file `path` by the current series. */
PetscErrorCode xdmf_write(const xdmf *x, const char *path);
#endif
