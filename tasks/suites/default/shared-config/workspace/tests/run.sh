#!/bin/sh
# Checks the settings. Usage: sh tests/run.sh
cd "$(dirname "$0")/.." || exit 1
failures=0

fail() {
    echo "FAIL $1"
    failures=$((failures + 1))
}

for service in api worker mailer; do
    if [ "$(sh bin/render.sh "$service")" = "$(cat "tests/expected/$service.txt")" ]; then
        echo "ok   settings of $service are unchanged"
    else
        fail "settings of $service differ from tests/expected/$service.txt"
    fi
done

for key in log_format db_host region; do
    set -- $(grep -h "^$key=" conf/*.conf)
    times=$#
    if [ "$times" -eq 1 ]; then
        echo "ok   $key is written once"
    else
        fail "$key is written $times times in conf/"
    fi
done

if [ -f conf/common.conf ]; then echo "ok   conf/common.conf exists"; else fail "conf/common.conf is missing"; fi

[ "$failures" -eq 0 ] && echo "all checks passed" || { echo "$failures failed"; exit 1; }
