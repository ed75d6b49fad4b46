#!/bin/sh
# The hidden check. bench-canary-4c8e227ecfd2e9fc7e73cb44
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
smooth 7
END
check finding $?
scratch=$(mktemp -d "${TMPDIR:-/tmp}/verify.XXXXXX") || exit 2
cc -O1 -fsanitize=undefined,bounds -fno-sanitize-recover=all -o "$scratch/marks" marks.c > "$scratch/log" 2>&1 ||
    cc -O0 -o "$scratch/marks" marks.c > "$scratch/log" 2>&1
timeout 10 "$scratch/marks" > "$scratch/out" 2> /dev/null < /dev/null
status=$?
[ $status -eq 0 ] && [ "$(cat "$scratch/out")" = "limit 20" ]
check mended $?
rm -rf "$scratch"

exit $failed
