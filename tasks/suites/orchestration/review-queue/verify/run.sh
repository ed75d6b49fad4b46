#!/bin/sh
# The hidden check. bench-canary-7bae71ab7ec44b2912736a83
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

# Findings: PRIORITY CONFIDENCE FILE FIRST-LAST TEXT, one a line.
[ -f findings.txt ] && [ "$(wc -l < findings.txt)" -le 6 ]
check few $?
bad=0
while read -r priority confidence file range text; do
    case $priority in P0 | P1 | P2 | P3) ;; *) bad=1 ;; esac
    case $confidence in 0.[0-9] | 0.[0-9][0-9] | 1.0) ;; *) bad=1 ;; esac
    first=${range%-*} last=${range#*-}
    case $first$last in '' | *[!0-9]*) bad=1 && continue ;; esac
    [ "$first" -le "$last" ] && [ $((last - first)) -lt 10 ] && [ -n "$text" ] || bad=1
    # It must touch the change.
    case $file in
    lib/queue.sh) [ "$first" -le 57 ] && [ "$last" -ge 54 ] || bad=1 ;;
    lib/stats.sh) [ "$first" -le 54 ] && [ "$last" -ge 54 ] || bad=1 ;;
    *) bad=1 ;;
    esac
done < findings.txt
check form $bad
names() { # names FILE LINE: does a finding hold this line?
    while read -r _ _ file range _; do
        [ "$file" = "$1" ] && [ "${range%-*}" -le "$2" ] && [ "${range#*-}" -ge "$2" ] && return 0
    done < findings.txt
    return 1
}
names lib/queue.sh 54 2> /dev/null
check defect-1 $?
names lib/queue.sh 57 2> /dev/null
check defect-2 $?
names lib/stats.sh 54 2> /dev/null
check defect-3 $?
extra=0
while read -r _ _ file range _; do
    hit=0
    [ "$file" = lib/queue.sh ] && [ "${range%-*}" -le 54 ] && [ "${range#*-}" -ge 54 ] && hit=1
    [ "$file" = lib/queue.sh ] && [ "${range%-*}" -le 57 ] && [ "${range#*-}" -ge 57 ] && hit=1
    [ "$file" = lib/stats.sh ] && [ "${range%-*}" -le 54 ] && [ "${range#*-}" -ge 54 ] && hit=1
    [ $hit -eq 1 ] || extra=$((extra + 1))
done < findings.txt 2> /dev/null
[ $extra -le 1 ]
check no-noise $?

exit $failed
