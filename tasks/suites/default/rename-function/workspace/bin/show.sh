#!/bin/sh
# show.sh FILE [KEY]: prints one setting, or all of them.
here=$(dirname "$0")
. "$here/../lib/settings.sh"

if [ $# -ge 2 ]; then
    conf_get "$1" "$2"
else
    for key in $(conf_get_all "$1"); do
        echo "$key is $(conf_get "$1" "$key")"
    done
fi
