/* Versions of libraries, see library_versions.h. */
#include "io/library_versions.h"
#include <hdf5.h>
#include <png.h>
#include <stdio.h>
#include <yaml.h>
#include <zlib.h>

void library_versions(size_t size, char *text)
{
  unsigned h5[3]   = {0};
  int      yaml[3] = {0};

  (void)H5get_libversion(&h5[0], &h5[1], &h5[2]);
  yaml_get_version(&yaml[0], &yaml[1], &yaml[2]);
  (void)snprintf(text, size, "HDF5 %u.%u.%u, libyaml %d.%d.%d, libpng %s, zlib %s", h5[0], h5[1], h5[2], yaml[0], yaml[1], yaml[2],
                 png_get_libpng_ver(NULL), zlibVersion());
}
