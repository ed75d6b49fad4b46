#!/bin/sh
# The hidden check: one line for each thing that must hold, exit 0 when all do, 1 when one does not. CANARY
PATH=/usr/bin:/bin
verdict=0
check() { # check NAME COMMAND...
    name=$1
    shift
    if "$@" > /dev/null 2>&1; then echo "check $name passed"; else echo "check $name failed"; verdict=1; fi
}
says_hello() { [ "$(cat hello.txt)" = "hello" ]; }
check says-hello says_hello
exit "$verdict"
