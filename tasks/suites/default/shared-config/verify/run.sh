#!/bin/sh
# The hidden check. bench-canary-c998bcdad6a85b81aba61acc
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

run sh "$work/bin/render.sh" api
printed $? <<'END'
db_host=db.internal
db_pool=20
log_format=json
log_level=info
port=8080
region=eu-west
retry_limit=3
service=api
END
check api-unchanged $?

run sh "$work/bin/render.sh" worker
printed $? <<'END'
callback=https://hooks.internal/jobs?source=worker
db_host=db.internal
db_pool=5
log_format=json
log_level=debug
region=eu-west
retry_limit=3
service=worker
END
check worker-unchanged $?

run sh "$work/bin/render.sh" mailer
printed $? <<'END'
db_host=db.internal
log_format=json
log_level=info
port=2525
region=eu-west
retry_limit=8
service=mailer
END
check mailer-unchanged $?

# Each shared key: how often in all files, how often in the shared one. Two of them have one exception.
awk -F= '
    { all[$1]++ }
    FILENAME ~ /common\.conf$/ { shared[$1]++ }
    END {
        count = split("db_host log_format log_level region retry_limit", keys, " ")
        for (i = 1; i <= count; i++) print keys[i], all[keys[i]] + 0, shared[keys[i]] + 0
    }
' "$work"/conf/*.conf >"$scratch/out"
printed $? <<'END'
db_host 1 1
log_format 1 1
log_level 2 1
region 1 1
retry_limit 2 1
END
check shared-settings-stand-once $?

# The same script over other settings: a changed shared value, a new service, a value with "=" in it.
mkdir "$scratch/in/conf" && cp -R "$work/bin" "$scratch/in/" || exit 2
cat >"$scratch/in/conf/common.conf" <<'END'
# shared
log_level=warn
token=a=b=c

region=eu-west
END
cat >"$scratch/in/conf/search.conf" <<'END'
service=search
# differs
region=us-east
motto=lost = found = kept
END
cp "$work/conf/api.conf" "$scratch/in/conf/" || exit 2

run sh "$scratch/in/bin/render.sh" search
printed $? <<'END'
log_level=warn
motto=lost = found = kept
region=us-east
service=search
token=a=b=c
END
check new-service $?

run sh "$scratch/in/bin/render.sh" api
printed $? <<'END'
db_pool=20
log_level=warn
port=8080
region=eu-west
service=api
token=a=b=c
END
check shared-change-reaches-api $?

run sh "$scratch/in/bin/render.sh" worker
[ $? -eq 1 ] && [ ! -s "$scratch/out" ] && [ -s "$scratch/err" ]
check unknown-service $?

grep -q 'common\.conf' "$work/README.md"
check described-in-readme $?

exit "$failed"
