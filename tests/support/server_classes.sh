#!/usr/bin/env bash
# server_classes.sh ARCHIVE: starts a ZooKeeper server as support/zookeeper_server.cpp does, and has Java keep in that
# file what it has made of the classes. Servers that begin with it (ZKLOCK_SERVER_CLASSES) start by a fifth less work.
set -euo pipefail
archive=$1
folder=$(mktemp -d)
server=
trap '[[ ! $server ]] || kill -KILL "$server" 2>/dev/null; rm -rf "$folder"' EXIT
rm -f "$archive"
mkdir "$folder/data"

# asked PORT: what a server there says of itself.
asked() {
    { exec 3<>"/dev/tcp/127.0.0.1/$1" && echo -n srvr >&3 && timeout 5 cat <&3; } 2>/dev/null
}

for attempt in 1 2 3; do # the port may be somebody's
    port=$((20000 + RANDOM % 10000))
    printf '%s\n' "dataDir=$folder/data" clientPort=$port clientPortAddress=127.0.0.1 admin.enableServer=false \
        '4lw.commands.whitelist=*' >"$folder/zoo.cfg"
    java -Xmx256m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData "-XX:ArchiveClassesAtExit=$archive" \
        -cp '/usr/share/java/slf4j-simple.jar:/usr/share/java/zookeeper.jar:/usr/share/java/*' \
        org.apache.zookeeper.server.quorum.QuorumPeerMain "$folder/zoo.cfg" >"$folder/log" 2>&1 &
    server=$!
    asked_to_end=
    for ((i = 0; i < 600; i++)); do
        kill -0 $server 2>/dev/null || break
        if [[ ! $asked_to_end ]] && asked $port | grep -q ^Mode && kill -TERM $server; then
            asked_to_end=yes
        fi
        sleep 0.1
    done
    kill -KILL $server 2>/dev/null || true # it has had its minute
    wait $server || true
    server=
    [[ ! $asked_to_end || ! -s $archive ]] || exit 0
done
tail -n 20 "$folder/log" >&2
exit 1
