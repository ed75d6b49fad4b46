#!/bin/sh
# The hidden check. bench-canary-08e2f9b949b54ba703739794
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
    lib/csv.sh) [ "$first" -le 49 ] && [ "$last" -ge 49 ] || bad=1 ;;
    lib/report.sh) [ "$first" -le 53 ] && [ "$last" -ge 44 ] || bad=1 ;;
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
names lib/csv.sh 49 2> /dev/null
check defect-1 $?
names lib/report.sh 44 2> /dev/null
check defect-2 $?
names lib/report.sh 53 2> /dev/null
check defect-3 $?
extra=0
while read -r _ _ file range _; do
    hit=0
    [ "$file" = lib/csv.sh ] && [ "${range%-*}" -le 49 ] && [ "${range#*-}" -ge 49 ] && hit=1
    [ "$file" = lib/report.sh ] && [ "${range%-*}" -le 44 ] && [ "${range#*-}" -ge 44 ] && hit=1
    [ "$file" = lib/report.sh ] && [ "${range%-*}" -le 53 ] && [ "${range#*-}" -ge 53 ] && hit=1
    [ $hit -eq 1 ] || extra=$((extra + 1))
done < findings.txt 2> /dev/null
[ $extra -le 1 ]
check no-noise $?

exit $failed
