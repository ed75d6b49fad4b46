#!/bin/sh
# The hidden check. bench-canary-f5f8258b1ed98a6e9863ef79
# What the agent left is not trusted: it does not learn where this file is, and what is expected stands nowhere but here.
set -u
PATH=/usr/bin:/bin LC_ALL=C
export PATH LC_ALL
unset BENCH_VERIFY_DIR ENV CDPATH
failed=0

# check NAME STATUS
check() {
    if [ "$2" -eq 0 ]; then echo "check $1 passed"; else echo "check $1 failed" && failed=1; fi
}

# holds FILE, a text on stdin: is the file exactly that, line ends at the end aside?
holds() {
    want=$(cat)
    [ -f "$1" ] && [ "$(cat "$1" 2>/dev/null)" = "$want" ]
}

holds decisions.txt <<'END'
harbour: Dogwood
library: Dogwood
market: Birch
museum: Elm
END
check decisions $?

exit $failed
