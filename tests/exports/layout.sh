# layout.sh PROGRAM SOURCE INCLUDE LIST: the types that programs and the shared library hand to each other are as the
# list of this version says: their sizes, where their members are, and what numbers enumerators stand for. PROGRAM (made
# of SOURCE) tells of all that the public headers have.
set -u
program=$1 source=$2 include=$3 list=$4
found=$("$program") || exit 1
failures=0
if ! diff <(grep -v '^#' "$list") <(echo "$found"); then
    echo "Types have another layout than in $(basename "$list"): programs that were linked to this version before" \
        "take one thing for another, or write past a type's end. Either types stay as they were, or the version has" \
        "to be a new one. (An enumerator may be added after all others, if old programs know what to do with it.)" >&2
    failures=1
fi
# Classes that are defined, but for those that have no objects.
for name in $(sed -nE 's/^(template <class T> )?(class|struct) (\[\[nodiscard\]\] )?([a-z_]+)( : .*)? \{$/\4/p' \
    "$include"/zklock/*.hpp | sort -u); do
    case $name in
    as_result_t | permission | lease_clock | associator | async_result | delivery | delivered | delivered_lock)
        continue
        ;;
    esac
    if ! grep -qE "PRINT\($name[<)]" "$source"; then
        echo "$(basename "$source") does not name $name" >&2
        failures=1
    fi
done
exit $failures
