# Every job that comes with the program is taken by `stickslip check`, and described.
. tests/integration/common.sh

for job in jobs/*.yaml jobs/penalty/*.yaml jobs/exact/*.yaml jobs/rod/*.yaml jobs/monolith/*.yaml; do
  status 0 "$program" check "$(pwd)/$job" && says "steps of" && pass "$job"
done
