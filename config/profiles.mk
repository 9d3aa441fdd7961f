# Compiler profiles. Wants mpicc, pkg-config and the packages of config/packages.debian.
# COVERAGE=1 with PROFILE=asan: the same run also counts executed lines (config/coverage.sh), as COVERAGE=1 bash .ci/run does; needs a build from scratch.
# Debian has several builds of HDF5 side by side; elsewhere there is one, of MPI.
HDF5     := $(shell pkg-config --exists hdf5-openmpi 2>/dev/null || ! pkg-config --exists hdf5 2>/dev/null && echo hdf5-openmpi || echo hdf5)
PKG      := petsc $(HDF5) yaml-0.1 libpng expat
WARN     := -Wall -Wextra -Werror -Wno-unknown-pragmas -Wshadow -Wstrict-prototypes -Wmissing-prototypes
# Vectors as arguments exist only in functions that are always inlined: how they would be passed does not matter.
WARN     += -Wno-psabi
# --cflags-only-I: petsc's --cflags leaks -D_FORTIFY_SOURCE=2, which breaks -O0 and sanitizers
CPPFLAGS := -Isrc $(shell pkg-config --cflags-only-I $(PKG) 2>/dev/null)
# LAPACK by name: whichever there is, as PETSc takes it.
LIBS      = $(shell pkg-config --libs $(PKG) 2>/dev/null) -lmetis -llapack -lblas -lz -lm
# Parallel regions of one thread need no team, see src/core/team.c.
LIBS     += -Wl,--wrap=GOMP_parallel
# Tests and benches: gold links in a quarter of the time of the default linker.
FAST_LINK := $(if $(shell command -v ld.gold),-fuse-ld=gold)
CC       := $(if $(filter tsan,$(PROFILE)),OMPI_CC=clang mpicc,mpicc)
COMMON   := -std=gnu11 -g -fopenmp -fno-math-errno $(WARN)
# Counters of executed lines. With them, gcc loses track of values that a failed call leaves unset. Not atomic: threads may lose
# counts, but whether a line was executed does not depend on them, and atomic counters make parallel loops many times slower.
COUNTERS := --coverage -fprofile-update=single -Wno-maybe-uninitialized
ifeq ($(PROFILE),release)
CFLAGS   := $(COMMON) -O3 $(if $(ARCH),-march=$(ARCH)) -fno-trapping-math
else ifeq ($(PROFILE),debug)
CFLAGS   := $(COMMON) -O0 -DSS_CHECKS
else ifeq ($(PROFILE),asan)
# Null pointers and accesses outside of objects: AddressSanitizer finds both; the other checks of them cost a sixth of the time.
CFLAGS   := $(COMMON) -g1 -O1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize=null,object-size \
            -fno-sanitize-recover=undefined -DSS_CHECKS $(if $(COVERAGE),$(COUNTERS))
else ifeq ($(PROFILE),tsan)
# clang, whose OpenMP tells TSan what it orders. -O2: at -O1 clang 14 returns wrong maxima from a simd reduction.
# Watched loops do not all become vectors: no reason to stop.
CFLAGS   := $(COMMON) -O2 -fsanitize=thread -DSS_CHECKS -Wno-pass-failed
else ifeq ($(PROFILE),coverage)
CFLAGS   := $(COMMON) -O1 -DSS_CHECKS $(COUNTERS)
else
$(error PROFILE=$(PROFILE): expected release, debug, asan, tsan or coverage)
endif
