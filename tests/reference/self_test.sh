# self_test.sh DOXYGEN DOXYFILE SCRATCH: that check.sh fails on what is not documented, or wrongly, and length.sh on
# what is too long.
set -u
here=$(dirname "$0")
rm -rf "$3"
failures=0
# expect NAME TEXT: a header, read from standard input, which has no comment of its own, as most have none; and what
# Doxygen says of it, or nothing if all is well.
expect() {
    mkdir -p "$3/$1"
    { printf '#pragma once\nnamespace zklock {\n' && cat && echo '}'; } >"$3/$1/header.hpp"
    sh "$here/check.sh" "$doxygen" "$doxyfile" "$3/made" "$3/$1" >"$3/said" 2>&1
    status=$?
    if [ "$2" ]; then
        { [ $status -ne 0 ] && grep -q "header\.hpp:.*$2" "$3/said"; } && return
    else
        [ $status -eq 0 ] && return
    fi
    echo "$1: status $status: $(cat "$3/said")" >&2
    failures=1
}
doxygen=$1
doxyfile=$2
expect documented "" "$3" <<'SOURCE'
/// A class.
class some {
public:
    int f(); ///< A function.
};
SOURCE
expect class "some.*not documented" "$3" <<'SOURCE'
class some {
public:
    int f(); ///< A function.
};
SOURCE
expect function "f().*not documented" "$3" <<'SOURCE'
/// A class.
class some {
public:
    int f();
};
SOURCE
expect free_function "g().*not documented" "$3" <<'SOURCE'
/// A function.
int f();
int g();
SOURCE
expect macro "SOME.*not documented" "$3" <<'SOURCE'
/// A macro.
#define OTHER 1
#define SOME 2
SOURCE
expect enumerator "second.*not documented" "$3" <<'SOURCE'
/// An enumeration.
enum class some {
    first, ///< A value.
    second
};
SOURCE
expect parameter "which" "$3" <<'SOURCE'
/// A function. @param which is not there
int f(int other);
SOURCE
expect hidden "" "$3" <<'SOURCE'
namespace detail {
class some {
public:
    int f();
};
}
SOURCE
# A document that links to what there is not.
printf '# Page\n\n[text](%s)\n' elsewhere.txt >"$3/hidden/page.md"
if sh "$here/check.sh" "$doxygen" "$doxyfile" "$3/made" "$3/hidden" >"$3/said" 2>&1 ||
    ! grep -q 'there is no .*elsewhere\.txt' "$3/said"; then
    echo "a dead link: $(cat "$3/said")" >&2
    failures=1
fi
# A document that is as long as it may be, and one that is longer.
printf 'one two\nthree\n' >"$3/document.md"
if ! sh "$here/length.sh" "$3/document.md" 3 || sh "$here/length.sh" "$3/document.md" 2 2>"$3/said" ||
    ! grep -q 'document\.md has 3 words' "$3/said"; then
    echo "a document's length: $(cat "$3/said")" >&2
    failures=1
fi
exit $failures
