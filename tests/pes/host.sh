#!/bin/sh
# Stands in for ssh: runs a command as if on another host, with a name, processes, shared memory and a kernel's
# identity of its own.
#
#     host.sh [OPTION...] HOST COMMAND...
while [ "${1#-}" != "$1" ]; do shift; done
host=$1
shift
[ "$(id -u)" = 0 ] || user="--user --map-root-user"
# shellcheck disable=SC2086 # words, or none
exec unshare $user --uts --ipc --mount --pid --fork sh -c '
    hostname "$1" && mount -t proc proc /proc && mount -t tmpfs -o mode=700 shm /dev/shm &&
    cat /proc/sys/kernel/random/uuid > /dev/shm/identity &&
    mount --bind /dev/shm/identity /proc/sys/kernel/random/boot_id && eval "$2"' host.sh "$host" "$*"
