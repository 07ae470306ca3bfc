#!/bin/sh
# replay_test.sh SIMULATOR RECIPE FIRST LAST: a seed plays the same schedule each time, wherever things lie in memory.
# What depends on addresses shows when the allocator hands them out in another order.
set -eu
simulator=$1 recipe=$2 seed=$3 last=$4
traces=$(mktemp -d)
trap 'rm -rf "$traces"' EXIT

while [ "$seed" -le "$last" ]; do
    "$simulator" --recipe "$recipe" --seed "$seed" --trace >"$traces/usual"
    GLIBC_TUNABLES=glibc.malloc.tcache_count=0:glibc.malloc.mxfast=0 \
        "$simulator" --recipe "$recipe" --seed "$seed" --trace >"$traces/other"
    if ! cmp -s "$traces/usual" "$traces/other"; then
        echo "seed $seed of $recipe is not played the same way again:"
        diff "$traces/usual" "$traces/other" | head -n 20
        exit 1
    fi
    seed=$((seed + 1))
done
