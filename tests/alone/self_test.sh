# A file that counts on an include of another is found. Usage: sh self_test.sh SCRATCH sh check.sh COMPILER...
set -e
scratch=$1
sh=$2
check=$3
shift 3
mkdir -p "$scratch"
echo '#include <string>
std::string text();' >"$scratch/whole.cpp"
echo 'std::string text();' >"$scratch/lacking.cpp"
echo "$scratch/whole.cpp" >"$scratch/whole"
printf '%s\n' "$scratch/whole.cpp" "$scratch/lacking.cpp" >"$scratch/both"
"$sh" "$check" "$scratch/whole" "$@"
if "$sh" "$check" "$scratch/both" "$@" 2>/dev/null; then
    echo "an include that is missing was not found"
    exit 1
fi
