# The address that `run --stay --listen 0.0.0.0` tells of, on machines of several kinds. Usage: bash own_address.sh
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/../shell/processes.sh"
source "$here/../shell/shop.sh"

# expect ADDRESS LIST: the program hostname prints that list of addresses, or nothing, or is not there.
expect() {
    local got list=$2
    hostname() {
        [[ $list != missing ]] || return 127
        if [[ ${1-} != -I ]]; then
            echo here
        elif [[ $list == refused ]]; then
            return 1
        else
            echo "$list"
        fi
    }
    got=$(own_address)
    [[ $got == "$1" ]] || die "of '$2' it takes '$got', not '$1'"
}

expect 192.0.2.7 '192.0.2.7 2001:db8::7 '
expect 192.0.2.7 '2001:db8::7 fd00::1 192.0.2.7 198.51.100.1 '
expect here '2001:db8::7 '
expect here ' '
expect here refused
expect localhost missing
