#!/bin/sh
# Compares the summary of logs/gateway.log with the expected one. Usage: sh tests/run.sh
cd "$(dirname "$0")/.." || exit 1
found=$(sh bin/summary.sh logs/gateway.log)
if [ "$found" = "$(cat tests/expected.txt)" ]; then
    echo "the summary is as expected"
else
    echo "the summary differs; expected:"
    cat tests/expected.txt
    echo "found:"
    echo "$found"
    exit 1
fi
