# The Debian 12 packages of this project, and how they get installed. Sourced by the scripts that build something.

packages_library=(cmake ninja-build g++ libboost1.81-dev libzookeeper-st-dev)
packages_server=(default-jre-headless libzookeeper-java) # a ZooKeeper of one's own, started as a plain Java program
packages_demo=(libsqlite3-dev sqlite3 libcli11-dev libfmt-dev)
packages_tests=(doctest-dev libcli11-dev clang-16 libclang-rt-16-dev llvm-16 procps)
# Peers to share paths with and to be measured beside, and what builds and starts them.
packages_peers=(libcurator-recipes-java default-jdk-headless python3 python3-kazoo)
packages_bench=("${packages_peers[@]}" python3-matplotlib) # which draws the plots

# install_packages NAME...: installs those that are missing; does nothing, and needs no rights, when none is.
install_packages() {
    local name missing=() as_root=()
    for name in "$@"; do
        if [[ $(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null) != installed ]]; then
            missing+=("$name")
        fi
    done
    ((${#missing[@]})) || return 0
    ((EUID == 0)) || as_root=(sudo)
    echo "Installing ${missing[*]} ..."
    local install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive
        apt-get install -qq -y --no-install-recommends "${missing[@]}")
    # The package lists may be missing or too old: fetch them and try once more.
    "${install[@]}" >/dev/null 2>&1 && return 0
    "${as_root[@]}" apt-get update -qq && "${install[@]}" >/dev/null
}
