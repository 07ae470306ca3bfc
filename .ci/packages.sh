# The Debian packages of this project, and how they get installed: those of Debian 12 and of Debian 13, and of what lies
# between and after. Sourced by the scripts that build something.

# Boost and clang are installed by their versions, and every Debian has others: @boost and @clang stand for those that
# serve (see `chosen`).
packages_library=(cmake ninja-build g++ @boost libzookeeper-st-dev libssl-dev libkrb5-dev)
# A ZooKeeper of one's own, started as a plain Java program; its port for TLS takes Netty, and keys.
packages_server=(default-jre-headless libzookeeper-java libnetty-java openssl)
# A Kerberos realm of one's own, and what kazoo speaks SASL with.
packages_kerberos=(krb5-kdc krb5-admin-server krb5-user python3-pure-sasl python3-kerberos)
packages_tool=(libcli11-dev libfmt-dev)
packages_demo=(libsqlite3-dev sqlite3 libcli11-dev libfmt-dev)
packages_tests=(doctest-dev libcli11-dev @clang libzookeeper-mt2 procps pkg-config doxygen groff-base python3)
# Peers to share paths with and to be measured beside, and what builds and starts them.
packages_bench=(libcurator-recipes-java default-jdk-headless python3 python3-kazoo)
# Beside ZooKeeper, of bench/run alone; see install_if_possible. The driver of etcd is made of etcd's own Go sources.
packages_redis=(redis-server libhiredis-dev)
packages_etcd=(etcd-server golang-go golang-etcd-server-dev)
packages_packaging=(dpkg-dev file) # what makes Debian packages
packages_plots=(python3-matplotlib) # see install_if_possible
# The versions that .clang-format and .clang-tidy are written for; where there is none, they are not looked at.
packages_habits=(clang-format-16 clang-tidy-16)
# For the demonstration's page: some 100 MB, and half a minute. The test is skipped without it; see install_if_possible.
packages_browser=(chromium-headless-shell)

# The oldest that serve: as in src/CMakeLists.txt, and what the tests are known to run with.
least_boost=1.81
least_clang=16

# serving NAME LEAST: of the lines that are read, those that are NAME with a version in place of %, and that not less
# than LEAST; the oldest first.
serving() {
    sed -n "s/^${1%\%*}\([0-9.]*\)${1#*\%}\$/\1/p" | sort -V |
        awk -v least="$2" 'function number(v,  p) { split(v, p, "."); return p[1] * 1000 + p[2] }
                           number($0) >= number(least)' |
        sed "s/.*/${1%\%*}&${1#*\%}/"
}

# installed NAME LEAST: the oldest that serves of those that are installed.
installed() {
    dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${1/\%/*}" 2>/dev/null | sed -n 's/^installed //p' |
        serving "$@" | head -n 1
}

# chosen NAME LEAST: of those that apt offers, the one that is this Debian's usual (the package of that name without a
# version depends on it), if it serves; otherwise the oldest that does. Nothing if there is none.
chosen() {
    local names usual version name number
    names=$(apt-cache pkgnames "${1%\%*}" | serving "$@")
    usual=${1/-\%/}
    version=$(LC_ALL=C apt-cache policy "${usual/\%/}" | sed -n 's/^ *Candidate: \([0-9]*:\)\?//p')
    for name in $names; do
        number=${name#"${1%\%*}"}
        if [[ $version == "${number%"${1#*\%}"}"[.-]* ]]; then
            echo "$name"
            return
        fi
    done
    head -n 1 <<<"$names"
}

# The version of the clang that the tests are built with, as in clang++-16.
clang_version() {
    local name
    name=$(chosen clang-% $least_clang)
    echo "${name#clang-}"
}

# real_names NAME...: one per line, those that begin with @ replaced by packages. Fails when there are none.
real_names() {
    local name found
    for name in "$@"; do
        case $name in
        @boost) # only one can be installed: what is there already stays
            found=$(installed libboost%-dev $least_boost)
            [[ $found ]] || found=$(chosen libboost%-dev $least_boost)
            [[ $found ]] || return 1
            echo "$found"
            ;;
        @clang)
            found=$(clang_version)
            [[ $found ]] || return 1
            printf '%s\n' "clang-$found" "libclang-rt-$found-dev" "llvm-$found"
            ;;
        *) echo "$name" ;;
        esac
    done
}

# as_root COMMAND...
as_root() {
    if ((EUID == 0)); then "$@"; else sudo "$@"; fi
}

# install_packages NAME...: installs those that are missing; does nothing, and needs no rights, when none is.
install_packages() {
    local names name missing=() options=()
    if ! names=$(real_names "$@"); then # the package lists may be missing
        as_root apt-get update -qq || return
        if ! names=$(real_names "$@"); then
            echo "apt offers no libboost…-dev from $least_boost on, or no clang-… from $least_clang on" >&2
            return 1
        fi
    fi
    for name in $names; do
        if [[ $(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null) != installed ]]; then
            missing+=("$name")
        fi
    done
    ((${#missing[@]})) || return 0
    echo "Installing ${missing[*]} ..."
    [[ ! ${ZKLOCK_KEEP_PACKAGES-} ]] || options=(--no-remove)
    local install=(as_root env DEBIAN_FRONTEND=noninteractive
        apt-get install -qq -y --no-install-recommends "${options[@]}" "${missing[@]}")
    # The package lists may be too old: fetch them and try once more.
    "${install[@]}" >/dev/null 2>&1 && return 0
    as_root apt-get update -qq && "${install[@]}" >/dev/null
}

# install_if_possible NAME...: what one can do without: no other package has to go for it, and it may be impossible.
install_if_possible() {
    ZKLOCK_KEEP_PACKAGES=yes install_packages "$@" 2>/dev/null || echo "Going on without $*."
}

# take_program FILE FOLDER PACKAGE...: puts one program into that folder, of the first of those packages that has it, and
# nothing of what the package would install besides, and start. What one can do without: it may be impossible.
take_program() {
    local program=$1 folder=$2 package scratch
    [[ ! -x $folder/${program##*/} ]] || return 0
    scratch=$(mktemp -d)
    mkdir -p "$folder"
    for package in "${@:3}"; do
        (cd "$scratch" && rm -f ./*.deb && apt-get download -qq -o APT::Sandbox::User= "$package" &&
            dpkg-deb --fsys-tarfile ./*.deb | tar -x "./$program") >/dev/null 2>&1 &&
            mv "$scratch/$program" "$folder/" && break
    done
    [[ -x $folder/${program##*/} ]] || echo "Going on without ${program##*/}."
    rm -rf "$scratch"
}
