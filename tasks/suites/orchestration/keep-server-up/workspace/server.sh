#!/bin/sh
# Answers requests: run/NAME.ask holds two numbers, run/NAME.say the answer. handler.sh is read anew for each.
rm -rf run && mkdir run
sleep 2 # warms up
: > run/ready
echo ready
while :; do
    for ask in run/*.ask; do
        [ -e "$ask" ] || continue
        read -r a b < "$ask"
        sh handler.sh "$a" "$b" > "${ask%.ask}.new" 2>&1
        mv "${ask%.ask}.new" "${ask%.ask}.say"
        rm -f "$ask"
    done
    sleep 0.05
done
