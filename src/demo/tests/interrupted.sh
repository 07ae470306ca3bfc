# Stops the demonstration in the middle of its sales and checks that nothing is left: no process, no file.
# Usage: bash interrupted.sh RUN SIGNAL group|process. "group" is what Ctrl-C in a terminal does.
set -u
run=$1
signal=$2
target=$3

mine=$(mktemp -d)
trap 'rm -rf "$mine"' EXIT
fail() {
    echo "FAILED: $1"
    cat "$mine/output"
    [[ ${session-} ]] && kill -KILL -- "-$session" 2>/dev/null
    exit 1
}

# of_session ID: number and name of each of its processes, zombies aside.
of_session() {
    local stat line name state number
    for stat in /proc/[0-9]*/stat; do
        { read -r line <"$stat"; } 2>/dev/null || continue
        name=${line#*(}
        name=${name%)*}
        read -r state _ _ number _ <<<"${line##*) }"
        if [[ $number == "$1" && $state != Z ]]; then
            echo "${line%% *} $name"
        fi
    done
}

# stop_in TEXT NAME: once the demonstration has printed the text and the process of that name runs, it is signalled;
# then looks at what is left.
stop_in() {
    local line seen= running left status
    mkdir "$mine/tmp"
    mkfifo "$mine/pipe"
    : >"$mine/output"
    # A session of its own, and SIGINT as in a terminal: a shell's background jobs ignore it.
    TMPDIR=$mine/tmp setsid env --default-signal=INT bash "$run" --buyers 1000 --stock 1000 >"$mine/pipe" 2>&1 &
    session=$!
    exec 4<"$mine/pipe"
    while IFS= read -r -t 60 -u 4 line; do
        echo "$line" >>"$mine/output"
        [[ $line == *"$1"* ]] && seen=yes && break
    done
    [[ $seen ]] || fail "it never came to: $1"
    local deadline=$((SECONDS + 60))
    until running=$(of_session "$session") && [[ $running == *" $2"* ]]; do
        ((SECONDS < deadline)) || fail "$2 never ran; these did: $running"
        kill -0 "$session" 2>/dev/null || fail "it ended before $2 ran"
    done
    [[ $running == *' java'* ]] || fail "no ZooKeeper runs: $running"

    if [[ $target == group ]]; then kill -s "$signal" -- "-$session"; else kill -s "$signal" "$session"; fi
    # The pipe ends when the last process that could write to it is gone.
    while IFS= read -r -t 60 -u 4 line; do echo "$line" >>"$mine/output"; done
    wait "$session"
    status=$?
    exec 4<&-
    ((status == 128 + $(kill -l "$signal"))) || fail "the exit status is $status"
    ! grep -q RESULT "$mine/output" || fail "it claims a result"
    left=$(of_session "$session")
    [[ -z $left ]] || fail "processes are left: $left"
    [[ -z $(ls -A "$mine/tmp") ]] || fail "files are left: $(ls -A "$mine/tmp")"
    rm -r "$mine/tmp" "$mine/pipe"
}

stop_in 'WITHOUT A LOCK' java
stop_in 'WITH ZKLOCK' buyers
