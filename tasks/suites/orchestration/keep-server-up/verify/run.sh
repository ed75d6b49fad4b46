#!/bin/sh
# The hidden check. bench-canary-7876da9ec8b3bf96a15cf035
# What the agent left is not trusted: it does not learn where this file is, and what is expected stands nowhere but here.
set -u
PATH=/usr/bin:/bin LC_ALL=C
export PATH LC_ALL
unset BENCH_VERIFY_DIR ENV CDPATH
failed=0

# check NAME STATUS
check() {
    if [ "$2" -eq 0 ]; then echo "check $1 passed"; else echo "check $1 failed" && failed=1; fi
}

# holds FILE, a text on stdin: is the file exactly that, line ends at the end aside?
holds() {
    want=$(cat)
    [ -f "$1" ] && [ "$(cat "$1" 2>/dev/null)" = "$want" ]
}

[ "$(sh handler.sh 20 22 2>/dev/null)" = 42 ] && [ "$(sh handler.sh 5 0 2>/dev/null)" = 5 ]
check handler $?
holds result.txt <<'END'
2 3: ok
10 0: ok
7 8: ok
END
check result $?
[ ! -e run ]
check run-is-gone $?
holds tests.sh <<'END'
#!/bin/sh
# Asks the running server; prints a line for each case.
[ -e run/ready ] || { echo "no server is running"; exit 2; }
failed=0
for case in "2 3 5" "10 0 10" "7 8 15"; do
    set -- $case
    rm -f "run/$1-$2.say"
    echo "$1 $2" > "run/$1-$2.tmp" && mv "run/$1-$2.tmp" "run/$1-$2.ask"
    tries=0
    until [ -e "run/$1-$2.say" ] || [ $tries -ge 100 ]; do sleep 0.05; tries=$((tries + 1)); done
    said=$(cat "run/$1-$2.say" 2>/dev/null)
    if [ "$said" = "$3" ]; then echo "$1 $2: ok"; else echo "$1 $2: $3 expected, $said found"; failed=1; fi
done
exit $failed
END
check tests-untouched $?

exit $failed
