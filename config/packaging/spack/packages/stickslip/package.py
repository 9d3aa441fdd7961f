"""stickslip for Spack, from a checkout:

    git clone REPOSITORY stickslip
    spack repo add stickslip/config/packaging/spack
    spack install stickslip            # what is committed on this checkout's branch
    spack load stickslip
"""

import pathlib

from spack.package import *

try:  # Spack 1.0 and later keep build systems in the repository of packages
    from spack_repo.builtin.build_systems.makefile import MakefilePackage
except ImportError:  # before, they come with spack.package
    pass


class Stickslip(MakefilePackage):
    """Batch solver for frictional contact between sand, deformable solids, cloth and rigid bodies."""

    git = (pathlib.Path(__file__).resolve().parents[5]).as_uri()  # this checkout; set it to the place you cloned from

    license("BSD-2-Clause")

    version("main", branch="main")

    variant("checks", default=False, description="Stop at the program's own bugs (slow; for developers)")
    variant("solvers", default=True, description="With MUMPS and hypre in PETSc, for jobs that ask for them in `petsc:`")

    depends_on("c", type="build")
    depends_on("gmake", type="build")
    depends_on("pkgconfig", type="build")

    depends_on("mpi")
    depends_on("petsc@3.18: +mpi+double~complex~int64")
    depends_on("petsc +mumps+hypre", when="+solvers")
    depends_on("hdf5@1.10: +mpi")
    depends_on("metis@5: ~int64~real64")
    depends_on("libyaml")
    depends_on("libpng")
    depends_on("expat")
    depends_on("zlib-api")

    # Vector types with their conversions, and `cleanup`, as gcc and clang have them
    conflicts("%gcc@:8", msg="stickslip wants gcc 9 or later")
    conflicts("%nvhpc", msg="stickslip wants gcc or clang")

    @property
    def make_settings(self):
        # No ARCH: the compiler wrappers of Spack choose the processor by the spec's target.
        return [
            "ARCH=",
            "PROFILE=" + ("debug" if self.spec.satisfies("+checks") else "release"),
            "CC=" + self.spec["mpi"].mpicc,
            "PREFIX=" + self.prefix,
        ]

    @property
    def build_targets(self):
        return ["all", "shared"] + self.make_settings

    @property
    def install_targets(self):
        return ["install"] + self.make_settings

    def test_quickstart(self):
        """a ball falls on sand, for three steps"""
        program = which(join_path(self.prefix.bin, "stickslip"))
        job = join_path(self.prefix.share, "stickslip", "jobs", "quickstart.yaml")
        program("run", job, "--steps", "3", "--out", "quickstart", "--threads", "1")
        info = program("info", "quickstart", output=str)
        check_outputs([r"step 3,"], info)
