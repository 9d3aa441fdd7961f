-- Lmod: `module use PREFIX/share/modulefiles; module load stickslip`
help([[stickslip @VERSION@: batch solver for frictional contact. `man stickslip`, `stickslip --help`;
jobs to start from are in @PREFIX@/share/stickslip/jobs.]])
whatis("Name: stickslip")
whatis("Version: @VERSION@")
whatis("Description: batch solver for frictional contact (sand, solids, cloth, rigid bodies)")
conflict("stickslip")
local prefix = "@PREFIX@"
setenv("STICKSLIP_ROOT", prefix)
prepend_path("PATH", pathJoin(prefix, "bin"))
prepend_path("MANPATH", pathJoin(prefix, "share/man"))
prepend_path("LD_LIBRARY_PATH", pathJoin(prefix, "lib"))
prepend_path("PKG_CONFIG_PATH", pathJoin(prefix, "lib/pkgconfig"))
prepend_path("CPATH", pathJoin(prefix, "include/stickslip"))
