#!/bin/sh
# Compares the summary of logs/gateway.log with the expected one. Usage: sh tests/run.sh
cd "$(dirname "$0")/.." || exit 1
if sh bin/summary.sh logs/gateway.log | diff tests/expected.txt -; then
    echo "the summary is as expected"
else
    echo "the summary differs: lines with < were expected, lines with > were found"
    exit 1
fi
