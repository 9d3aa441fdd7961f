/* Versions of the libraries that read and write files, as loaded at run time. Called by the version command and the reports. */
#ifndef SS_IO_LIBRARY_VERSIONS_H
#define SS_IO_LIBRARY_VERSIONS_H
#include <stddef.h>

/* Write a text such as "HDF5 1.10.8, libyaml 0.2.5, libpng 1.6.39, zlib 1.2.13" to text [size], truncated if necessary. */
void library_versions(size_t size, char *text);
#endif
