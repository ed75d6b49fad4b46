#!/bin/sh
# The hidden check. bench-canary-f0d4747beff0471821ec9447
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

holds finding.txt <<'END'
271 -56
END
check finding $?
scratch=$(mktemp -d "${TMPDIR:-/tmp}/verify.XXXXXX") || exit 2
cc -O0 -o "$scratch/sum" sum.c > "$scratch/log" 2>&1
cp amounts.txt "$scratch/" && cd "$scratch" || exit 2
[ "$(timeout 10 ./sum 2>/dev/null </dev/null)" = "total 9960" ]
check total $?
printf '1 300\n2 5\n' > amounts.txt
[ "$(timeout 10 ./sum 2>/dev/null </dev/null)" = "total 305" ]
check other-amounts $?
cd / && rm -rf "$scratch"

exit $failed
