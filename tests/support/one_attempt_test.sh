# Which failures one_attempt.sh keeps. Usage: sh one_attempt_test.sh FOLDER; the folder is made, and emptied.
here=$(cd "$(dirname "$0")" && pwd)
ZKLOCK_VERDICTS=$1
export ZKLOCK_VERDICTS
rm -rf "$1"
mkdir -p "$1"
failures=0

# expect STATUS NAME "FORGIVEN..." COMMAND...
expect() {
    wanted=$1
    shift
    sh "$here/one_attempt.sh" "$@" >/dev/null 2>&1
    got=$?
    if [ $got -ne "$wanted" ]; then
        echo "one_attempt.sh $* gave $got instead of $wanted"
        failures=$((failures + 1))
    fi
}

expect 0 good 3 true
expect 0 good 3 true
expect 1 check "1 3" false
expect 0 check "1 3" true
expect 3 not_played 3 sh -c 'exit 3'
expect 0 not_played 3 true
expect 4 skipped "3 4" sh -c 'exit 4'
expect 4 skipped "3 4" sh -c 'exit 4'
expect 1 violation 3 false
expect 1 violation 3 true
expect 66 report "1 3" sh -c 'exit 66'
expect 1 report "1 3" true
expect 134 crash "1 3" sh -c 'kill -ABRT $$'
expect 1 crash "1 3" true
unset ZKLOCK_VERDICTS
expect 0 violation 3 true
exit $((failures > 0))
