/*
 * A network that pins, without a network: preloaded before everything else, it
 * registers what the engine maps for its heap as io_uring's buffers, for as long
 * as the process lives, at the moment at which a network would.  PINS_BYTES says
 * how much a heap is at least.  The names have the C library's version, hidden, as
 * in src/preload/mappings.c and for the same reason.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/io_uring.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static int pin(void *address, size_t size)
{
    struct io_uring_params parameters = {0};
    struct iovec buffer = {.iov_base = address, .iov_len = size}; /* at most 1 GiB */
    long ring = syscall(SYS_io_uring_setup, 1, &parameters);
    return ring < 0 ? -1 : (int)syscall(SYS_io_uring_register, ring, IORING_REGISTER_BUFFERS, &buffer, 1);
}

void *pinned_mmap(void *address, size_t size, int protection, int flags, int file, off_t offset);

void *pinned_mmap(void *address, size_t size, int protection, int flags, int file, off_t offset)
{
    static void *(*next)(void *, size_t, int, int, int, off_t);
    const char *least = getenv("PINS_BYTES");
    if (!next) {
        void *symbol = dlvsym(RTLD_NEXT, "mmap", "GLIBC_2.2.5");
        memcpy(&next, &symbol, sizeof symbol);
    }
    void *mapped = next(address, size, protection, flags, file, offset);
    if (mapped != MAP_FAILED && protection & PROT_WRITE && least && size >= strtoul(least, NULL, 10) && file <= 0)
        fprintf(stderr, "pins: %zu bytes %s\n", size, pin(mapped, size) == 0 ? "pinned" : strerror(errno));
    return mapped;
}

__asm__(".symver pinned_mmap, mmap@GLIBC_2.2.5");
