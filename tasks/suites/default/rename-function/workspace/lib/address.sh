# address FILE: prints HOST:PORT as the file says.
address() {
    host=$(conf_get "$1" host) && port=$(conf_get "$1" port) || return 1
    echo "$host:$port"
}
