#!/bin/sh
# The hidden check. bench-canary-17ccf4e1a5ddcc958c5eb560
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

for package in amber=23 coral=51 jade=23 onyx=18; do
    set -- $package
    holds "packages/${package%=*}/limit" <<END
${package#*=}
END
    check "limit-${package%=*}" $?
done
holds summary.txt <<'END'
amber 23
coral 51
jade 23
onyx 18
END
check summary $?

exit $failed
