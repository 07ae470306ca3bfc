# The page of an order server. Usage: bash page.sh ORDER_SERVER STOCK_SQL TEST, where TEST is a Python program beside
# this one. The status is 4 if it cannot be played here.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/../shell/processes.sh"
source "$here/../shell/zookeeper.sh"
start_zookeeper
await_zookeeper
step env PYTHONDONTWRITEBYTECODE=1 python3 "$here/$3" "$1" "$2" "$scratch" "$zookeeper_port"
