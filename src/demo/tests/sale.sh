# A whole sale: its last line, a line before, its exit status, and the time it takes.
# Usage: bash sale.sh RUN LAST_LINE TEXT ARGUMENT...
# LAST_LINE is a regular expression; TEXT stands somewhere before it.
set -u
run=$1
last_line=$2
text=$3
shift 3
began=$SECONDS
output=$(bash "$run" "$@" 2>&1)
status=$?
took=$((SECONDS - began))
echo "$output"
if ((status != 0 || took > 20)) || ! [[ ${output##*$'\n'} =~ ^$last_line$ ]]; then
    echo "FAILED: status $status after $took s; the last line should be: $last_line"
    exit 1
fi
if [[ $output != *"$text"* ]]; then
    echo "FAILED: nowhere does it say: $text"
    exit 1
fi
