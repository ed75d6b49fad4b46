#!/bin/sh
# Tests of bin/wordfreq.sh. Usage: sh tests/run.sh
cd "$(dirname "$0")/.." || exit 1
failures=0

expect() { # NAME WANTED ARGUMENT...
    name=$1 wanted=$2
    shift 2
    found=$(sh bin/wordfreq.sh "$@" 2>/dev/null)
    if [ "$found" = "$wanted" ]; then
        echo "ok   $name"
    else
        echo "FAIL $name"
        echo "  wanted: $wanted"
        echo "  found:  $found"
        failures=$((failures + 1))
    fi
}

refuse() { # NAME ARGUMENT...
    name=$1
    shift
    sh bin/wordfreq.sh "$@" >/dev/null 2>&1
    status=$?
    if [ "$status" -eq 2 ]; then
        echo "ok   $name"
    else
        echo "FAIL $name: exit status $status instead of 2"
        failures=$((failures + 1))
    fi
}

expect "first two lines" "3 cat
3 dog" -n 2 tests/sample.txt
expect "case ignored" "4 the
3 cat" -i -n 2 tests/sample.txt
expect "options together" "4 the" -in 1 tests/sample.txt
refuse "count of zero" -n 0 tests/sample.txt

[ "$failures" -eq 0 ] && echo "all tests passed" || { echo "$failures failed"; exit 1; }
