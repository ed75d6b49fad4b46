#!/bin/sh
# The hidden check. bench-canary-422a11d400b71888748bd584
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

holds report.txt <<'END'
east disk 406
north disk 270
south disk 301
west disk 582
END
check report $?
holds probe.sh <<'END'
#!/bin/sh
# probe.sh SITE names the slowest part of a site; probe.sh SITE PART measures one.
sleep 1 # a measurement takes its time
n=$(printf '%s' "$1 ${2:-}" | cksum | cut -d ' ' -f 1)
if [ $# -eq 1 ]; then
    site=$1
    set -- disk memory network queue
    shift $((n % 4))
    echo "$site: the slowest part is $1"
else
    echo "$1: $2 needs $((n % 900 + 100)) ms"
fi
END
check probe-untouched $?

exit $failed
