#!/bin/sh
# The hidden check. bench-canary-e088a478d22d47d30e257f7f
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

# A place of its own for each case: the script, a list of targets, and recipes that only say that they ran.
# place NAME, the targets on stdin
place() {
    here="$scratch/in/$1"
    mkdir -p "$here/recipes" && cp "$work/build.sh" "$here/" || exit 2
    cat >"$here/targets.txt"
    for target in $(sed 's/:.*//' "$here/targets.txt"); do
        echo "echo $target >> made.txt" >"$here/recipes/$target.sh"
    done
}

# made STATUS, the expected order on stdin
made() {
    cat >"$scratch/want"
    [ "$1" -eq 0 ] && cmp -s "$scratch/want" "$here/made.txt"
}

place diamond <<'END'
all: top
top: left right
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
top
all
END
check diamond-each-once $?

sed 's/^/building /' "$scratch/want" | cmp -s - "$scratch/out"
check lines-of-progress $?

place named <<'END'
all: a b
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
all: one two three
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
run sh "$here/build.sh"
[ $? -eq 4 ] && [ ! -e "$here/made.txt" ] && grep -q '^build: circular: [abc]$' "$scratch/err"
check circle-is-refused $?

place unknown <<'END'
all: a nobody
a:
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
