#!/bin/sh
# Compares the report of data/orders.csv with the expected one. Usage: sh tests/run.sh
cd "$(dirname "$0")/.." || exit 1
if LC_ALL=C awk -f report.awk data/orders.csv | diff tests/expected.txt -; then
    echo "the report is as expected"
else
    echo "the report differs: lines with < were expected, lines with > were found"
    exit 1
fi
