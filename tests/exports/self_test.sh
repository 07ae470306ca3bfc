# self_test.sh NM STATIC SHARED INCLUDE LIST SCRATCH COMPILER: that check.sh finds what it is there for.
set -u
nm=$1 static=$2 shared=$3 include=$4 list=$5 scratch=$6 compiler=$7
here=$(cd "$(dirname "$0")" && pwd)
rm -rf "$scratch"
mkdir -p "$scratch"
failures=0
# expect TEXT SYMBOL SHARED LIST: the check fails, and says the text, and below it the symbol.
expect() {
    if bash "$here/check.sh" "$nm" "$static" "$3" "$include" "$4" 2>"$scratch/said"; then
        echo "not found: $1 $2" >&2
        failures=1
    elif ! grep -A1000 "^$1" "$scratch/said" | grep -qxF "    $2"; then
        echo "$1 $2: it says" >&2
        cat "$scratch/said" >&2
        failures=1
    fi
}

{ cat "$list" && echo 'zklock::mutex::was_once()'; } >"$scratch/longer"
expect Gone: 'zklock::mutex::was_once()' "$shared" "$scratch/longer"
grep -v '^zklock::error_category()$' "$list" >"$scratch/shorter"
expect New: 'zklock::error_category()' "$shared" "$scratch/shorter"

# A library that shows little, and of that something of somebody else's.
cat >"$scratch/other.cpp" <<'SOURCE'
namespace zklock { int error_category() { return 0; } }
namespace boost::asio {
template <class T> struct top { static thread_local int* id_; };
template <class T> thread_local int* top<T>::id_;
}
extern "C" int* zoo_version() { return boost::asio::top<int>::id_; }
SOURCE
"$compiler" -std=c++20 -shared -fPIC "$scratch/other.cpp" -o "$scratch/libother.so" || exit 1
expect Neither zoo_version "$scratch/libother.so" "$list"
expect 'Public headers' 'zklock::lease_clock::now()' "$scratch/libother.so" "$list"

cat >"$scratch/exports.map" <<'SOURCE'
{ global: extern "C++" { zklock::*; }; local: *; };
SOURCE
"$compiler" -std=c++20 -shared -fPIC "$scratch/other.cpp" -Wl,--version-script="$scratch/exports.map" \
    -Wl,-u,zoo_version -o "$scratch/libhiding.so" || exit 1
"$compiler" -std=c++20 -c -fPIC "$scratch/other.cpp" -o "$scratch/other.o" || exit 1
static=$scratch/other.o
expect 'The program has its own' 'boost::asio::top<int>::id_' "$scratch/libhiding.so" "$list"

# A type that has become larger, members in another order, an enumerator with another number, and a type that nobody
# tells of.
layout=${list%.txt}.layout.txt
printf '#!/bin/sh\ngrep -v "^#" "%s" | sed "$1"\n' "$layout" >"$scratch/program"
chmod +x "$scratch/program"
bash "$here/layout.sh" "$scratch/program" "$here/layout.cpp" "$include" "$layout" || failures=1
# other PATTERN LINE: that line of the list is another.
other() {
    printf '#!/bin/sh\nexec "%s" "s/^%s$/%s/"\n' "$scratch/program" "$1" "$2" >"$scratch/changed"
    chmod +x "$scratch/changed"
    if bash "$here/layout.sh" "$scratch/changed" "$here/layout.cpp" "$include" "$layout" >"$scratch/said" 2>&1 ||
        ! grep -qxF "> $2" "$scratch/said"; then
        echo "not found: $2" >&2
        failures=1
    fi
}
other 'mutex_options .*' 'mutex_options 4096 8'
other 'contender\.revoked at .*' 'contender.revoked at 0'
other 'loss_reason::forked = .*' 'loss_reason::forked = 0'

# What members.awk finds.
printf '%s\n' 'struct some : base {' '    some() = default;' '    int a = 0; ///< one' \
    '    std::map<std::string, std::array<int, 3>> b;' '    std::function<void(int)> c{};' '    int f() const;' '' \
    '    enum class kind {' '        first' '    };' '    static constexpr int d = 0;' '};' \
    'class other {' 'public:' '    struct inner {' '        enum class kind : char {' '        };' '        int e;' \
    '    };' 'private:' '    int g_;' '};' >"$scratch/header.hpp"
awk -f "$here/members.awk" "$scratch/header.hpp" | sed 1d | diff - <(printf '%s\n' 'MEMBER(some, a)' \
    'MEMBER(some, b)' 'MEMBER(some, c)' 'ENUM(some::kind)' 'ENUM(other::inner::kind)' 'MEMBER(other::inner, e)') ||
    { echo "members.awk does not find what is there" >&2 && failures=1; }
grep -v 'PRINT(mutex);' "$here/layout.cpp" >"$scratch/layout.cpp"
if bash "$here/layout.sh" "$scratch/program" "$scratch/layout.cpp" "$include" "$layout" >"$scratch/said" 2>&1 ||
    ! grep -q 'does not name mutex$' "$scratch/said"; then
    echo "not found: a type that is not looked at" >&2
    failures=1
fi
exit $failures
