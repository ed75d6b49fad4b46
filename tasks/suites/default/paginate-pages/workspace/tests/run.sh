#!/bin/sh
# Runs every sample. Usage: sh tests/run.sh
cd "$(dirname "$0")/.." || exit 1
failures=0
for sample in samples/*.txt; do
    name=${sample##*/}
    if [ "$(sh paginate.sh "$sample")" = "$(cat "tests/expected/$name")" ]; then
        echo "ok   $name"
    else
        echo "FAIL $name: wanted $(grep -c '' "tests/expected/$name") lines, found $(sh paginate.sh "$sample" | grep -c '')"
        failures=$((failures + 1))
    fi
done
[ "$failures" -eq 0 ] && echo "all samples are as expected" || { echo "$failures failed"; exit 1; }
