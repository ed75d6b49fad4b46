#!/bin/sh
# The hidden check. bench-canary-6b56be297f6935a7246a3502
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

holds unused.txt <<'END'
clock clock_close
ledger ledger_open
notify notify_count
parser parser_close
router router_join
END
check unused $?

exit $failed
