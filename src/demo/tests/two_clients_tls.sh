# Two clients and one lock over TLS; and that strangers are refused. Usage: bash two_clients_tls.sh TWO_CLIENTS RUN
source "$(dirname "${BASH_SOURCE[0]}")/two_clients_scene.sh"

well='*connected to 127.0.0.1:* with TLS*A lets go*B holds it, * ms later, with token *B lets go'
expect 0 "*TWO CLIENTS*$well" bash "$run" --two-clients --tls

zookeeper_secure=yes
start_zookeeper
await_zookeeper
servers=127.0.0.1:$zookeeper_secure_port
expect 0 "*TWO CLIENTS*$well" bash "$run" --two-clients --servers "$servers" --tls --tls-ca "$zookeeper_ca"

# The system's authorities do not know it; its plain port speaks no TLS.
refused="two clients: no ZooKeeper at *: *TLS*"
expect 1 "$refused" "$two_clients" --servers "$servers" --tls --timeout 10000
expect 1 "$refused" "$two_clients" --servers "127.0.0.1:$zookeeper_port" --tls --tls-ca "$zookeeper_ca" --timeout 10000
expect 2 '*--tls*' "$two_clients" --servers "$servers" --tls-ca "$zookeeper_ca"
