# Compiles each file of a list by itself. Usage: sh check.sh LIST COMPILER...
list=$1
shift
[ -s "$list" ] || exit 1
xargs -P 2 -n 1 -a "$list" "$@" && echo "$(wc -l <"$list") files compile alone"
