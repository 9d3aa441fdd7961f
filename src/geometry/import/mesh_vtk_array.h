/* Arrays of numbers in VTK's XML files; only files named mesh_*.c include this. */
#ifndef SS_GEOMETRY_IMPORT_MESH_VTK_ARRAY_H
#define SS_GEOMETRY_IMPORT_MESH_VTK_ARRAY_H
#include "core/error.h"

typedef enum { VTK_ASCII, VTK_BASE64, VTK_RAW } vtk_encoding;

typedef struct {
  const char  *name;          /* of the file */
  const char  *text;          /* of the whole file, for places */
  const char  *begin, *end;   /* where the numbers are; raw and appended ones: to the end of the section */
  vtk_encoding encoding;
  bool         is_float;      /* Float32, Float64 rather than Int.., UInt.. */
  bool         is_unsigned;
  int          size;          /* bytes of a number: 1, 2, 4, 8 */
  int          header_size;   /* bytes of the counts before binary data: 4 or 8 */
  bool         is_compressed; /* with zlib, in blocks */
} vtk_array;

/* Fails with "file:line: what "word"", the line that of `at`. */
PetscErrorCode vtk_bad(const char *name, const char *text, const char *at, const char *what, const char *word);
/* All numbers of an array: one of the outputs is NULL, and the caller frees the other. Numbers that are not finite or beyond 1e30 are
 * refused, and whole numbers beyond 2^53. */
PetscErrorCode vtk_array_read(const vtk_array *a, int64_t *n, double **real, int64_t **whole);
#endif
