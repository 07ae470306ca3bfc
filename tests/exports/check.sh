# check.sh NM STATIC SHARED INCLUDE LIST: what the shared library lets others see is what the list says, and all that it
# has to be. INCLUDE is the folder of the public headers. The list is that of the last version, and grows until the
# shared library's name (its SONAME) changes: a program that was linked to any of these versions goes on.
set -u
nm=$1 static=$2 shared=$3 include=$4 list=$5
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
export LC_ALL=C
failures=0
# fail TEXT FILE: for each line of the file.
fail() {
    [[ -s $2 ]] || return 0
    echo "$1" >&2
    sed 's/^/    /' "$2" >&2
    failures=$((failures + 1))
}

# seen KINDS...: the symbols of those kinds that others see, without versions. That of Boost is the same for each.
"$nm" -DC --defined-only "$shared" >"$scratch/dynamic" || exit 1
seen() {
    sed -nE "s/^[0-9a-f]+ [$1] //p" "$scratch/dynamic" |
        sed -E 's/@@?ZKLOCK_[0-9.]+$//; s/uses_boost_[0-9]+_/uses_boost_N_/' | sort -u
}
seen A-Za-z | grep -v '^ZKLOCK_[0-9.]*$' >"$scratch/all"
seen A-TX-Z | grep '^zklock::' >"$scratch/strong"
grep -v '^#' "$list" | sort -u >"$scratch/listed"
[[ -s $scratch/listed && -s $scratch/strong ]] || { echo "there is nothing to compare" >&2; exit 1; }

# Inline functions, which are weak, need not be there: programs have them from the headers.
comm -13 "$scratch/all" "$scratch/listed" >"$scratch/gone"
fail "Gone: programs that were linked to this version before do not start any more. (If that has to be, the version \
has to be a new one: include/zklock/version.hpp.)" "$scratch/gone"
comm -23 "$scratch/strong" "$scratch/listed" >"$scratch/new"
fail "New: if programs may use it, it belongs into $(basename "$list"); if not, not into \
src/packaging/exports.map.in." "$scratch/new"
grep -vE '^((guard variable for )?boost::|(void )?zklock::)' "$scratch/all" >"$scratch/foreign"
fail "Neither of zklock nor of Boost:" "$scratch/foreign"

# What public headers declare, and the static library has. The classes of zklock are public; of zklock::detail what its
# public headers name, and of the other namespaces nothing.
"$nm" -C --defined-only --extern-only "$static" >"$scratch/static" || exit 1
grep -rhoE '\b[a-z_]+\(' "$include/zklock/detail" | sort -u >"$scratch/named"
sed -nE 's/^[0-9a-f]+ [BDRT] (zklock::.*)$/\1/p' "$scratch/static" |
    sed -E 's/uses_boost_[0-9]+_/uses_boost_N_/' | sort -u |
    awk -v named="$scratch/named" '
        BEGIN { while ((getline name < named) > 0) public["zklock::detail::" name] = 1 }
        { name = $0; sub(/\(.*/, "(", name); sub(/\[abi:[a-z0-9]+\]/, "", name) }
        name ~ /^zklock::detail::/ { if (name in public) print; next }
        name !~ /^zklock::(recipes|queue|bridge|store|counters|runtime)::/ { print }' >"$scratch/public"
comm -23 "$scratch/public" "$scratch/strong" >"$scratch/hidden"
fail "Public headers declare it, and the shared library hides it: see src/packaging/exports.map.in." "$scratch/hidden"

# Variables of Boost that a process must have once: those that each object brings along, and the linker merges. (Tables
# of virtual functions, and what describes types, may be there twice.)
variable='[BDRVu] (guard variable for )?boost::'
sed -nE "/^[0-9a-f]+ $variable/s/^[0-9a-f]+ . //p" "$scratch/static" | sort -u >"$scratch/once"
"$nm" -C --defined-only "$shared" | sed -nE 's/^[0-9a-f]+ [bdr] //p' | sort -u >"$scratch/kept"
comm -12 "$scratch/once" "$scratch/kept" >"$scratch/twice"
fail "The program has its own of these: see the end of src/packaging/exports.map.in." "$scratch/twice"
[[ -s $scratch/once ]] || { echo "no variable of Boost was found in $static" >&2; failures=1; }
exit $((failures != 0))
