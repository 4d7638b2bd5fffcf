#!/bin/busybox sh
# The guest's first process: shows the host's files as a writable copy, then serves commands.
#
# Commands come and answers go through /job, a directory of the host's made for this boot alone:
# N.command and N.limit (seconds) come in; N.output, N.status (and N.late, when it took too long) go
# out. Commands cannot reach /job: they run below /root, where it does not exist.

/bin/busybox mkdir -p /proc /sys /dev /host /upper /root /job
/bin/busybox --install -s /bin
export PATH=/bin
mount -t devtmpfs dev /dev
mount -t proc proc /proc
mount -t sysfs sys /sys

while read -r module; do insmod "/modules/$module"; done < /modules/order

nine_p() { mount -t 9p -o "trans=virtio,version=9p2000.L,msize=262144,$3" "$1" "$2"; }
nine_p host /host ro,cache=loose || exit 1
nine_p job /job cache=none || exit 1

# Scratch files stay on node 0: the other nodes are for what is being tested.
mount -t tmpfs -o mpol=bind:0 upper /upper
mkdir /upper/files /upper/work
mount -t overlay -o lowerdir=/host,upperdir=/upper/files,workdir=/upper/work root /root || exit 1

for tree in dev proc sys; do mount --bind "/$tree" "/root/$tree"; done
cd /root || exit 1
mkdir -p dev/shm dev/pts
mount -t tmpfs -o mode=1777,size=100% shm dev/shm
mount -t devpts -o mode=620,ptmxmode=666 pts dev/pts
mount -t cgroup2 cgroup sys/fs/cgroup
ln -sf /proc/self/fd dev/fd
echo 127.0.0.1 localhost knl > etc/hosts
echo knl > proc/sys/kernel/hostname
ip link set lo up

serve() {
    setsid chroot /root /usr/bin/env -i /bin/sh -c "$(cat "$1.command")" \
        < /root/dev/null > "$1.output" 2>&1 &
    command=$!
    { sleep "$(cat "$1.limit")"; : > "$1.late"; kill -9 "$command"; } &
    wait "$command"
    echo $? > "$1.new"
    kill -9 -1 # all but this shell: nothing a command left behind disturbs the next
    rm -rf /root/dev/shm/*
    chroot /root /usr/bin/ipcrm --all=shm
    mv "$1.new" "$1.status"
}

number=0
: > /job/ready
while [ ! -e /job/stop ]; do
    if [ -e "/job/$number.command" ]; then
        serve "/job/$number"
        number=$((number + 1))
    else
        sleep 0.1
    fi
done
poweroff -f
