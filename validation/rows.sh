# Sourced by hybrid.sh, convex.sh and monolith.sh: runs the rows of a published table, each a job with its own settings.
# They give program, out, paper (a table of lines NAME|...) and folder, the one of jobs/.

# Runs a job once into $out/RUN, with a log beside it; says so if it is there already.
run_once() { # run, job, threads, settings (words), then words for `stickslip run`
  run=$1 job=jobs/$folder/$2.yaml threads=$3 settings=$4
  [ -f "$out/$run/summary.txt" ] && { echo "$run: already run, skipped"; return 0; }
  [ -f "$job" ] || { echo "$run: the job file $job does not exist"; return 1; }
  mkdir -p "$out"
  shift 4
  for setting in $settings; do set -- "$@" --set "$setting"; done
  OMP_NUM_THREADS=$threads "$program" run "$job" --force --threads "$threads" --out "$out/$run" "$@" \
    --set output.checkpoint=0 >"$out/$run.log" 2>&1 || { echo "$run: failed, see $out/$run.log"; return 1; }
  echo "$run: done"
}

# Calls run_row with the fields of each line of $paper that is named, or whose second field is; of all if none is named.
run_rows() { # wanted
  failed=0
  while IFS='|' read -r name second a b c d e f g h; do
    case "$name" in \#*) continue ;; esac
    for one in "${@:-all}"; do
      case "$one" in all | "$name" | "$second") run_row "$name" "$second" "$a" "$b" "$c" "$d" "$e" "$f" "$g" "$h" || failed=1 ;; esac
    done
  done < "$paper"
  return $failed
}
