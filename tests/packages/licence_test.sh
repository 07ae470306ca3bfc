#!/usr/bin/env bash
# licence_test.sh CLONE SCRATCH: all that names the licence says the same, and the check of that sees what does not.
set -euo pipefail
clone=$1
scratch=$2

bash "$clone/src/packaging/licence" --check

# The check, on copies that differ.
rm -rf "$scratch"
mkdir -p "$scratch/src"
cp -R "$clone/README.md" "$clone/include" "$scratch/"
cp -R "$clone/src/examples" "$clone/src/packaging" "$scratch/src/"
checked() {
    bash "$scratch/src/packaging/licence" --check >"$scratch/said" 2>&1
}
# refused TEXT: it is, and that is named.
refused() {
    if checked || ! grep -q "$1" "$scratch/said"; then
        echo "the check does not tell of $1: $(cat "$scratch/said")" >&2
        exit 1
    fi
    bash "$scratch/src/packaging/licence"
    checked || { echo "the script has not mended $1: $(cat "$scratch/said")" >&2; exit 1; }
}
sed -i 1d "$scratch/include/zklock/mutex.hpp"
refused include/zklock/mutex.hpp
sed -i '1s/.*/\/\/ SPDX-License-Identifier: MIT/' "$scratch/src/examples/mutex.cpp"
refused src/examples/mutex.cpp
sed -i 's/^License: Apache-2.0$/License: MIT/' "$scratch/src/packaging/copyright"
refused src/packaging/copyright
sed -i '/^## Licence$/,$d' "$scratch/README.md"
refused README.md
echo "one more" >>"$scratch/include/zklock/LICENSE"
refused include/zklock/LICENSE

# Another licence is another everywhere; one of which nothing is known is refused.
sed -i "s/^Apache-2.0)/LicenseRef-Try)/; s/^spdx=[^ ]*/spdx=LicenseRef-Try/; s/^confirmed=/confirmed=yes/" \
    "$scratch/src/packaging/licence"
bash "$scratch/src/packaging/licence"
for file in README.md include/zklock/LICENSE include/zklock/mutex.hpp src/examples/mutex.cpp src/packaging/copyright; do
    grep -q LicenseRef-Try "$scratch/$file" || { echo "$file does not name another licence" >&2; exit 1; }
    if grep -q 'This is a default' "$scratch/$file"; then
        echo "$file still calls it a default" >&2
        exit 1
    fi
done
[[ $(grep -c '^License: LicenseRef-Try$' "$scratch/src/packaging/copyright") == 2 ]] ||
    { echo "the copyright file does not tell where the text of another licence is" >&2; exit 1; }
sed -i "s/^spdx=[^ ]*/spdx=Unknown-1.0/" "$scratch/src/packaging/licence"
if bash "$scratch/src/packaging/licence" 2>"$scratch/said" || ! grep -q 'nothing is known of Unknown-1.0' "$scratch/said"; then
    echo "a licence of which nothing is known is taken" >&2
    exit 1
fi
