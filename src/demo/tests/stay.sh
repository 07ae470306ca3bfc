# The demonstration that stays: it tells where its page is, serves it, and ends with nothing left.
# Usage: bash stay.sh RUN
set -u
run=$1
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/../shell/processes.sh"
mkdir "$scratch/tmp"
TMPDIR=$scratch/tmp start "$scratch/output" bash "$run" --stay --buyers 4 --stock 3 --processes 2
stayed=$!
shown() { ! alive "$stayed" || grep -q 'Ctrl-C' "$scratch/output"; }
await 120 shown || die "it tells of no page: $(cat "$scratch/output")"
addresses=$(sed -n 's|.*http://\(127\.0\.0\.1:[0-9]*\)/.*|\1|p' "$scratch/output")
(($(wc -l <<<"$addresses") == 2)) || die "not two addresses: $(cat "$scratch/output")"

# request ADDRESS METHOD TARGET [BODY]: prints status and body.
request() {
    local body=${4-} status line
    exec 5<>"/dev/tcp/${1%:*}/${1#*:}" || die "no connection to $1"
    printf '%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s' \
        "$2" "$3" "${#body}" "$body" >&5
    read -r -t 60 -u 5 _ status _ || die "no answer of $1"
    while read -r -t 60 -u 5 line && [[ $line != $'\r' ]]; do :; done
    echo "$status $(cat <&5)"
    exec 5>&-
}
for address in $addresses; do
    [[ $(request "$address" GET /) == '200 '*'<title>Flash sale'*'</html>' ]] || die "no page at $address"
    [[ $(request "$address" GET /report) == '200 '*'"units":3,'* ]] || die "not 3 units at $address"
done
[[ $(request "$address" POST /rush '{"lock":true}') == '202 {"rush":1}' ]] || die "no rush"
sold() { [[ $(request "$address" GET /report) == '200 {"units":0,'*'"sold":3,'* ]]; }
await 60 sold || die "not 3 were sold: $(request "$address" GET /report)"

kill -TERM "$stayed"
wait "$stayed"
status=$?
((status == 143)) || die "the status is $status: $(cat "$scratch/output")"
[[ -z $(ls -A "$scratch/tmp") ]] || die "files are left: $(ls -A "$scratch/tmp")"
