#!/bin/sh
# The hidden check. bench-canary-dbb11955c375495c7e2cdc51
# It stands in a copy of the workspace that the agent left, and whatever it starts from there is not trusted: it gets an
# empty environment and a time limit, its output goes to files (it cannot print a check line), and what is expected is
# written only after it has ended.
set -u
PATH=/usr/bin:/bin LC_ALL=C
export PATH LC_ALL
unset BENCH_VERIFY_DIR ENV CDPATH
work=$(pwd) && scratch=$(mktemp -d "${TMPDIR:-/tmp}/verify.XXXXXX") || exit 2
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/home" "$scratch/in" || exit 2
failed=0

# check NAME STATUS
check() {
    if [ "$2" -eq 0 ]; then echo "check $1 passed"; else echo "check $1 failed" && failed=1; fi
}

# run PROGRAM ARGUMENT...: output and errors in $scratch/out and $scratch/err
run() {
    env -i PATH="$PATH" LC_ALL=C HOME="$scratch/home" TMPDIR="$scratch/home" \
        timeout 10 "$@" >"$scratch/out" 2>"$scratch/err" </dev/null
}

# printed STATUS, the expected output on stdin: did the last run succeed and print exactly that?
printed() {
    cat >"$scratch/want"
    [ "$1" -eq 0 ] && cmp -s "$scratch/want" "$scratch/out"
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

for bad in 0 -3 ten 2x ''; do
    run sh "$tool" -n "$bad" 'a text.txt'
    [ $? -eq 2 ] && [ ! -s "$scratch/out" ] && grep -q '^wordfreq: ' "$scratch/err"
    check "refuses-count-${bad:-empty}" $?
done

run sh "$tool" -z 'a text.txt'
[ $? -eq 2 ] && [ ! -s "$scratch/out" ] && [ -s "$scratch/err" ]
check refuses-unknown-option $?

if [ -x /bin/bash ]; then
    run /bin/bash "$tool" -in 1 'a text.txt'
    printed $? <<'END'
3 apple
END
    check under-bash $?
fi

grep -q -e '-i' "$work/README.md" && grep -q -e '-n' "$work/README.md"
check described-in-readme $?

exit "$failed"
