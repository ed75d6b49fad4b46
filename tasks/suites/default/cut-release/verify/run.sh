#!/bin/sh
# The hidden check. bench-canary-143eadd8c3946941ea729610
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

# is FILE: is the file exactly what stands on stdin?
is() {
    holds "$work/$1"
    check "$1" $?
}

is VERSION <<'END'
2.4.0
END

is docs/install.md <<'END'
# Installing tally

    fetch https://dist.example/tally-2.4.0.tar.gz
    tar xf tally-2.4.0.tar.gz
    sh tally-2.4.0/install.sh

tally needs gridlib 2.3.1 or newer.

When you upgrade from 2.3.1 or older, delete the cache first: its format has changed.
END

is packaging/tally.spec <<'END'
name: tally
version: 2.4.0
release: 1
requires: gridlib >= 2.3.1
summary: adds up numbers
END

# Empty lines between sections are a matter of taste.
sed '/^$/d' "$work/CHANGELOG.md" >"$scratch/out" 2>/dev/null
printed $? <<'END'
# Changelog
## Unreleased
## 2.4.0 - 2026-03-02
- Several numbers on one line are added up.
- The cache has a new format; delete the old one.
## 2.3.1 - 2025-11-19
- Works with gridlib 2.3.1.
## 2.3.0 - 2025-10-02
- `--version`.
END
check changelog $?

run sh "$work/bin/tally.sh" --version
printed $? <<'END'
tally 2.4.0
END
check version-option $?

run sh -c 'printf "3 4\n5\n" | sh "$1"' sh "$work/bin/tally.sh"
printed $? <<'END'
12
END
check still-adds-up $?

grep -q 'Needs gridlib 2\.3\.1' "$work/bin/tally.sh"
check library-version-kept $?

# The check of the release, then on a copy in which three places are wrong.
run sh "$work/tools/check-release.sh"
[ $? -eq 0 ] && grep -q '^ok  *packaging/tally\.spec' "$scratch/out"
check release-check-passes $?

cp -R "$work/." "$scratch/in/" || exit 2
cd "$scratch/in" && sed -i '/gridlib/!s/2\.4\.0/9.9.9/' packaging/tally.spec bin/tally.sh docs/install.md
run sh tools/check-release.sh
[ $? -ne 0 ] && [ "$(grep -c '^WRONG .*9\.9\.9' "$scratch/out")" -eq 3 ]
check three-wrong-places-are-seen $?
grep -q '^WRONG packaging/tally\.spec: 9\.9\.9' "$scratch/out"
check wrong-spec-is-named $?

exit "$failed"
