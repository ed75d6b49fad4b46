# Settings from a file of KEY=VALUE lines. Set conf_get_debug=1 to see each look-up on standard error.

# conf_get FILE KEY: prints the value of a key; status 1 if the file does not have it.
conf_get() {
    if [ ! -r "$1" ]; then
        echo "conf_get: cannot read $1" >&2
        return 1
    fi
    if [ "${conf_get_debug:-0}" = 1 ]; then
        echo "looking for $2 in $1" >&2
    fi
    if ! grep -q "^$2=" "$1"; then
        echo "conf_get: no such key: $2" >&2
        return 1
    fi
    sed -n "s/^$2=//p" "$1"
}

# conf_get_all FILE: prints every key, sorted.
conf_get_all() {
    sed -n 's/^\([a-z_]*\)=.*/\1/p' "$1" | sort
}
