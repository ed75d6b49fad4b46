#!/bin/sh
# The hidden check. bench-canary-e088a478d22d47d30e257f7f
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

# A place of its own for each case: the script, a list of targets, and recipes that only say that they ran.
# place NAME, the targets on stdin
place() {
    here="$scratch/in/$1"
    mkdir -p "$here/recipes" && cp "$work/build.sh" "$here/" || exit 2
    cat >"$here/targets.txt"
    while IFS=: read -r target _; do
        echo "echo $target >> made.txt" >"$here/recipes/$target.sh"
    done <"$here/targets.txt"
}

# made STATUS, the expected order on stdin
made() {
    [ "$1" -eq 0 ] && holds "$here/made.txt"
}

place diamond <<'END'
all: left right
left: base
right: base deep
deep: left base
base:
END
run sh "$here/build.sh"
made $? <<'END'
base
left
deep
right
all
END
check diamond-each-once $?

printed 0 <<'END'
building base
building left
building deep
building right
building all
END
check lines-of-progress $?

place named <<'END'
all:
a: c
b: c
c:
d: a
END
run sh "$here/build.sh" d b
made $? <<'END'
c
a
d
b
END
check named-targets $?

place broken <<'END'
all: two three
one:
two: one
three:
END
echo 'exit 7' >"$here/recipes/two.sh"
run sh "$here/build.sh"
[ $? -eq 3 ] && [ "$(cat "$here/made.txt" 2>/dev/null)" = one ] && grep -q '^build: two failed$' "$scratch/err"
check failing-recipe-stops $?

place circle <<'END'
all: a
a: b
b: c
c: a
END
# A script that runs in the circle for ever hits the end of a small stack soon.
run sh -c 'ulimit -s 512 2>/dev/null; exec sh "$1"' sh "$here/build.sh"
[ $? -eq 4 ] && [ ! -e "$here/made.txt" ] && grep -q '^build: circular: [abc]$' "$scratch/err"
check circle-is-refused $?

place unknown <<'END'
all: nobody
END
run sh "$here/build.sh"
[ $? -eq 2 ] && [ -s "$scratch/err" ]
check unknown-need $?
run sh "$here/build.sh" somebody
[ $? -eq 2 ] && [ -s "$scratch/err" ]
check unknown-name $?

mkdir "$scratch/in/site" && cp -R "$work/build.sh" "$work/targets.txt" "$work/recipes" "$work/src" "$scratch/in/site/" || exit 2
echo 'tide tables' >"$scratch/in/site/src/title.txt"
run sh -c 'cd / && sh "$1" && cat "$2"' sh "$scratch/in/site/build.sh" "$scratch/in/site/out/site.txt"
printed $? <<'END'
building header
building body
building page
building feed
building all
TIDE TABLES
TIDE TABLES begins here.
It rained all week.
feed: TIDE TABLES begins here.
feed: It rained all week.
END
check the-site-itself $?

exit "$failed"
