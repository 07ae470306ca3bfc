# check.sh DOXYGEN DOXYFILE SCRATCH [INPUT]: makes the reference, of other headers if they are given, into SCRATCH. If
# none are given, the first page has to be short, too.
set -u
here=$(dirname "$0")
[ $# -ge 4 ] || sh "$here/length.sh" "$here/../../README.md" 900 || exit 1
rm -rf "$3"
mkdir -p "$3" || exit 1
{
    cat "$2"
    echo "OUTPUT_DIRECTORY = $3"
    [ $# -lt 4 ] || printf 'INPUT = %s\nUSE_MDFILE_AS_MAINPAGE =\n' "$4"
} | "$1" - || exit 1
awk -f "$here/../../src/reference/enumerators.awk" "$3"/xml/*.xml || exit 1
[ -s "$3/html/index.html" ] || { echo "there is no reference" >&2; exit 1; }
awk -f "$here/links.awk" "$3"/html/*.html || exit 1
[ $# -ge 4 ] || for class in client mutex guard election; do # of what everybody reads
    grep -q operation_aborted "$3/html/classzklock_1_1$class.html" ||
        { echo "the reference does not tell of $class" >&2; exit 1; }
done
