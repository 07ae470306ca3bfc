# One order server, over raw HTTP: what it answers to good and bad requests, with and without the lock, and how it ends.
# Usage: bash order_server.sh ORDER_SERVER STOCK_SQL
set -u
order_server=$1
stock_sql=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/../shell/processes.sh"
source "$here/../shell/zookeeper.sh"

listening() {
    ! alive "$server" || grep -q ' listening on ' "$scratch/log"
}

# serve ARGUMENT...: starts a server of two units of stock. Sets server and port.
serve() {
    rm -f "$scratch"/shop.db*
    { cat "$stock_sql" && echo 'INSERT INTO stock (id, units) VALUES (1, 2)'; } |
        sqlite3 -batch -init /dev/null "$scratch/shop.db" >/dev/null || die "no database"
    start "$scratch/log" "$order_server" --database "$scratch/shop.db" "$@"
    server=$!
    await 60 listening || die "it does not listen"
    port=$(sed -n 's/.* listening on .*://p' "$scratch/log")
    [[ $port ]] || die "it ended: $(cat "$scratch/log")"
}

# request METHOD TARGET [BODY [TYPE]]: over a connection of its own; prints the status and the body.
request() {
    local body=${3-} type=${4-application/json}
    exec 5<>"/dev/tcp/127.0.0.1/$port" || die "no connection"
    printf '%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n' "$1" "$2" >&5
    printf 'Content-Type: %s\r\nContent-Length: %d\r\n\r\n%s' "$type" "${#body}" "$body" >&5
    answer
}

answer() {
    local status line
    read -r -t 60 -u 5 _ status _ || die "no answer"
    while read -r -t 60 -u 5 line && [[ $line != $'\r' ]]; do :; done
    printf '%s ' "$status"
    cat <&5
    exec 5>&-
}

# expect TEXT COMMAND...: what the command prints begins with the text, which may be a pattern.
expect() {
    local pattern=$1 got
    shift
    got=$("$@")
    # shellcheck disable=SC2053 # a pattern
    [[ $got == $pattern ]] || die "${*:0:200}: expected $pattern, got $got; $(cat "$scratch/log")"
}

# ends: SIGTERM must end it well, soon.
ends() {
    kill -TERM "$server"
    wait "$server" || die "it ended with status $?: $(cat "$scratch/log")"
}

# --- without the lock: requests
serve --no-lock --payment 1
expect '200 *"lock":false*' request GET /health
for body in '' '{' '[]' '"Ada"' '{}' '{"buyer":7}' '{"buyer":""}' '{"buyer":"a\nb"}' '{"buyer":"Ada"}x' \
    "{\"buyer\":\"$(printf 'x%.0s' {1..101})\"}"; do
    expect '400 {"error":*' request POST /orders "$body"
done
expect '413 {"error":*' request POST /orders "$(printf '%20000s' '')"
expect '405 {"error":*' request GET /orders
expect '405 {"error":*' request POST /report
expect '404 {"error":*' request GET /nothing
expect '400 {"error":*' request POST /orders '{"buyer":"Ada","lock":1}'
expect '400 {"error":*' request POST /orders '{"buyer":"Ada","lock":true}'
expect '404 {"error":"there is no lock"}' request GET /metrics
# What any web page could have a browser send here is refused.
for type in '' text/plain application/x-www-form-urlencoded application/jsonp; do
    expect '415 {"error":*' request POST /orders '{"buyer":"Ada"}' "$type"
    expect '415 {"error":*' request POST /rush '{"lock":false}' "$type"
done
exec 5<>"/dev/tcp/127.0.0.1/$port"
printf 'this is not HTTP\r\n\r\n' >&5
expect '400 {"error":*' answer
expect '201 *"buyer":"Ada"*"stock_read":2*"outcome":"sold"*"stock_written":1}' request POST /orders '{"buyer":"Ada"}'
expect '201 *"outcome":"sold"*' request POST /orders '{"buyer":"Zo\u00eb"}' \
    'Application/JSON; charset=utf-8'
expect '409 *"outcome":"sold out"*' request POST /orders '{"buyer":"Cleo"}'
expect '200 {"units":0,"last_token":0,"stale_writes":0,"sold":2,"orders":\[*"Ada"*"Zoë"*' request GET /report
expect '200 {"queue":\[\]}' request GET /queue

ends
for option in --fenced --session-per-order; do
    none=$("$order_server" --database "$scratch/shop.db" --no-lock $option 2>&1)
    [[ $? == 2 && $none == *--no-lock* ]] || die "$option without a lock says: $none"
done

# --- with the lock
start_zookeeper
await_zookeeper
serve --servers "127.0.0.1:$zookeeper_port" --payment 8000 --lock-timeout 2000
expect '200 *"lock":true,"connection":"connected"*' request GET /health
request POST /orders '{"buyer":"Ada"}' >"$scratch/first" &
first=$!
holds() { [[ $(request GET /queue) == *'"buyer":"Ada"'* ]]; }
await 60 holds || die "Ada is not in the queue"
expect '503 {"error":"no lock: the time is up, and others were first"}' request POST /orders '{"buyer":"Ben"}'
expect '200 # HELP *zklock_acquires_total{lock="stock",result="acquired"} 1
zklock_acquires_total{lock="stock",result="timed_out"} 1
*zklock_held_locks{lock="stock"} 1
*' request GET /metrics
if command -v promtool >/dev/null; then
    request GET /metrics | sed '1s/^200 //' | promtool check metrics >"$scratch/promtool" 2>&1 ||
        die "promtool: $(cat "$scratch/promtool")"
else
    skipped="promtool is not installed: it has not looked at /metrics"
fi

# --- the end: an idle connection does not hold it up, the order under way is finished and answered
exec 6<>"/dev/tcp/127.0.0.1/$port"
printf 'GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n' >&6
read -r -t 60 -u 6 line && [[ $line == *200* ]] || die "no answer on the connection that is to be idle"
ends
wait "$first"
expect '201 *"buyer":"Ada"*"token":[1-9]*"outcome":"sold"*' cat "$scratch/first"
timeout 60 cat <&6 >/dev/null || die "the idle connection is still open"
exec 6>&-

# --- an old token is refused by the stock itself if that is asked for, and the refusal recorded (servers that are down
# are passed over)
for fenced in '' --fenced; do
    serve --servers "127.0.0.1:1,127.0.0.1:2,127.0.0.1:3,127.0.0.1:$zookeeper_port" --payment 1 --lock-timeout 5000 \
        $fenced
    expect '200 {"queue":\[\]}' request GET /queue
    sqlite3 -batch -init /dev/null "$scratch/shop.db" 'UPDATE stock SET last_token = 9223372036854775807' ||
        die "no update"
    if [[ $fenced ]]; then
        expect '503 *"outcome":"refused: a later token has written"*' request POST /orders '{"buyer":"Ada"}'
        expect '200 {"units":2,*"stale_writes":1,"sold":0,*' request GET /report
        ends
    else
        expect '201 *"outcome":"sold"*"stock_written":1}' request POST /orders '{"buyer":"Ada"}'
        expect '200 {"units":1,"last_token":9223372036854775807,"stale_writes":0,"sold":1,*' request GET /report
        ends
    fi
done

# --- a session for each order: they wait for each other; in a hurry, whoever waits is told at once
serve --servers "127.0.0.1:$zookeeper_port" --payment 1 --session-per-order
session_of() { [[ $1 =~ \"session\":(-?[0-9]+) ]] && echo "${BASH_REMATCH[1]}"; }
ada=$(session_of "$(request POST /orders '{"buyer":"Ada"}')") || die "Ada's order has no session"
ben=$(session_of "$(request POST /orders '{"buyer":"Ben"}')") || die "Ben's order has no session"
[[ $ada != "$ben" ]] || die "two orders, one session: $ada"
expect '409 *"outcome":"sold out"*' request POST /orders '{"buyer":"Cleo"}'
expect "200 {\"units\":0,*\"sold\":2,*\"session\":$ada}*\"session\":$ben}*" request GET /report
ends

serve --servers "127.0.0.1:$zookeeper_port" --payment 60000 --lock-timeout 3600000 --session-per-order
request POST /orders '{"buyer":"Ada"}' >"$scratch/first" &
first=$!
await 60 holds || die "Ada is not in the queue"
request POST /orders '{"buyer":"Ben"}' >"$scratch/second" &
second=$!
both_queue() { [[ $(request GET /queue) == *'"buyer":"Ada"'*'"buyer":"Ben"'* ]]; }
await 60 both_queue || die "Ben is not in the queue: $(request GET /queue)"
kill -INT "$server"
wait "$server" || die "it ended with status $?: $(cat "$scratch/log")"
wait "$first" "$second"
expect '503 {"error":"no lock: *' cat "$scratch/first"
expect '503 {"error":"no lock: *' cat "$scratch/second"

# --- the first SIGTERM has it finish the order under way; the second does not
serve --servers "127.0.0.1:$zookeeper_port" --payment 60000 --lock-timeout 3600000
request POST /orders '{"buyer":"Ada"}' >"$scratch/first" &
first=$!
await 60 holds || die "Ada is not in the queue"
kill -TERM "$server"
closed() { ! { exec 7<>"/dev/tcp/127.0.0.1/$port"; } 2>/dev/null; }
await 60 closed || die "it takes connections after SIGTERM"
alive "$server" || die "it has not waited for Ada"
kill -TERM "$server"
wait "$server" || die "it ended with status $?: $(cat "$scratch/log")"
wait "$first"
expect '503 {"error":"no lock: *' cat "$scratch/first"

serve --servers "127.0.0.1:$zookeeper_port" --payment 1 --lock-timeout 2000

# --- no ZooKeeper any more: orders are refused in time, and it still ends well; none at the start: it says so
kill -KILL "$zookeeper"
wait "$zookeeper" 2>/dev/null
unhealthy() { [[ $(request GET /health) == 503* ]]; }
await 60 unhealthy || die "it does not notice that ZooKeeper is gone"
expect '503 {"error":"no lock: not connected, or no answer of the servers in time"}' \
    request POST /orders '{"buyer":"Ada"}'
expect '200 *zklock_acquires_total{lock="stock",result="not_connected"} 1*' request GET /metrics
ends
none=$("$order_server" --database "$scratch/shop.db" --servers "127.0.0.1:$zookeeper_port" \
    --connect-timeout 300 2>&1)
[[ $? == 1 && $none == *"no ZooKeeper at 127.0.0.1:$zookeeper_port"* ]] || die "without a ZooKeeper it says: $none"
sqlite3 -batch -init /dev/null "$scratch/shop.db" 'DROP TABLE rushes' || die "the table cannot be dropped"
none=$("$order_server" --database "$scratch/shop.db" --no-lock 2>&1)
[[ $? == 1 && $none == *"shop.db: made by an older version"* ]] || die "with an older database it says: $none"
none=$("$order_server" --database "$scratch/nothing.db" --no-lock 2>&1)
[[ $? == 1 && $none == *nothing.db* ]] || die "without a database it says: $none"

# --- what could not be played
[[ -z ${skipped-} ]] || { echo "skipped: $skipped"; exit 4; }
