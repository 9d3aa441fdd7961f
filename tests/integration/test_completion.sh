# Completions: bash is tested with words split at =, as bash does; zsh and fish if they are installed.
. tests/integration/common.sh
command -v bash >/dev/null || { echo "bash is not installed"; exit 77; }
cd "$work" || exit 1
for shell in bash zsh fish; do status 0 "$program" completion $shell && cp out completion.$shell; done
status 2 "$program" completion tcsh && says "expected bash, zsh or fish" && pass "an unknown shell is rejected"
mkdir -p run/ball "run/two words" other && touch run/ball/job.yaml "run/two words/job.yaml" notes.txt
cat > ball.yaml <<'Y'
stickslip: 1
bodies:
  bed:  {kind: mpm}
  ball: {kind: rigid}
measure:
  depth:
    quantity: position
Y
cat > drive.bash <<'S'
. ./completion.bash
# Arguments: the words of a line, the last one to be completed. Prints the completions in brackets.
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
_stickslip
printf '[%s]' "${COMPREPLY[@]}"
echo
S
offers() { # EXPECTED words...
  expected=$1; shift
  got=$(bash drive.bash stickslip "$@" 2>&1)
  [ "$got" = "$expected" ] || fail "stickslip $*: offers $got instead of $expected"
}
bash -c '. ./completion.bash; complete -p stickslip' > out 2>&1; says "-F _stickslip stickslip"
for c in $("$program" manual --list | sed -n 's/^stickslip-\(.*\)\.1$/\1/p'); do
  c=$(echo "$c" | tr - ' ') # an action, "sweep status": two words
  case $(bash drive.bash stickslip $c) in *"[${c##* }]"*) ;; *) fail "$c is not completed" ;; esac
  for o in $("$program" $c --help | sed -n 's/^  \(--[a-z-]*\).*/\1/p'); do case $(bash drive.bash stickslip $c "$o") in *"[$o]"*) ;; *) fail "$c $o is not completed" ;; esac; done
done
pass "all commands and all options are completed"
offers "[resume][render][report]" re
offers "[time.end=][time.step=][time.start=][time.frame=][time.retry.]" run --set time.
offers "[time.retry.halvings=]" run --set time.retry.h
offers "[quadratic][cubic]" run --set mpm.kernel =
offers "[cubic]" run --set mpm.kernel = c
offers "[auto][true][false]" run --set solver.penalty.edges =
offers "[mpm.kernel=]" run --set = mpm.k
offers "[cubic]" run --set = mpm.kernel = c
offers "[bodies.bed.][bodies.ball.]" run ball.yaml --set bodies.b
offers "[measure.depth.]" run ball.yaml --set measure.
offers "[rigid]" run ball.yaml --set bodies.ball.kind = ri
offers "[bodies.ball.shape.union[0].sphere.center=][bodies.ball.shape.union[0].sphere.radius=]" run ball.yaml --set "bodies.ball.shape.union[0].sphere."
offers "[contact.pairs[0].friction=][contact.pairs[0].friction_direction=][contact.pairs[0].friction_transverse=]" run --set "contact.pairs[0].f"
offers "[]" run --set nonsense.f
pass "--set: keys by level, names of bodies of the job, values of keys"
offers "[job][sweep][result][history][warnings][files][fields][bodies]" schema ""
offers "[markdown][man]" schema --format m
offers "[bash][zsh][fish]" completion ""
offers "[render]" help rend
offers "[]" run --steps ""
offers "[ball.yaml]" run ball
offers "[run/ball][run/two words]" resume ""
offers "[run/two words]" resume run/t
case $(bash drive.bash stickslip run --out "") in *notes*) fail "--out completes a file" ;; *"[other]"*) ;; *) fail "--out completes no folder" ;; esac
pass "values of options, jobs, run directories"
# All job keys of the reference are completed.
"$program" schema | awk -F '|' 'NF >= 8' | sed -n 's/^| `\([a-z_]*\)` .*/\1/p' | sort -u > keys # rows of keys; rows of words are shorter
sed -n '/^_stickslip_keys/,/^}/p' completion.bash | grep -oE '[a-z_]+[=.@#]' | tr -d '=.@#' | sort -u > offered
[ -z "$(comm -23 keys offered)" ] || { comm -23 keys offered; fail "keys that are not completed"; }
pass "all $(wc -l < keys) keys of jobs"
if command -v zsh >/dev/null; then
  status 0 zsh -f -c 'compdef() { :; }; . ./completion.zsh; emulate sh; _stickslip_offers run ball.yaml --set "contact.pairs[0].f"; _stickslip_offers run ball.yaml --set bodies.' \
    && says "contact.pairs[0].friction=" && says "bodies.ball."
  pass "zsh"
else
  echo "[  SKIPPED ] zsh is not installed"
fi
if command -v fish >/dev/null; then
  status 0 env HOME="$work" fish -c 'source completion.fish; complete -C "stickslip re"; complete -C "stickslip run ball.yaml --set bodies.ball.ki"; complete -C "stickslip run ba"'
  says "resume	continue" && says "bodies.ball.kind=" && says "ball.yaml"
  pass "fish"
else
  echo "[  SKIPPED ] fish is not installed"
fi
