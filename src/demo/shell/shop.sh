# The order servers, and their database. To be sourced after processes.sh. What the user has asked for is in variables
# of `run`: processes, buyers, stock, payment and so on.
# shellcheck disable=SC2154 # those
# shellcheck shell=bash

sql() {
    sqlite3 -batch -init /dev/null "$scratch/$1.db" "$2"
}

server_pids=()
server_addresses=()

server_ready() {
    ! alive "${server_pids[$1]}" || grep -q ' listening on ' "$scratch/server-$1.log"
}

# open_shop DATABASE ARGUMENTS...: starts the order servers and waits until they take orders.
open_shop() {
    local i name address of_one database=$scratch/$1.db
    shift
    server_pids=()
    server_addresses=()
    for ((i = 0; i < processes; i++)); do
        name=$(printf "\\$(printf %o $((65 + i)))")
        of_one=()
        ((i > 0)) || [[ -z $port ]] || of_one=(--port "$port")
        start "$scratch/server-$i.log" "$programs/order_server" --name "$name" --database "$database" \
            --payment "$payment" "${of_one[@]+"${of_one[@]}"}" "$@"
        server_pids+=("$!")
    done
    for ((i = 0; i < processes; i++)); do
        await 12 server_ready "$i" || die "an order server did not start within 12 s"
        address=$(sed -n 's/.* listening on //p' "$scratch/server-$i.log")
        [[ $address ]] || die "$(cat "$scratch/server-$i.log")"
        server_addresses+=(--server "$address")
    done
}

# Ends the order servers as an operator would, and insists that they end well.
close_shop() {
    local pid status=0
    kill -TERM "${server_pids[@]}"
    for pid in "${server_pids[@]}"; do
        wait "$pid" || status=$?
    done
    ((status == 0)) || die "an order server ended with status $status: $(cat "$scratch"/server-*.log)"
}

# An address by which others in the network reach this machine; its name if it has none of IPv4.
own_address() {
    local address
    for address in $(hostname -I 2>/dev/null); do
        if [[ $address != *:* ]]; then
            echo "$address"
            return
        fi
    done
    hostname 2>/dev/null || echo localhost
}

# hurry STATUS: a signal has come. Whoever waits for the lock gives up: the orders of a rush are not finished first.
hurry() {
    trap '' INT TERM HUP # once is enough
    kill -INT "${server_pids[@]}" 2>/dev/null
    exit "$1"
}

# stay ARGUMENTS...: the page. Order servers that stay until they are told to go, or one of them ends.
stay() {
    local i at=127.0.0.1 page
    [[ $listen != 0.0.0.0 ]] || at=$(own_address)
    [[ -z $listen || $listen == 0.0.0.0 ]] || at=$listen
    # To be watched: a rush takes some four seconds.
    payment=$((stock > 10 ? 4000 / stock : 400))
    cp "$scratch/stock.db" "$scratch/shop.db"
    open_shop shop "$@" --path "/zklock-demo/${scratch##*.}" --lock-timeout 600000 \
        --rush-buyers "$buyers" --rush-stock "$stock" ${listen:+--listen "$listen" --host "$at"} ${fenced:+--fenced} \
        ${sessions_per_buyer:+--session-per-order}
    echo
    echo "THE PAGE of the order servers, which are $processes processes with one database and one lock:"
    for ((i = 0; i < processes; i++)); do
        page=${server_addresses[2 * i + 1]}
        echo "  http://$at:${page##*:}/"
    done
    echo "Ctrl-C ends them."
    trap 'hurry 130' INT
    trap 'hurry 143' TERM
    trap 'hurry 129' HUP
    wait -n
    die "one of them has ended: $(tail -n 3 "$scratch"/*.log)"
}
