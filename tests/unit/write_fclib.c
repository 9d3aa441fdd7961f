/* FCLIB files for tests of the command: write_fclib KIND FILE. */
#include "fclib_scenes.h"

int main(int argc, char **argv)
{
  fclib_problem p;
  if (argc != 3 || PetscInitializeNoArguments() || error_install()) return 2;
  const char  *kind = argv[1], *path = argv[2];
  const bool   is_local = strstr(kind, "local") != NULL;
  const double angle = strstr(kind, "slides") ? 0.6 : 0.2, mu = strstr(kind, "smooth") ? 0 : 0.5;
  if (strstr(kind, "points")) scene_points(&p, angle, mu);
  else scene_slope(&p, strstr(kind, "plane") != NULL, angle, mu);
  if (strstr(kind,
             "guided")) { /* the first body moves along the normal alone: W_aa has rank 1, and slides past at what its support moves at */
    for (int k = 1; k < 3; ++k) p.H.value[k] = 1e-300, p.w[k] = k == 1 ? 0.3 : 0;
    for (int k = 0; k < 3; ++k) p.f[k] = k == 2 ? -scene_weight : 0;
  }
  if (is_local) scene_local(&p, strstr(kind, "unsymmetric") ? 1e-3 : 0);
  if (strstr(kind, "thrown")) p.f[2] = 3; /* up: take-off */
  if (strstr(kind, "indefinite")) p.M.value[2] = -2;
  if (strstr(kind, "massless")) p.M.value[2] = 0;
  if (fclib_write(path, &p, NULL, 0, NULL)) return 1;
  const char *top = is_local ? "fclib_local" : "fclib_global";
  char        object[64];
  snprintf(object, sizeof object, "%s/vectors/mu", top);
  if (strstr(kind, "negative")) spoil_entry(path, object, 1, -0.5);
  if (strstr(kind, "nan")) spoil_entry(path, object, 1, NAN);
  if (strstr(kind, "sizes")) spoil_real(path, object, 2, p.mu);
  if (strstr(kind, "nothing")) { /* contact 3 on no degree of freedom */
    const int64_t keep = p.H.start[9];
    for (int j = 10; j <= 12; ++j) p.H.start[j] = keep;
    if (fclib_write(path, &p, NULL, 0, NULL)) return 1;
  }
  if (strstr(kind, "rolling")) {
    const hid_t file = spoil_open(path);
    if (H5Lmove(file, top, file, "fclib_global_rolling", H5P_DEFAULT, H5P_DEFAULT) < 0 || H5Fclose(file) < 0) return 1;
  }
  fclib_clear(&p);
  return PetscFinalize() ? 1 : 0;
}
