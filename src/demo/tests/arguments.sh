# What the demonstration says to arguments that it cannot use. Usage: bash arguments.sh RUN
set -u
run=$1
failures=0

# expect STATUS TEXT ARGUMENT...: the status, and the text somewhere in what it prints.
expect() {
    local status=$1 text=$2 output got
    shift 2
    output=$(bash "$run" "$@" 2>&1)
    got=$?
    if [[ $got != "$status" || $output != *"$text"* || $output == *RESULT* ]]; then
        printf 'run %s\n  gave %s instead of %s, with "%s" expected in:\n%s\n' "$*" "$got" "$status" "$text" "$output"
        failures=$((failures + 1))
    fi
}

expect 0 'Usage: bash src/demo/run' --help
for option in --buyers --stock --processes; do
    expect 2 "$option needs a value" "$option"
    for value in 0 -1 1.5 ten '' 000 1001 99999999999999999999 '5 5'; do
        expect 2 "$option takes a number" "$option" "$value"
    done
    expect 2 "$option takes a number" "$option=x"
done
expect 2 '--servers needs a value' --servers
for value in '' , localhost localhost: :2181 localhost:0 localhost:65536 localhost:2181, localhost:2181,x 'a b:1' \
    localhost:2181/chroot; do
    expect 2 '--servers takes HOST:PORT' --servers "$value"
done
for option in --buyers=3 --stock=3 --processes=3 --fenced --sessions-per-buyer; do
    expect 2 '--two-clients goes with --servers only' --two-clients "$option"
    expect 2 '--two-clients goes with --servers only' "$option" --two-clients
done
expect 2 '--port needs a value' --stay --port
expect 2 '--stay does not go with --two-clients' --stay --two-clients
expect 2 '--port and --listen go with --stay' --port 8080
expect 2 '--port and --listen go with --stay' --listen 127.0.0.1
for value in 0 -1 x '' 65536; do
    expect 2 '--port takes a number' --stay --port "$value"
done
expect 2 '--listen needs a value' --stay --listen
for value in '' localhost 1.2.3 1.2.3.4.5 1.2.3.256; do
    expect 2 '--listen takes an address' --stay --listen "$value"
done
expect 2 '--tls-ca needs a value' --tls --tls-ca
expect 2 '--tls-ca takes a file' --tls --tls-ca /no/such/file --servers localhost:1
expect 2 '--tls-ca goes with --tls and --servers' --tls-ca /dev/null --servers localhost:1
expect 2 '--tls-ca goes with --tls and --servers' --tls-ca /dev/null --tls
expect 2 '--sasl does not go with --servers' --sasl --servers localhost:1
for option in --fenced --sessions-per-buyer --two-clients --tls --sasl --stay; do
    expect 2 "$option takes no value" "$option=yes"
done
expect 2 'unknown argument' --byers 3
expect 2 'unknown argument' 15

# Nobody listens on port 1, and a name under .invalid never resolves.
began=$SECONDS
expect 1 'no ZooKeeper answers at 127.0.0.1:1,zklock.invalid:2181' --servers 127.0.0.1:1,zklock.invalid:2181
expect 1 'no ZooKeeper answers at 127.0.0.1:1' --two-clients --servers 127.0.0.1:1
if ((SECONDS - began > 40)); then
    echo "an unreachable server took $((SECONDS - began)) s to be found out"
    failures=$((failures + 1))
fi
exit $((failures > 0))
