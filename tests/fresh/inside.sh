# inside.sh ROOT COMMAND: runs the command in the clone inside of that system. In namespaces of its own (see run).
root=$1
mount -t proc proc "$root/proc" &&
    mount --rbind /dev "$root/dev" &&
    mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm" || exit 1
chroot "$root" env -i HOME=/root TERM="${TERM-dumb}" \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin bash -c "cd /zklock && $2"
exit # with that status; not by exec, so that there is somebody to look after what has lost its parent
