#!/bin/sh
# The hidden check. bench-canary-7619de8c3f8a8d5d96b383ff
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

# The wrapper was to be left alone, so that of the task is used: ours, next to the script under examination.
cp "$work/paginate.awk" "$scratch/in/" || failed=1
cat >"$scratch/in/paginate.sh" <<'END'
set -eu
lines=5
while getopts 'l:' option; do
    case $option in l) lines=$OPTARG ;; *) exit 2 ;; esac
done
shift $((OPTIND - 1))
awk -v lines="$lines" -f "${0%/*}/paginate.awk" "$1"
END

# pages COUNT LINES: paginates the lines 1 to COUNT and compares with pages that are made here in another way.
pages() {
    : >"$scratch/in/text"
    : >"$scratch/want"
    awk -v n="$1" -v l="$2" -v text="$scratch/in/text" -v want="$scratch/want" 'BEGIN {
        total = 0
        for (left = n; left > 0; left -= l) total++
        for (i = 1; i <= n; i++) {
            print "row " i "  " > text
            print "row " i "  " > want
            if (i % l == 0 || i == n) print "-- page " ++page " of " total " --" > want
        }
    }'
    run sh "$scratch/in/paginate.sh" -l "$2" "$scratch/in/text"
    printed $? <"$scratch/want"
    check "lines-$1-by-$2" $?
}

pages 0 5
pages 1 5
pages 5 5
pages 6 5
pages 21 7
pages 3 1

holds "$work/paginate.sh" <<'END'
#!/bin/sh
# paginate.sh [-l LINES] FILE: prints a text in pages with footers.
set -eu
lines=5
while getopts 'l:' option; do
    case $option in
    l) lines=$OPTARG ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
awk -v lines="$lines" -f "$(dirname "$0")/paginate.awk" "${1:?usage: paginate.sh [-l LINES] FILE}"
END
check wrapper-left-alone $?

for file in samples/empty.txt tests/expected/empty.txt; do
    [ -f "$work/$file" ] && [ ! -s "$work/$file" ]
    check "$file" $?
done

exit "$failed"
