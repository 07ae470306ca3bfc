# What a script starts, and how it is stopped: everything, however the script ends. To be sourced. Makes a temporary
# directory, $scratch, that goes with the script.

clean_up() {
    trap '' INT TERM HUP # once is enough
    local running patience one names
    running=$(jobs -pr)
    # shellcheck disable=SC2086 # a list of process ids
    [[ -z $running ]] || kill -TERM $running 2>/dev/null
    for ((patience = 100; patience > 0; patience--)); do
        running=$(jobs -pr)
        [[ $running ]] || break
        sleep 0.05
    done
    if [[ $running ]]; then # it had 5 s
        names=$(for one in $running; do cat "/proc/$one/comm"; done 2>/dev/null | paste -sd ' ')
        echo "${0##*/}: has to be killed: $names" >&2
        # shellcheck disable=SC2086
        kill -KILL $running 2>/dev/null
    fi
    wait
    [[ -z ${scratch-} ]] || rm -rf "$scratch"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP

die() {
    echo "${0##*/}: $1" >&2
    exit 1
}

scratch=$(mktemp -d -t zklock-demo.XXXXXX) || die "no temporary directory"

# start LOG COMMAND...: runs it in the background; it does not outlive this script even if that is killed with -9.
# Its process id is in $!.
start() {
    local log=$1
    shift
    : >"$log" # now, not when the child comes to it: an old one would be read as its
    setpriv --pdeathsig KILL "$@" </dev/null >"$log" 2>&1 &
}

# step COMMAND...: runs it and gives its status. In the background, because a signal ends a wait, but not a command.
step() {
    "$@" </dev/null &
    wait $!
}

alive() {
    kill -0 "$1" 2>/dev/null
}

# await SECONDS COMMAND...: until it succeeds; fails when it does not in time.
await() {
    local deadline=$((SECONDS + $1))
    shift
    until "$@"; do
        ((SECONDS < deadline)) || return 1
        step sleep 0.05
    done
}
