#!/bin/sh
# Builds the site in a copy and looks at it. Usage: sh tests/run.sh
cd "$(dirname "$0")/.." || exit 1
copy=$(mktemp -d) || exit 1
trap 'rm -rf "$copy"' EXIT
cp -R build.sh targets.txt recipes src "$copy"
cd "$copy" || exit 1
failures=0

report() { # STATUS NAME
    if [ "$1" -eq 0 ]; then
        echo "ok   $2"
    else
        echo "FAIL $2"
        failures=$((failures + 1))
    fi
}

sh build.sh > log.txt 2>&1
report $? "build.sh succeeds"
[ "$(grep -c '^building ' log.txt)" -eq 5 ]
report $? "five targets are built"
[ -z "$(sort log.txt | uniq -d)" ]
report $? "none is built twice"
grep -q '^FIELD NOTES begins here' out/site.txt 2>/dev/null
report $? "the site has its text"

echo 'exit 9' > recipes/body.sh
sh build.sh page > log.txt 2>&1
[ $? -eq 3 ]
report $? "a failing recipe exits with status 3"
! grep -q 'building page' log.txt
report $? "nothing is built after a failure"

[ "$failures" -eq 0 ] && echo "all tests passed" || { echo "$failures failed"; exit 1; }
