#!/bin/sh
# Every Author2011 that a comment cites, in brackets, alone or with others, resolves in docs/references.bib.
bad=0
for key in $(grep -rhoE '\[[A-Z][A-Za-z]+[12][0-9]{3}[^]]*' src | grep -oE '[A-Z][A-Za-z]+[12][0-9]{3}' | sort -u); do
  grep -q "{$key," docs/references.bib || { echo "docs/references.bib has no $key"; bad=1; }
done
exit $bad
