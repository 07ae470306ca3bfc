# The demonstration that stays: it tells where its page is, serves it, and ends with nothing left.
# Usage: bash stay.sh RUN
set -u
run=$1
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/../shell/processes.sh"
mkdir "$scratch/tmp"
TMPDIR=$scratch/tmp start "$scratch/output" bash "$run" --stay --processes 2
stayed=$!
shown() { ! alive "$stayed" || grep -q 'Ctrl-C' "$scratch/output"; }
await 120 shown || die "it tells of no page: $(cat "$scratch/output")"
addresses=$(sed -n 's|.*http://\(127\.0\.0\.1:[0-9]*\)/.*|\1|p' "$scratch/output")
(($(wc -l <<<"$addresses") == 2)) || die "not two addresses: $(cat "$scratch/output")"

# request ADDRESS METHOD TARGET [BODY]: prints status and body.
request() {
    local body=${4-} status line
    exec 5<>"/dev/tcp/${1%:*}/${1#*:}" || die "no connection to $1"
    printf '%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n' "$2" "$3" >&5
    printf 'Content-Length: %d\r\n\r\n%s' "${#body}" "$body" >&5
    read -r -t 60 -u 5 _ status _ || die "no answer of $1"
    while read -r -t 60 -u 5 line && [[ $line != $'\r' ]]; do :; done
    echo "$status $(cat <&5)"
    exec 5>&-
}
for address in $addresses; do
    [[ $(request "$address" GET /) == '200 '*'<title>Flash sale'*'</html>' ]] || die "no page at $address"
    [[ $(request "$address" GET /report) == '200 '*'"units":10,'* ]] || die "not 10 units at $address"
done
[[ $(request "$address" POST /rush '{"lock":true}') == '202 {"rush":1}' ]] || die "no rush"
sold() { [[ $(request "$address" GET /report) == '200 {"units":0,'*'"sold":10,'* ]]; }
await 60 sold || die "not 10 were sold: $(request "$address" GET /report)"

# Its end in the middle of a rush: Zoe, who waits behind the buyers of 10 units, some four seconds, is told at once that
# she does not get the lock.
started() { [[ $(request "$address" POST /rush '{"lock":true}') == '202 {"rush":2}' ]]; }
await 60 started || die "no second rush"
many_wait() { [[ $(request "$address" GET /queue) == *'"buyer":'*'"buyer":'*'"buyer":'*'"buyer":'*'"buyer":'* ]]; }
await 60 many_wait || die "no queue: $(request "$address" GET /queue)"
request "$address" POST /orders '{"buyer":"Zoe","lock":true}' >"$scratch/zoe" &
zoe=$!
zoe_waits() { [[ $(request "$address" GET /queue) == *'"buyer":"Zoe"'* ]]; }
await 60 zoe_waits || die "Zoe is not in the queue"
kill -TERM "$stayed"
wait "$zoe"
[[ $(cat "$scratch/zoe") == '503 {"error":"no lock: '* ]] || die "Zoe is told: $(cat "$scratch/zoe")"
wait "$stayed"
status=$?
((status == 143)) || die "the status is $status: $(cat "$scratch/output")"
! grep 'has to be killed.*order_server' "$scratch/output" || die "an order server did not end by itself"
[[ -z $(ls -A "$scratch/tmp") ]] || die "files are left: $(ls -A "$scratch/tmp")"
