# What the tests of two_clients have in common: the scripts for its server, and `expect`. To be sourced by a script whose
# arguments are TWO_CLIENTS RUN.
set -u
two_clients=$1
run=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/../shell/processes.sh"
source "$here/../shell/zookeeper.sh"

# expect STATUS TEXT COMMAND...: the status, and a text, which may be a pattern, that all of what it prints fits.
expect() {
    local status=$1 text=$2 got
    shift 2
    step "$@" >"$scratch/output" 2>&1
    got=$?
    # shellcheck disable=SC2053 # a pattern
    [[ $got == "$status" && $(<"$scratch/output") == $text ]] ||
        die "$*: status $got, expected $status and $text: $(cat "$scratch/output")"
}
