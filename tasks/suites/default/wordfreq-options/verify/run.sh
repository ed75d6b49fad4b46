#!/bin/sh
# The hidden check. bench-canary-dbb11955c375495c7e2cdc51
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

tool="$work/bin/wordfreq.sh"
cat >"$scratch/in/a text.txt" <<'END'
Zebra apple apple Zebra zebra
pear, APPLE; pear-pear
END
cd "$scratch/in" || exit 2

run sh "$tool" 'a text.txt'
printed $? <<'END'
3 pear
2 Zebra
2 apple
1 APPLE
1 zebra
END
check unchanged-without-options $?

run sh "$tool" -i 'a text.txt'
printed $? <<'END'
3 apple
3 pear
3 zebra
END
check ignore-case $?

run sh "$tool" -n 3 'a text.txt'
printed $? <<'END'
3 pear
2 Zebra
2 apple
END
check first-lines $?

run sh "$tool" -n 2 -i 'a text.txt'
printed $? <<'END'
3 apple
3 pear
END
check either-order $?

run sh "$tool" -in 12 'a text.txt' 'a text.txt'
printed $? <<'END'
6 apple
6 pear
6 zebra
END
check together-over-two-files $?

run sh -c 'echo "x Y x" | sh "$1" -i -n 1' sh "$tool"
printed $? <<'END'
2 x
END
check standard-input $?

for bad in 0 -3 2x; do
    run sh "$tool" -n "$bad" 'a text.txt'
    [ $? -eq 2 ] && [ ! -s "$scratch/out" ] && grep -q '^wordfreq: ' "$scratch/err"
    check "refuses-count-$bad" $?
done

run sh "$tool" -z 'a text.txt'
[ $? -eq 2 ] && [ ! -s "$scratch/out" ] && [ -s "$scratch/err" ]
check refuses-unknown-option $?

readme=$(cat "$work/README.md")
case $readme in *-i*-n* | *-n*-i*) true ;; *) false ;; esac
check described-in-readme $?

exit "$failed"
