#!/bin/sh
# Runs every sample. Usage: sh tests/run.sh
cd "$(dirname "$0")/.." || exit 1
failures=0
for sample in samples/*.txt; do
    name=${sample##*/}
    found=$(sh paginate.sh "$sample")
    if [ "$found" = "$(cat "tests/expected/$name")" ]; then
        echo "ok   $name"
    else
        echo "FAIL $name, found:"
        echo "$found"
        failures=$((failures + 1))
    fi
done
[ "$failures" -eq 0 ] && echo "all samples are as expected" || { echo "$failures failed"; exit 1; }
