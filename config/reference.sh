#!/bin/sh
# Writes the generated pages of docs/reference: sh config/reference.sh PROGRAM FOLDER
# A test compares the committed pages with new ones. fields.md lists the fields of the scenes of the jobs named here; together they have
# all kinds of bodies and all formulations.
program=$(realpath "${1:?usage: reference.sh PROGRAM FOLDER}") folder=$(realpath "${2:?usage: reference.sh PROGRAM FOLDER}") || exit 1
cd "$(dirname "$0")/.." || exit 1
i=tests/integration
"$program" schema job >"$folder/job.md" &&
  "$program" schema job --expert >"$folder/expert.md" &&
  "$program" schema history >"$folder/history.md" &&
  "$program" schema files >"$folder/files.md" &&
  "$program" schema warnings >"$folder/warnings.md" &&
  "$program" schema fields --job $i/small.yaml --job $i/exact.yaml --job $i/hybrid.yaml --job $i/monolith.yaml --job $i/materials.yaml \
    --job jobs/rod/models.yaml --job validation/cases/edges-slide/case.yaml >"$folder/fields.md"
