/* Versions of the libraries that read and write files, as loaded at run time. For the version command and reports. */
#ifndef SS_IO_LIBRARY_VERSIONS_H
#define SS_IO_LIBRARY_VERSIONS_H
#include <stddef.h>

/* "HDF5 1.10.8, libyaml 0.2.5, libpng 1.6.39, zlib 1.2.13", truncated at `size` bytes. */
void library_versions(size_t size, char *text);
#endif
