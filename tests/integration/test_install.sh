# `make install` with DESTDIR and into a home folder, and all installed files at their installed place.
. tests/integration/common.sh
case ${B:-build/release} in
*release | *debug) ;;
*) echo "an installation is tested with the release and debug profiles, not with sanitizers"; exit 77 ;;
esac
install_to() { # target, DESTDIR, PREFIX
  make --no-print-directory PROFILE="$(basename "${B:-build/release}")" "$1" DESTDIR="$2" PREFIX="$3" >"$work/make.log" 2>&1 || { cat "$work/make.log"; fail "make $1"; }
}
here_not() { echo "[  SKIPPED ] $1 is not installed here: $2"; }

# --- for packagers: the place in files is PREFIX, DESTDIR is in none ---------------------------------------------------------
stage="$work/a stage"
install_to install "$stage" /opt/stickslip
root=$stage/opt/stickslip
while IFS= read -r file; do [ -e "$root/$file" ] || fail "$file is listed and not there"; done < "$root/share/stickslip/installed.txt"
[ "$(find "$root" ! -type d | wc -l)" = "$(sort -u "$root/share/stickslip/installed.txt" | wc -l)" ] || fail "installed.txt differs from the installed files"
grep -rIl -e "$work" -e "$(pwd)" "$root" >"$work/out" && { cat "$work/out"; fail "files name the place they were made in"; }
grep -q '^prefix=/opt/stickslip$' "$root/lib/pkgconfig/stickslip.pc" || fail "stickslip.pc names another prefix"
pass "DESTDIR with a space: the listed files exist, and no file names the build folder"
: > "$root/share/doc/stickslip/notes of an administrator"
install_to uninstall "$stage" /opt/stickslip
[ "$(find "$root" ! -type d)" = "$root/share/doc/stickslip/notes of an administrator" ] || { find "$root"; fail "uninstall left or took too much"; }
pass "uninstall leaves the files of others and nothing of ours"

# --- for users ---------------------------------------------------------------------------------------------------------------
root="$work/my software/stick slip"
install_to install "" "$root"
program=$root/bin/stickslip
source=$(pwd)
cd "$work" || exit 1
status 0 "$program" --version && says "stickslip " && says PETSc
[ "$(sed 1q out)" = "$(cd "$source" && "${B:-build/release}/stickslip" --version | sed 1q)" ] || fail "the installed program is of another revision"
revision=$(cd "$source" && [ "$(git rev-parse --show-prefix 2>&1)" = "" ] && git describe --always --dirty) && says "($revision)"
pass "the installed program says what it was built from"
status 0 "$program" run "$root/share/stickslip/jobs/penalty/plane_r_slide.yaml" --steps 3 --out run --quiet
[ -s run/result.yaml ] || fail "no result.yaml"
pass "it runs a job that was installed with it"

export PKG_CONFIG_PATH="$root/lib/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}"
cat > client.c <<'C'
#include <string.h>
#include "core/version.h"
#include "app/job/job.h"
int main(int argc, char **argv)
{
  diagnostics *d;
  job         *j = NULL;
  if (argc != 2 || PetscInitialize(NULL, NULL, NULL, NULL) || diagnostics_create(&d) || job_read(argv[1], 0, NULL, d, &j) || !j) return 1;
  printf("%s %s\n", j->scene.name, version_text());
  job_destroy(&j);
  diagnostics_destroy(&d);
  return PetscFinalize() != 0;
}
C
expected="plane_r_slide $("$program" --version | sed -n '1s/^stickslip //p')"
eval "mpicc -std=gnu11 -fopenmp client.c -o shared $(pkg-config --cflags --libs stickslip)" >out 2>&1 || { cat out; fail "link with the shared library"; }
eval "mpicc -std=gnu11 -fopenmp client.c -o static $(pkg-config --cflags --libs stickslip | sed 's/-lstickslip/-l:libstickslip.a/') \
  $(pkg-config --libs yaml-0.1 libpng expat zlib) -lmetis -llapack -lblas -lm" >out 2>&1 || { cat out; fail "link with the static library"; }
readelf -d static | grep -q libstickslip && fail "the static program wants the shared library"
for p in shared static; do
  status 0 env LD_LIBRARY_PATH="$root/lib" OMPI_MCA_pml=ob1 OMPI_MCA_btl=self OMPI_MCA_ess_singleton_isolated=1 OMPI_MCA_orte_create_session_dirs=0 \
    ./$p "$root/share/stickslip/jobs/penalty/plane_r_slide.yaml" && says "$expected"
done
pass "a program of one's own reads a job with the shared and with the static library, by pkg-config"
# x.c includes x.h first, so that the build has compiled this header alone. The others are compiled here, with one command.
(cd "$root/include/stickslip" && find . -name '*.h' | sed 's,^\./,,') > headers
while IFS= read -r header; do
  [ "$(grep -m1 '^#include' "$source/src/${header%.h}.c" 2>/dev/null)" = "#include \"$header\"" ] || echo "$root/include/stickslip/$header"
done < headers > alone
eval "tr '\n' '\0' < alone | xargs -0 mpicc -std=gnu11 -fopenmp -Wall -Wextra -Werror -Wno-cpp -Wno-unused-function \
  $(pkg-config --cflags stickslip | sed 's/-D_FORTIFY_SOURCE=2//') -fsyntax-only -x c" >out 2>&1 || { cat out; fail "a header does not compile alone"; }
grep -rhoE '^ *# *include "[^"]+"' "$root/include/stickslip" | sed 's/.*"\(.*\)"/\1/' | sort -u | grep -vxFf headers >out && { cat out; fail "included headers are not installed"; }
pass "each of $(wc -l < headers) headers compiles alone, and all that they include are installed"

# --- manual ------------------------------------------------------------------------------------------------------------------
if command -v groff >/dev/null && command -v man >/dev/null; then
  for page in "$root"/share/man/man?/*; do
    groff -man -Tutf8 -ww -z "$page" >out 2>&1 && [ ! -s out ] || { cat out; fail "$page is not sound troff"; }
    MANPATH="$root/share/man" LC_ALL=C.UTF-8 man --warnings "$(basename "${page%.*}")" >page.txt 2>out && [ ! -s out ] || { cat out; fail "man $page"; }
    grep -q '^EXIT STATUS\|^KEYS' page.txt || fail "$page is cut short"
  done
  pass "man shows every page, without warnings"
else
  here_not "groff or man" "man pages are not rendered"
fi
sed 's/\\//g' "$root/share/man/man1/stickslip.1" > overview
for name in $(grep -rhoE '(getenv|number_of)\("[A-Z_0-9]+"' "$source/src" | sed 's/.*"\(.*\)"/\1/' | sort -u); do
  grep -q "fB.*$name" overview || fail "stickslip(1) does not tell of the environment variable $name"
done
for name in $(ls run); do grep -q "fB.*$name" overview || fail "stickslip(1) does not tell what $name in a run directory is"; done
pass "stickslip(1) knows every environment variable that is read and every file that is written"

# --- modules -----------------------------------------------------------------------------------------------------------------
lmod=${LMOD_CMD:-/usr/share/lmod/lmod/libexec/lmod}
if [ -x "$lmod" ]; then
  bash -c 'eval "$("$1" bash use "$2")"; eval "$("$1" bash load stickslip)"; cd /; command -v stickslip; echo "$STICKSLIP_ROOT"; eval "$("$1" bash unload stickslip)"; command -v stickslip' \
    bash "$lmod" "$root/share/modulefiles" >out 2>&1
  [ "$(cat out)" = "$root/bin/stickslip
$root" ] || { cat out; fail "the module does not load and unload"; }
  pass "Lmod loads and unloads the module"
else
  here_not Lmod "the module in Lua is not loaded"
fi
if command -v tclsh >/dev/null; then
  cat > stub.tcl <<'T'
foreach name {module-whatis conflict} { proc $name args {} }
proc setenv {name value} { puts "$name=$value" }
proc prepend-path {name value} { puts "$name+=$value"; if {![file isdirectory $value]} { puts "$value is no folder" } }
T
  status 0 tclsh stub.tcl </dev/null
  { cat stub.tcl; cat "$root/share/modulefiles/stickslip"/*[0-9]; } > module.tcl
  status 0 tclsh module.tcl && says "STICKSLIP_ROOT=$root" && says "PATH+=$root/bin"
  grep -q "no folder" out && { cat out; fail "the module names folders that are not there"; }
  pass "the module in Tcl names folders that are there"
else
  here_not tclsh "the module in Tcl is not read"
fi

# --- completion --------------------------------------------------------------------------------------------------------------
bash -c '. "$1"; complete -p stickslip' bash "$root/share/bash-completion/completions/stickslip" >out 2>&1 && says "-F _stickslip stickslip" && pass "completion for bash is where bash looks"
for shell in zsh:zsh/site-functions/_stickslip fish:fish/vendor_completions.d/stickslip.fish; do
  if command -v "${shell%%:*}" >/dev/null; then
    status 0 "${shell%%:*}" -n "$root/share/${shell#*:}" && pass "completion for ${shell%%:*}"
  else
    here_not "${shell%%:*}" "its completion is not read"
  fi
done

# --- packages ----------------------------------------------------------------------------------------------------------------
# Spack's own words are replaced by ones that write down what was asked; what the package passes to make must be in the Makefile.
if command -v python3 >/dev/null; then
  mkdir -p spack && cat > spack/__init__.py <<'P'
P
  cat > spack/package.py <<'P'
asked = []
def _word(name):
    return lambda *a, **k: asked.append((name, a, k))
for _name in "license version variant depends_on conflicts".split():
    globals()[_name] = _word(_name)
class MakefilePackage:
    pass
P
  cat > spack_reads.py <<'P'
import importlib.util, sys
from spack import package
found = importlib.util.spec_from_file_location("package", sys.argv[1])
module = importlib.util.module_from_spec(found)
found.loader.exec_module(module)
class Spec(dict):
    def satisfies(self, text): return False
p = module.Stickslip()
p.prefix, p.spec = "/p", Spec(mpi=type("Mpi", (), {"mpicc": "mpicc"}))
print("git", p.git)
print("depends", *sorted(a[0].split("@")[0].split(" ")[0] for n, a, k in package.asked if n == "depends_on"))
print("\n".join(p.build_targets + p.install_targets))
P
  PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=. status 0 python3 spack_reads.py "$source/config/packaging/spack/packages/stickslip/package.py"
  says "git file://$source" && says "depends c expat gmake hdf5 libpng libyaml metis mpi petsc petsc pkgconfig zlib-api"
  for word in $(grep -v '^git\|^depends' out); do
    case $word in
    *=*) grep -qE "^(ifndef )?${word%%=*} *[?:]?=|\\(${word%%=*}\\)" "$source/Makefile" "$source/config/profiles.mk" || fail "the Spack package sets ${word%%=*}, which the Makefile does not know" ;;
    *) grep -qE "^$word( [a-z]+)*:" "$source/Makefile" || fail "the Spack package makes $word, which the Makefile does not know" ;;
    esac
  done
  pass "the Spack package is Python, and the Makefile knows what it sets and makes"
else
  here_not python3 "the Spack package is not read"
fi
# What the container's last stage installs must hold every library that the program loads.
if command -v dpkg-query >/dev/null && command -v apt-cache >/dev/null && apt-cache show libpetsc-real3.18 >/dev/null 2>&1; then
  runtime=$(sed -n '/^Stage: final/,$p' "$source/config/packaging/stickslip.def" | grep -oE 'lib[a-z0-9.+-]+' | sort -u | while IFS= read -r p; do dpkg-query -W "$p" >/dev/null 2>&1 && echo "$p"; done)
  apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces --no-enhances $runtime 2>/dev/null | grep '^[a-z]' | sort -u > closure
  readelf -d "$program" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | while IFS= read -r l; do
    dpkg-query -S "*/$l" 2>/dev/null | cut -d: -f1 | grep -qxFf - closure || echo "$l"
  done > missing
  [ ! -s missing ] || { cat missing; fail "libraries that the container would lack"; }
  pass "the container's packages hold the $(readelf -d "$program" | grep -c NEEDED) libraries that the program names"
else
  here_not "dpkg or a list of packages" "the container's packages are not checked"
fi
