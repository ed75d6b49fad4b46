#!/bin/sh
# connect.sh FILE: says where it would connect to.
here=$(dirname "$0")
. "$here/../lib/settings.sh"
. "$here/../lib/address.sh"

if ! user=$(conf_get "$1" user 2>/dev/null); then
    user=nobody
fi
place=$(address "$1") || exit 1
echo "connecting to $place as $user"
