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

# of_session ID: the processes of a session, zombies aside. Fields after the name: state, parent, group, session.
of_session() {
    local line rest
    for stat in /proc/[0-9]*/stat; do
        { read -r line <"$stat"; } 2>/dev/null || continue
        rest=${line##*) }
        set -- "$1" $rest
        [[ $5 == "$1" && $2 != Z ]] && echo "${line%% *}"
    done
}

# stop_after TEXT: waits until the demonstration has printed it, signals, and looks at what is left.
stop_after() {
    mkdir "$mine/tmp"
    mkfifo "$mine/pipe"
    : >"$mine/output"
    # A session of its own, and SIGINT as in a terminal: a shell's background jobs ignore it.
    TMPDIR=$mine/tmp setsid env --default-signal=INT bash "$run" --buyers 400 --stock 400 >"$mine/pipe" 2>&1 &
    session=$!
    exec 4<"$mine/pipe"
    local line seen=
    while IFS= read -r -t 60 -u 4 line; do
        echo "$line" >>"$mine/output"
        [[ $line == *"$1"* ]] && seen=yes && break
    done
    [[ $seen ]] || fail "it never came to: $1"
    (($(of_session "$session" | wc -l) >= 2)) || fail "nothing runs that could be left"

    if [[ $target == group ]]; then kill -s "$signal" -- "-$session"; else kill -s "$signal" "$session"; fi
    # The pipe ends when the last process that could write to it is gone.
    while IFS= read -r -t 30 -u 4 line; do echo "$line" >>"$mine/output"; done
    wait "$session"
    local status=$?
    exec 4<&-
    ((status == 128 + $(kill -l "$signal"))) || fail "the exit status is $status"
    ! grep -q RESULT "$mine/output" || fail "it claims a result"
    local left
    left=$(of_session "$session")
    [[ -z $left ]] || fail "processes are left: $(ps -o pid,args -p "${left//$'\n'/,}")"
    [[ -z $(ls -A "$mine/tmp") ]] || fail "files are left: $(ls -A "$mine/tmp")"
    rm -r "$mine/tmp" "$mine/pipe"
}

stop_after 'WITHOUT A LOCK'
stop_after 'WITH ZKLOCK'
