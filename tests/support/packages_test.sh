# packages_test.sh SCRATCH: what .ci/packages.sh chooses and installs on one Debian and another, by what an apt that is
# made up here offers.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
scratch=$1
rm -rf "$scratch"
mkdir -p "$scratch/bin"
export scratch

fake() {
    { echo '#!/bin/bash' && cat; } >"$scratch/bin/$1"
    chmod +x "$scratch/bin/$1"
}
# `offered` has lines NAME VERSION; what is not installable all the same is in `broken`.
fake apt-cache <<'END'
case $1 in
pkgnames) awk -v prefix="$2" 'index($1, prefix) == 1 { print $1 }' "$scratch/offered" ;;
policy) awk -v name="$2" '$1 == name { print name ":\n  Installed: (none)\n  Candidate: " $2 }' "$scratch/offered" ;;
esac
END
fake dpkg-query <<'END'
pattern=${@: -1}
found=1
while read -r name; do
    [[ $name == $pattern ]] || continue
    found=0
    case $3 in
    *Package*) echo "installed $name" ;;
    *) printf installed ;;
    esac
done <"$scratch/installed"
exit $found
END
fake apt-get <<'END'
echo "apt-get $*" >>"$scratch/done"
if [[ $1 == update ]]; then
    [[ ! -e $scratch/updated ]] || cp "$scratch/updated" "$scratch/offered"
    exit 0
fi
for word; do
    if grep -qx -- "$word" "$scratch/broken"; then exit 100; fi
done
END
fake sudo <<<'exec "$@"'
PATH=$scratch/bin:$PATH

source "$top/.ci/packages.sh"

failures=0
same() { # WHAT FOUND EXPECTED
    [[ $2 == "$3" ]] && return
    printf '%s:\n  found    %s\n  expected %s\n' "$1" "$2" "$3" >&2
    failures=$((failures + 1))
}
system() { # offered, from standard input; nothing is installed, nothing was done
    cat >"$scratch/offered"
    rm -f "$scratch/updated"
    : >"$scratch/installed"
    : >"$scratch/broken"
    : >"$scratch/done"
}
bookworm() {
    system <<END
libboost-dev 1.74.0.3
libboost1.74-dev 1.74.0+ds1-21
libboost1.81-dev 1.81.0-5+deb12u1
libboost1.81-doc 1.81.0-5+deb12u1
libboost-date-time1.81-dev 1.81.0-5+deb12u1
clang 1:14.0-55.7~deb12u1
clang-14 1:14.0.6-12
clang-16 1:16.0.6-15~deb12u1
clang-16-doc 1:16.0.6-15~deb12u1
clang-19 1:19.1.7-3~deb12u1
clang-format-22 1:22.1.0-1
clang-tidy 1:14.0-55.7~deb12u1
END
}
trixie() {
    system <<END
libboost1.88-dev 1.88.0-1
libboost-dev 1.83.0.2+b2
libboost1.83-dev 1.83.0-4.2
clang-19 1:19.1.7-3+b1
clang-17 1:17.0.6-22+b1
clang 1:19.0-63
END
}
names() { real_names "$@" | paste -sd ' '; }

bookworm
same "Debian 12" "$(names g++ @boost @clang)" "g++ libboost1.81-dev clang-16 libclang-rt-16-dev llvm-16"
same "its clang" "$(clang_version)" 16
trixie
same "Debian 13" "$(names g++ @boost @clang)" "g++ libboost1.83-dev clang-19 libclang-rt-19-dev llvm-19"
LANG=de_DE.UTF-8 same "its clang" "$(clang_version)" 19
echo libboost1.88-dev >"$scratch/installed"
same "an installed Boost stays" "$(names @boost)" libboost1.88-dev
echo libboost1.74-dev >"$scratch/installed"
same "one that is too old does not serve" "$(names @boost)" libboost1.83-dev
system <<END
libboost-dev 1.100.0.1
libboost1.9-dev 1.9.0-1
libboost1.100-dev 1.100.0-1
clang 1:25.0-1
clang-3.9 1:3.9.1-1
clang-25 1:25.1.1-1
END
same "some later Debian" "$(names @boost @clang)" "libboost1.100-dev clang-25 libclang-rt-25-dev llvm-25"

trixie
printf '%s\n' g++ libboost1.83-dev >"$scratch/installed"
same "all is there" "$(install_packages g++ @boost)" ""
same "so nothing is done" "$(cat "$scratch/done")" ""
same "one is missing" "$(install_packages g++ @boost cmake)" "Installing cmake ..."
same "and only that is installed" "$(cat "$scratch/done")" "apt-get install -qq -y --no-install-recommends cmake"

bookworm
cp "$scratch/offered" "$scratch/updated"
: >"$scratch/offered"
same "lists that are missing" "$(install_packages @boost)" "Installing libboost1.81-dev ..."
same "are fetched" "$(head -n 1 "$scratch/done")" "apt-get update -qq"

system <<<"libboost1.74-dev 1.74.0"
same "nothing serves" "$(install_packages @boost 2>&1; echo "status $?")" \
    $'apt offers no libboost…-dev from 1.81 on, or no clang-… from 16 on\nstatus 1'

trixie
echo pictures >"$scratch/broken"
same "what cannot be installed" "$(install_packages pictures 2>/dev/null; echo "status $?")" \
    $'Installing pictures ...\nstatus 100'
: >"$scratch/done"
same "what one can do without" "$(install_if_possible pictures; echo "status $?")" \
    $'Installing pictures ...\nGoing on without pictures.\nstatus 0'
same "costs nobody a package" "$(head -n 1 "$scratch/done")" \
    "apt-get install -qq -y --no-install-recommends --no-remove pictures"

((failures == 0))
