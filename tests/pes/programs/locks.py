"""Locks: exclusion between PEs and between threads, what is in order inside, trying, and misuse."""

import threading
import time

import numpy as np
import pytest

import pyshmem as shmem

LEVEL = shmem.init(thread_level=shmem.THREAD.MULTIPLE)
me, count = shmem.my_pe(), shmem.n_pes()

# ---- a counter on the last PE that only the lock protects: read, wait, write
lock, other = shmem.new_lock(), shmem.new_lock()
assert lock.shape == (1,) and lock.dtype == np.dtype("l") and lock[0] == 0
counter = shmem.zeros(2, "i8")
ROUNDS = 8


def add_one(which):
    cell = counter[which : which + 1]
    seen = shmem.g(cell, count - 1)
    if seen % 3 == 0:
        time.sleep(0.0005)  # time for others to break in
    shmem.p(cell, seen + 1, count - 1)


shmem.barrier_all()
for _ in range(ROUNDS):
    assert shmem.set_lock(lock) is None
    add_one(0)
    shmem.clear_lock(lock)  # completes the put
    tries = 0
    while shmem.test_lock(other):
        tries += 1
        time.sleep(0.0005)
    add_one(1)
    shmem.clear_lock(other)
shmem.barrier_all()
assert shmem.g(counter[:1], count - 1) == shmem.g(counter[1:], count - 1) == ROUNDS * count

# ---- one PE has it, the others find so
for owner in range(count):
    shmem.barrier_all()
    if me == owner:
        assert shmem.test_lock(lock) is False
    shmem.barrier_all()
    if me != owner:
        assert shmem.test_lock(lock) is True
        with pytest.raises(RuntimeError, match="does not have"):
            shmem.clear_lock(lock)
    else:
        assert shmem.test_lock(lock) is True  # this PE has it itself
        with pytest.raises(RuntimeError, match="already"):
            shmem.set_lock(lock)
    assert shmem.test_lock(other) is True or shmem.clear_lock(other) is None  # one lock is not the other
    shmem.barrier_all()
    if me == owner:
        shmem.clear_lock(lock)
    shmem.barrier_all()

# ---- the next owner sees what the one before did, on every PE
table = shmem.zeros(count, "i8")
for _ in range(3):
    shmem.set_lock(lock)
    seen = [shmem.g(table[pe : pe + 1], pe) for pe in range(count)]
    assert len(set(seen)) == 1, seen
    for pe in range(count):
        shmem.p(table[pe : pe + 1], seen[0] + 1, pe)
    shmem.clear_lock(lock)
shmem.barrier_all()
assert table[me] == 3 * count
shmem.barrier_all()

# ---- an object
mutex = shmem.Lock()
counter[...] = 0
shmem.barrier_all()
for _ in range(ROUNDS):
    with mutex:
        add_one(0)
    if mutex.acquire(blocking=False):
        add_one(1)
        mutex.release()
    else:
        assert count > 1
        assert mutex.acquire() is True
        add_one(1)
        mutex.release()
with pytest.raises(KeyError, match="inside"), mutex:
    raise KeyError("inside")
shmem.barrier_all()
assert shmem.g(counter[:1], count - 1) == shmem.g(counter[1:], count - 1) == ROUNDS * count
with pytest.raises(RuntimeError, match="does not have"):
    mutex.release()
shmem.barrier_all()
if me == 0:
    mutex.acquire()
    assert mutex.acquire(blocking=False) is False
    with pytest.raises(RuntimeError, match="already"):
        mutex.acquire()
shmem.barrier_all()
if me == count - 1 != 0:
    assert mutex.acquire(blocking=False) is False
shmem.barrier_all()
if me == 0:
    mutex.release()
shmem.barrier_all()

# ---- threads of one PE exclude each other as well, and the rest of them run while one waits
if LEVEL == shmem.THREAD.MULTIPLE:
    shmem.barrier_all()
    counter[...] = 0
    inside, most, failures = [0], [0], []
    shmem.barrier_all()

    def work():
        try:
            for _ in range(3):
                with mutex:
                    inside[0] += 1
                    most[0] = max(most[0], inside[0])
                    add_one(0)
                    time.sleep(0.0002)
                    inside[0] -= 1
        except BaseException as error:  # told by the main thread
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)
    assert not failures and not any(thread.is_alive() for thread in threads), failures
    shmem.barrier_all()
    assert most == [1] and shmem.g(counter[:1], count - 1) == 9 * count
    shmem.barrier_all()
    # a thread that waits for a lock of another thread, which goes on and gives it back
    if me == 0:
        mutex.acquire()
        waiter = threading.Thread(target=lambda: (mutex.acquire(), mutex.release()))
        waiter.start()
        waiter.join(0.05)
        assert waiter.is_alive()
        mutex.release()
        waiter.join(30)
        assert not waiter.is_alive()
    shmem.barrier_all()

# ---- misuse
for wrong in (shmem.zeros(1, "f8"), shmem.zeros(2, "l"), shmem.zeros(1, "i4"), shmem.zeros(0, "l"), counter):
    for call in (shmem.set_lock, shmem.test_lock, shmem.clear_lock, shmem.del_lock):
        with pytest.raises(TypeError, match="one C long"):
            call(wrong)
for wrong, error in ((np.zeros(1, "l"), ValueError), (3, TypeError), (None, TypeError), (mutex, TypeError)):
    with pytest.raises(error):
        shmem.set_lock(wrong)
mutex.destroy()
mutex.destroy()
for call in (mutex.acquire, mutex.release, mutex.__enter__):
    with pytest.raises(ValueError, match="destroyed"):
        call()
shmem.del_lock(other)
for call in (shmem.set_lock, shmem.test_lock, shmem.clear_lock, shmem.del_lock):
    with pytest.raises(shmem.FreedError):
        call(other)
# ---- a lock that is freed while somebody has it does not live on in the next one at its place
for end in (shmem.del_lock, shmem.free, lambda lock: None, lambda lock: shmem.realloc(lock, 1)):
    for owner in range(count):
        lock = shmem.new_lock()
        assert me != owner or shmem.test_lock(lock) is False
        end(lock)
        del lock
        lock = shmem.new_lock()  # finds that it was dropped
        del lock
        lock = shmem.new_lock()
        assert me != count - 1 - owner or shmem.test_lock(lock) is False
        shmem.barrier_all()
        assert me != count - 1 - owner or shmem.clear_lock(lock) is None
        shmem.del_lock(lock)
print("all well")
