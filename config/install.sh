#!/bin/sh
# What `make install` and `make uninstall` do: install.sh install|uninstall, with B (build folder), VERSION, HDF5 (its name for pkg-config), PREFIX and DESTDIR (put before
# PREFIX when writing, in no file that is written: for packagers). Paths may hold spaces. What is installed is listed in
# PREFIX/share/stickslip/installed.txt, and uninstall removes what stands there and no other file.
set -eu
case $PREFIX in /*) ;; *) echo "install: PREFIX=$PREFIX must begin with /" >&2; exit 2 ;; esac
root=$DESTDIR$PREFIX
list=share/stickslip/installed.txt

uninstall() {
  [ -f "$root/$list" ] || { echo "uninstall: nothing is installed in $root (no $list)" >&2; exit 3; }
  while IFS= read -r file; do rm -f "$root/$file"; done < "$root/$list"
  # Folders, the deepest first, where nothing of others is left in them
  sed 's|/[^/]*$||' "$root/$list" | sort -u | while IFS= read -r folder; do
    while [ "$folder" != . ]; do echo "$folder"; case $folder in */*) folder=${folder%/*} ;; *) folder=. ;; esac; done
  done | sort -ru | while IFS= read -r folder; do rmdir "$root/$folder" 2>/dev/null || :; done
}

# put MODE SOURCE PLACE: a file, by its place below PREFIX
put() { mkdir -p "$root/${3%/*}" && install -m "$1" "$2" "$root/$3" && echo "$3" >> "$work/installed.txt"; }
# filled TEMPLATE: with @PREFIX@ as the language of the file wants it, and the version
filled() { sed -e "s|@PREFIX@|$2|g" -e "s|@VERSION@|$VERSION|g" -e "s|@HDF5@|$HDF5|g" "$1" > "$work/filled"; }

install_all() {
  put 755 "$B/stickslip" bin/stickslip
  put 644 "$B/libstickslip.a" lib/libstickslip.a
  put 755 "$B/libstickslip.so.$VERSION" "lib/libstickslip.so.$VERSION"
  for link in libstickslip.so.0 libstickslip.so; do
    ln -sfn "libstickslip.so.$VERSION" "$root/lib/$link" && echo "lib/$link" >> "$work/installed.txt"
  done
  # ccd_search.h is the body of a function for several types, no header
  (cd src && find . -name '*.h' ! -name ccd_search.h) | sed 's|^\./||' > "$work/names"
  while IFS= read -r name; do put 644 "src/$name" "include/stickslip/$name"; done < "$work/names"
  (cd jobs && find . -type f) | sed 's|^\./||' > "$work/names"
  while IFS= read -r name; do put 644 "jobs/$name" "share/stickslip/jobs/$name"; done < "$work/names"
  for name in job.sh chain.sh array.sh; do put 755 "config/slurm/$name" "share/stickslip/slurm/$name"; done
  find README.md CHANGELOG.md LICENSE CITATION.cff docs -type f > "$work/names"
  while IFS= read -r name; do put 644 "$name" "share/doc/stickslip/$name"; done < "$work/names"
  for page in $("$B/stickslip" manual --list); do
    "$B/stickslip" manual "$page" > "$work/filled" && put 644 "$work/filled" "share/man/man${page##*.}/$page"
  done
  completion bash share/bash-completion/completions/stickslip
  completion zsh share/zsh/site-functions/_stickslip
  completion fish share/fish/vendor_completions.d/stickslip.fish
  in_sed=$(printf '%s' "$PREFIX" | sed 's/[&|\\]/\\&/g')
  filled config/stickslip.pc.in "$(printf '%s' "$in_sed" | sed 's/ /\\\\ /g')" && put 644 "$work/filled" lib/pkgconfig/stickslip.pc
  filled config/packaging/stickslip.lua "$in_sed" && put 644 "$work/filled" "share/modulefiles/stickslip/$VERSION.lua"
  filled config/packaging/stickslip.tcl "$in_sed" && put 644 "$work/filled" "share/modulefiles/stickslip/$VERSION"
  echo "$list" >> "$work/installed.txt"
  install -m 644 "$work/installed.txt" "$root/$list"
}
completion() { "$B/stickslip" completion "$1" > "$work/filled" && put 644 "$work/filled" "$2"; }

case ${1-} in
install)
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  [ ! -f "$root/$list" ] || uninstall # an older one: what it had and we have not should not stay
  install_all
  ;;
uninstall) uninstall ;;
*) echo "usage: install.sh install|uninstall" >&2; exit 2 ;;
esac
