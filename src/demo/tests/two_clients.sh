# Two clients and one lock: what the program tells, and in which order; and that it finds out when B does not wait.
# Usage: bash two_clients.sh TWO_CLIENTS RUN
source "$(dirname "${BASH_SOURCE[0]}")/two_clients_scene.sh"

start_zookeeper
await_zookeeper
servers=127.0.0.1:$zookeeper_port
in_order="*A holds /*, with token *B asks for it*B is in line behind A:*A  session 0x*-lock-*B  session 0x*-lock-*A lets go*"
in_order+="B holds it, * ms later, with token *B lets go"

expect 0 "*TWO CLIENTS*$in_order" bash "$run" --two-clients --servers "$servers"
(($(grep -c 'with token' "$scratch/output") == 2)) || die "not two grants: $(cat "$scratch/output")"
expect 0 "$in_order" "$two_clients" --servers "$servers" --hold 0

# Two locks: B does not wait, and that is noticed.
expect 1 '*FAILED: B *' "$two_clients" --servers "$servers" --path /two/a --path-of-b /two/b

# Another holds the lock: A does not get it, and says so. (It has the same time to connect, which may be too short on a
# busy machine.)
"$two_clients" --servers "$servers" --path /two/held --hold 3600000 >"$scratch/holder" 2>&1 &
holder=$!
in_line() { grep -q 'B is in line' "$scratch/holder" || ! alive "$holder"; }
await 60 in_line || die "nobody holds it: $(cat "$scratch/holder")"
for timeout in 1000 5000 20000; do
    step "$two_clients" --servers "$servers" --path /two/held --timeout "$timeout" >"$scratch/output" 2>&1
    status=$?
    [[ $(<"$scratch/output") == *'no ZooKeeper'* ]] || break
done
[[ $status == 1 && $(<"$scratch/output") == *'FAILED: A did not get the lock: '* ]] ||
    die "beside another holder: status $status: $(cat "$scratch/output")"
kill -KILL "$holder"
wait "$holder" 2>/dev/null

kill -KILL "$zookeeper"
wait "$zookeeper" 2>/dev/null
expect 1 "two clients: no ZooKeeper at $servers: *" "$two_clients" --servers "$servers" --timeout 300
expect 2 '*' "$two_clients" --hold -1
