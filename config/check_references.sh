#!/bin/sh
# Every [Author2011] in a comment resolves in docs/references.bib.
bad=0
for key in $(grep -rhoE '\[[A-Z][A-Za-z]+[12][0-9]{3}\]' src | sort -u | tr -d '[]'); do
  grep -q "{$key," docs/references.bib || { echo "docs/references.bib has no $key"; bad=1; }
done
exit $bad
