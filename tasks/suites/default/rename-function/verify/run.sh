#!/bin/sh
# The hidden check. bench-canary-9484e62260fbf7596aab3c36
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

cat >"$scratch/in/x.conf" <<'END'
host=h.example
port=99
note=a=b c
END
conf="$scratch/in/x.conf"

# call FUNCTION ARGUMENT...: sources the library as a program would, and calls one function.
call() {
    run sh -c '. "$1" && shift && "$@"' sh "$work/lib/settings.sh" "$@"
}

call read_setting "$conf" note
printed $? <<'END'
a=b c
END
check new-name-answers $?

call read_setting "$conf" missing
[ $? -eq 1 ] && [ ! -s "$scratch/out" ] && [ "$(cat "$scratch/err")" = "read_setting: no such key: missing" ]
check message-for-a-missing-key $?

call read_setting "$scratch/in/none.conf" host
[ $? -eq 1 ] && [ "$(cat "$scratch/err")" = "read_setting: cannot read $scratch/in/none.conf" ]
check message-for-a-missing-file $?

run sh -c 'conf_get_debug=1; . "$1" && read_setting "$2" port' sh "$work/lib/settings.sh" "$conf"
[ $? -eq 0 ] && [ "$(cat "$scratch/out")" = 99 ] && [ "$(cat "$scratch/err")" = "looking for port in $conf" ]
check debug-variable-kept $?

call conf_get_all "$conf"
printed $? <<'END'
host
note
port
END
check similar-function-kept $?

run sh -c '. "$1" && ! command -v conf_get' sh "$work/lib/settings.sh"
[ $? -eq 0 ]
check old-function-gone $?

run sh "$work/bin/show.sh" "$conf"
printed $? <<'END'
host is h.example
note is a=b c
port is 99
END
check show-all $?

run sh "$work/bin/show.sh" "$conf" port
printed $? <<'END'
99
END
check show-one $?

run sh "$work/bin/connect.sh" "$conf"
printed $? <<'END'
connecting to h.example:99 as nobody
END
check connect $?

! grep -qw conf_get "$work"/lib/*.sh "$work"/bin/*.sh "$work/docs/functions.md"
check no-trace-in-code-and-functions $?

changes="$work/docs/changes.md"
sed -n '/^## Unreleased/,/^## 1\.1/p' "$changes" | grep -w conf_get | grep -qw read_setting
check rename-is-announced $?

sed -n '/^## 1\.1/,$p' "$changes" >"$scratch/out" && printed 0 <<'END'
## 1.1

- `conf_get` answers status 1 for a missing key instead of an empty line.

## 1.0

- `conf_get` and `conf_get_all`.
END
check history-kept $?

exit "$failed"
