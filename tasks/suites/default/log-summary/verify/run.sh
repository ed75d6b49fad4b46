#!/bin/sh
# The hidden check. bench-canary-b1fb516b3e6506ba84720151
# It stands in a copy of the workspace that the agent left, and whatever it starts from there is not trusted: it
# does not learn where this file is, it has a time limit, its output goes to files (it cannot print a check line), and what
# is expected stands nowhere but here.
set -u
PATH=/usr/bin:/bin LC_ALL=C
export PATH LC_ALL
unset BENCH_VERIFY_DIR ENV CDPATH
work=$(pwd) && scratch=$(mktemp -d "${TMPDIR:-/tmp}/verify.XXXXXX") || exit 2
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/home" "$scratch/in" || exit 2
HOME="$scratch/home" TMPDIR="$scratch/home"
export HOME TMPDIR
failed=0

# check NAME STATUS
check() {
    if [ "$2" -eq 0 ]; then echo "check $1 passed"; else echo "check $1 failed" && failed=1; fi
}

# run PROGRAM ARGUMENT...: output and errors in $scratch/out and $scratch/err
run() {
    timeout 10 "$@" >"$scratch/out" 2>"$scratch/err" </dev/null
}

# slurp: sets $text to what stands on stdin, by the shell alone (cmp is not part of coreutils)
slurp() {
    text=
    while IFS= read -r line; do
        text="$text$line
"
    done
    text="$text$line"
}

# holds FILE, a text on stdin: is the file exactly that?
holds() {
    slurp
    want=$text
    [ -r "$1" ] && slurp <"$1" && [ "$want" = "$text" ]
}

# printed STATUS, a text on stdin: did the last run succeed and print exactly that?
printed() {
    [ "$1" -eq 0 ] && holds "$scratch/out"
}

log="$scratch/in/a day.log"
cat >"$log" <<'END'
2026-05-01T00:00:00Z gateway: starting
2026-05-01T00:00:01Z gateway service=zeta status=200 ms=7
2026-05-01T00:00:02Z gateway ms=1200 zone=b status=500 service=zeta
2026-05-01T00:00:03Z gateway path=/a=b status=499 service=alpha ms=90
2026-05-01T00:00:04Z gateway status=503 service=beta ms=100 path=/x

2026-05-01T00:00:05Z rotated
2026-05-01T00:00:06Z gateway service=beta status=599 ms=99
2026-05-01T00:00:07Z gateway service=gamma ms=0 status=204
2026-05-01T00:00:08Z gateway retry=1 service=delta status=500 ms=3 note=service
END

run sh "$work/bin/normalise.sh" "$log"
printed $? <<'END'
2026-05-01T00:00:01Z zeta 200 7
2026-05-01T00:00:02Z zeta 500 1200
2026-05-01T00:00:03Z alpha 499 90
2026-05-01T00:00:04Z beta 503 100
2026-05-01T00:00:06Z beta 599 99
2026-05-01T00:00:07Z gamma 204 0
2026-05-01T00:00:08Z delta 500 3
END
check normalises-any-order $?

run sh "$work/bin/summary.sh" "$log"
printed $? <<'END'
beta 2 2 100
delta 1 1 3
zeta 2 1 1200
alpha 1 0 90
gamma 1 0 0
skipped 3
END
check summary $?

printf 'nothing here\n' >"$scratch/in/quiet.log"
run sh "$work/bin/summary.sh" "$scratch/in/quiet.log"
printed $? <<'END'
skipped 1
END
check no-requests $?

cd / && run sh "$work/bin/summary.sh" "$scratch/in/none.log"
[ $? -eq 1 ] && [ ! -s "$scratch/out" ] && [ -s "$scratch/err" ]
check missing-log $?

run sh "$work/bin/summary.sh" "$work/logs/gateway.log"
printed $? <<'END'
billing 465 49 911
uploads 480 25 904
accounts 444 13 872
search 437 13 764
catalog 450 4 945
skipped 24
END
check the-log-itself $?

exit "$failed"
