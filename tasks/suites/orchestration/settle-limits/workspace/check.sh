#!/bin/sh
# check.sh PACKAGE says what the package's limit has to be, and whether it is.
case $1 in
amber) text='the smaller of 23 and 72' code=2437560297 ;;
coral) text='the smaller of 52 and 51' code=884207219 ;;
jade) text='the smaller of 88 and 23' code=2437560297 ;;
onyx) text='the smaller of 53 and 18' code=1803607777 ;;
*) echo "no such package" && exit 2 ;;
esac
limit=$(cat "packages/$1/limit" 2>/dev/null || echo none)
echo "$1: the limit must be $text; it is $limit"
[ "$(printf '%s' "$limit" | cksum | cut -d ' ' -f 1)" = "$code" ] && echo ok
