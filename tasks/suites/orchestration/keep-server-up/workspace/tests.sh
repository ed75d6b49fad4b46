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
