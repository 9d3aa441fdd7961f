#!/bin/sh
# No folder reaches upward: core <- optim, discretize <- contact <- sim; io uses core alone.
bad=0
check() { # folder, forbidden include folders
  hits=$(grep -rnE "#include \"($2)/" "src/$1" || true)
  if [ -n "$hits" ]; then echo "src/$1 must not include $2:"; echo "$hits"; bad=1; fi
}
check core 'optim|discretize|contact|io|sim'
check io 'optim|discretize|contact|sim'
check optim 'discretize|contact|io|sim'
check discretize 'optim|contact|io|sim'
check contact 'optim|io|sim'
hits=$(grep -rlE '#include <(hdf5|yaml)\.h>' src | grep -v '^src/io/' || true)
if [ -n "$hits" ]; then echo "hdf5.h and yaml.h belong in src/io:"; echo "$hits"; bad=1; fi
hits=$(grep -rlE '#include <petsc(vec|mat|ksp|pc|snes|tao)\.h>' src/core src/discretize src/io || true)
if [ -n "$hits" ]; then echo "solver objects belong in optim, contact and sim:"; echo "$hits"; bad=1; fi
exit $bad
