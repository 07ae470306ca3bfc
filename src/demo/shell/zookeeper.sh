# A ZooKeeper of one's own, below $scratch. To be sourced after processes.sh.

zookeeper=
zookeeper_port=

start_zookeeper() {
    # Below the range from which the kernel takes ports for connections.
    zookeeper_port=$((20000 + RANDOM % 10000))
    local place=$scratch/zookeeper-$zookeeper_port
    mkdir -p "$place"
    cat >"$place/zoo.cfg" <<END
dataDir=$place/data
clientPort=$zookeeper_port
clientPortAddress=127.0.0.1
tickTime=1000
maxClientCnxns=0
admin.enableServer=false
preAllocSize=4096
END
    start "$place/log" java -Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 \
        -Dorg.slf4j.simpleLogger.defaultLogLevel=error \
        -cp /usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar \
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
