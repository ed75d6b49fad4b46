#!/bin/sh
# The hidden check. bench-canary-4f3d2bbcc0c4bbef71f8b324
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

report="$work/report.awk"
cat >"$scratch/in/moved.csv" <<'END'
status,note,unit_price,product,quantity,region
shipped,"a, b",10.00,plain,3,b-side
shipped,,0.25,"""quoted"", twice",8,a-side
open,,99.00,x,1,a-side
shipped,"end ""here""",2.50,y,1,b-side
SHIPPED,,1.00,z,1,b-side

shipped,,1.00,"last, one",7,c-side
END
run awk -f "$report" "$scratch/in/moved.csv"
printed $? <<'END'
a-side 1 8 2.00
b-side 2 4 32.50
c-side 1 7 7.00
total 4 19 41.50
END
check columns-by-name-and-quotes $?

sed 's/$/\r/' "$scratch/in/moved.csv" >"$scratch/in/crlf.csv"
run awk -f "$report" "$scratch/in/crlf.csv"
printed $? <<'END'
a-side 1 8 2.00
b-side 2 4 32.50
c-side 1 7 7.00
total 4 19 41.50
END
check lines-in-crlf $?

printf 'order,region,product,quantity,unit_price,status\n1,north,"a,b",2,1.50,open\n' >"$scratch/in/none.csv"
run awk -f "$report" "$scratch/in/none.csv"
printed $? <<'END'
total 0 0 0.00
END
check nothing-shipped $?

awk 'BEGIN {
    print "region,status,quantity,unit_price"
    for (i = 1; i <= 400; i++) print "r" i % 3 ",shipped," i ",0.50"
}' >"$scratch/in/many.csv"
run awk -f "$report" "$scratch/in/many.csv"
printed $? <<'END'
r0 133 26733 13366.50
r1 134 26867 13433.50
r2 133 26600 13300.00
total 400 80200 40100.00
END
check many-lines $?

grep -q '^Status: done$' "$work/docs/report.md"
check document-says-done $?

exit "$failed"
