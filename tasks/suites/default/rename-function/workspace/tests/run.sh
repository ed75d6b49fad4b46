#!/bin/sh
# Checks names and output. Usage: sh tests/run.sh
cd "$(dirname "$0")/.." || exit 1
failures=0

same() { # NAME WANTED FOUND
    if [ "$2" = "$3" ]; then
        echo "ok   $1"
    else
        echo "FAIL $1: wanted '$2', found '$3'"
        failures=$((failures + 1))
    fi
}

same "read_setting answers" db.internal "$(. lib/settings.sh; read_setting etc/db.conf host 2>&1)"
same "its messages carry its name" "read_setting: no such key: colour" "$(. lib/settings.sh; read_setting etc/db.conf colour 2>&1)"
same "conf_get_all is still there" "host port user" "$(. lib/settings.sh; echo $(conf_get_all etc/db.conf))"
same "show prints one" 6379 "$(sh bin/show.sh etc/cache.conf port)"
same "connect prints the place" "connecting to cache.internal:6379 as nobody" "$(sh bin/connect.sh etc/cache.conf)"
same "the old name is gone from code" "" "$(grep -wl conf_get lib/*.sh bin/*.sh)"

[ "$failures" -eq 0 ] && echo "all checks passed" || { echo "$failures failed"; exit 1; }
