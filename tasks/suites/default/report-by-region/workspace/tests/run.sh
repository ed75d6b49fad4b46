#!/bin/sh
# Compares the report of data/orders.csv with the expected one. Usage: sh tests/run.sh
cd "$(dirname "$0")/.." || exit 1
found=$(LC_ALL=C awk -f report.awk data/orders.csv)
if [ "$found" = "$(cat tests/expected.txt)" ]; then
    echo "the report is as expected"
else
    echo "the report differs; expected:"
    cat tests/expected.txt
    echo "found:"
    echo "$found"
    exit 1
fi
