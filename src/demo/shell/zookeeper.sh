# A ZooKeeper of one's own, below $scratch. To be sourced after processes.sh.

zookeeper=
zookeeper_port=
zookeeper_secure= # if it is set before the start, there is a port for TLS, too; all that know it trust zookeeper_ca
zookeeper_secure_port=
zookeeper_ca=
zookeeper_user= # if it is set before the start, it serves nobody else, who has to know ZKLOCK_SASL_PASSWORD

# make_keys PLACE: an authority, and a key and a certificate of it for this machine.
make_keys() {
    local new=(openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2)
    {
        "${new[@]}" -subj '/CN=demonstration' -keyout "$1/ca.key" -out "$1/ca.pem" &&
            "${new[@]}" -subj '/CN=localhost' -CA "$1/ca.pem" -CAkey "$1/ca.key" \
                -keyout "$1/own.key" -out "$1/own.pem" \
                -addext basicConstraints=critical,CA:FALSE -addext subjectAltName=DNS:localhost,IP:127.0.0.1
    } >"$1/log" 2>&1 || die "openssl could not make keys: $(tail -n 3 "$1/log")"
    cat "$1/own.key" "$1/own.pem" >"$1/store.pem"
}

start_zookeeper() {
    # Below the range from which the kernel takes ports for connections.
    zookeeper_port=$((20000 + RANDOM % 5000 * 2))
    local place=$scratch/zookeeper-$zookeeper_port secure=
    mkdir -p "$place"
    if [[ $zookeeper_secure ]]; then
        zookeeper_secure_port=$((zookeeper_port + 1))
        zookeeper_ca=$place/ca.pem
        make_keys "$place"
        secure="serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory
secureClientPort=$zookeeper_secure_port
secureClientPortAddress=127.0.0.1
ssl.keyStore.location=$place/store.pem
ssl.trustStore.location=$place/ca.pem
ssl.clientAuth=none"
    fi
    local identified=()
    if [[ $zookeeper_user ]]; then
        secure+="
authProvider.sasl=org.apache.zookeeper.server.auth.SASLAuthenticationProvider
enforce.auth.enabled=true
enforce.auth.schemes=sasl"
        (umask 077 && cat >"$place/jaas.conf") <<END
Server {
  org.apache.zookeeper.server.auth.DigestLoginModule required
  user_$zookeeper_user="$ZKLOCK_SASL_PASSWORD";
};
END
        identified=("-Djava.security.auth.login.config=$place/jaas.conf")
    fi
    cat >"$place/zoo.cfg" <<END
dataDir=$place/data
clientPort=$zookeeper_port
clientPortAddress=127.0.0.1
tickTime=1000
maxClientCnxns=0
admin.enableServer=false
preAllocSize=4096
$secure
END
    start "$place/log" java -Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 \
        -Dorg.slf4j.simpleLogger.defaultLogLevel=error "${identified[@]}" \
        -cp /usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar:/usr/share/java/netty-codec.jar \
        org.apache.zookeeper.server.quorum.QuorumPeerMain "$place/zoo.cfg"
    zookeeper=$!
}

zookeeper_answers() {
    local line
    alive "$zookeeper" || return 0 # the caller looks
    { exec 3<>"/dev/tcp/127.0.0.1/$zookeeper_port"; } 2>/dev/null || return 1
    echo srvr >&3
    while read -r -t 1 -u 3 line; do
        if [[ $line == Mode:* ]]; then
            exec 3>&-
            return 0
        fi
    done
    exec 3>&-
    return 1
}

# Waits for the ZooKeeper started above; a port that somebody else has taken is tried again elsewhere.
await_zookeeper() {
    local attempt
    for attempt in 1 2 3 4 5; do
        await 30 zookeeper_answers || die "ZooKeeper did not start within 30 s: $(tail -n 3 "$scratch"/zookeeper-*/log)"
        alive "$zookeeper" && return 0
        grep -q 'Address already in use' "$scratch/zookeeper-$zookeeper_port/log" ||
            die "ZooKeeper ended: $(tail -n 3 "$scratch/zookeeper-$zookeeper_port/log")"
        ((attempt < 5)) && start_zookeeper
    done
    die "no free port for ZooKeeper in five attempts"
}
