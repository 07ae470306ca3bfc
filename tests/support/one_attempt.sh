# Runs a test that may get a second attempt (tests/run --second-attempt) for some of its failures only: what a checker,
# a seed or a sanitizer has found stays found, though another attempt may not come to it. With a folder in
# ZKLOCK_VERDICTS such a failure is noted there, and is the answer to each further attempt.
# Usage: sh one_attempt.sh NAME "STATUS..." COMMAND...; the statuses are those that are not noted.
name=$1
forgiven=$2
shift 2
[ "${ZKLOCK_VERDICTS-}" ] || exec "$@"
verdict=$ZKLOCK_VERDICTS/$name
if [ -e "$verdict" ]; then
    cat "$verdict"
    exit 1
fi
"$@"
status=$?
for each in 0 $forgiven; do
    [ $status -eq "$each" ] && exit $status
done
echo "An earlier attempt of this run has failed with exit status $status; see its output." >"$verdict"
exit $status
