# A whole sale: its last line, its exit status, and the time it takes. Usage: bash sale.sh RUN LAST_LINE ARGUMENT...
# LAST_LINE is a regular expression.
set -u
run=$1
last_line=$2
shift 2
began=$SECONDS
output=$(bash "$run" "$@" 2>&1)
status=$?
took=$((SECONDS - began))
echo "$output"
if ((status != 0 || took > 20)) || ! [[ ${output##*$'\n'} =~ ^$last_line$ ]]; then
    echo "FAILED: status $status after $took s; the last line should be: $last_line"
    exit 1
fi
