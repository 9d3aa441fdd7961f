#%Module1.0
# Environment Modules: `module use PREFIX/share/modulefiles; module load stickslip`. Lmod takes the .lua file beside it.
proc ModulesHelp {} {
  puts stderr "stickslip @VERSION@: batch solver for frictional contact. `man stickslip`, `stickslip --help`;"
  puts stderr {jobs to start from are in @PREFIX@/share/stickslip/jobs.}
}
module-whatis "stickslip @VERSION@: batch solver for frictional contact (sand, solids, cloth, rigid bodies)"
conflict stickslip
set prefix {@PREFIX@}
setenv STICKSLIP_ROOT $prefix
prepend-path PATH $prefix/bin
prepend-path MANPATH $prefix/share/man
prepend-path LD_LIBRARY_PATH $prefix/lib
prepend-path PKG_CONFIG_PATH $prefix/lib/pkgconfig
prepend-path CPATH $prefix/include/stickslip
