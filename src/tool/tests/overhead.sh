# What `zklock run` adds to a command: medians of so many runs, uncontended, on a server of its own. It fails if that is
# more than LIMIT milliseconds. Usage: bash overhead.sh ZKLOCK [RUNS [LIMIT]]
set -u
zklock=$1
runs=${2:-50}
limit=${3:-}
command=$(type -P true) # the shell's own needs no process
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/../../demo/shell/processes.sh"
source "$here/../../demo/shell/zookeeper.sh"

# median FILE: of the numbers in it, one a line.
median() {
    sort -n "$1" | awk '{ all[NR] = $1 } END { printf "%.1f", all[int((NR + 1) / 2)] }'
}

# time_of NAME COMMAND...: its time in milliseconds, for each run a line in the file of that name, and what it says to
# stderr in NAME.said.
time_of() {
    local name=$1 i before after
    shift
    for ((i = 0; i < runs; ++i)); do
        before=${EPOCHREALTIME/[.,]/}
        "$@" </dev/null >/dev/null 2>>"$scratch/$name.said" || die "$* failed: $(<"$scratch/$name.said")"
        after=${EPOCHREALTIME/[.,]/}
        awk "BEGIN { print ($after - $before) / 1000 }" >>"$scratch/$name"
    done
}

# said EVENT: the milliseconds since its start at which each run said so.
said() {
    sed -n "s/.*\"event\":\"$1\",\"after\":\([0-9.E+-]*\).*/\1/p" "$scratch/guarded.said" | awk '{ print $1 * 1000 }'
}

start_zookeeper
await_zookeeper
export ZKLOCK_SERVERS=127.0.0.1:$zookeeper_port
time_of bare "$command"
time_of start "$zklock" --version
time_of guarded "$zklock" run --json /overhead -- "$command"
for event in connected acquired started ended released; do
    said "$event" >"$scratch/$event"
    [[ -s $scratch/$event ]] || die "no run has said $event: $(<"$scratch/guarded.said")"
done
added=$(awk "BEGIN { print $(median "$scratch/guarded") - $(median "$scratch/bare") }")
echo "Medians of $runs runs, in ms: the bare command $(median "$scratch/bare"), zklock --version" \
    "$(median "$scratch/start"), zklock run $(median "$scratch/guarded"), which adds $added."
echo "In it, since its start: connected $(median "$scratch/connected"), acquired $(median "$scratch/acquired")," \
    "command started $(median "$scratch/started"), ended $(median "$scratch/ended"), lock released $(median "$scratch/released")."
[[ ! $limit ]] || awk "BEGIN { exit !($added <= $limit) }" || die "zklock run adds $added ms, and may add $limit"
