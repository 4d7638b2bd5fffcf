/*
 * The C library's functions that map memory, passed on unchanged; what they
 * return is looked at only while this thread's engine starts (mappings.h).
 *
 * The names carry the C library's own version, and hide it.  So everything that
 * was linked with the C library comes here, but not whoever asks for a function
 * by its bare name in order to patch its code, as UCX does: it finds the C
 * library's, as it would without us, and is called from here like that.
 */
#define _GNU_SOURCE
#include "mappings.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/types.h>

/* Since when the C library has these, which is also the name of the version that they have. */
#if defined __x86_64__ && defined __LP64__
#define SINCE "GLIBC_2.2.5"
#elif defined __aarch64__ || (defined __powerpc64__ && __LITTLE_ENDIAN__)
#define SINCE "GLIBC_2.17"
#endif

static _Thread_local struct {
    size_t bytes;
    void (*mapped)(void *address, size_t size); /* NULL: nobody wants to know */
    void *heap;                                 /* as told last */
} watch __attribute__((tls_model("initial-exec")));

void shmem_partition_watch_mappings(size_t bytes, void (*mapped)(void *address, size_t size))
{
    watch.bytes = bytes;
    watch.mapped = mapped;
    watch.heap = NULL;
}

#ifdef SINCE

/*
 * The first is the heap, or keeps its place (Open MPI 5 does so) until another is asked for there.  What comes
 * elsewhere shows the heap once more, or those of other PEs.
 */
static void tell(void *address, const void *asked, size_t size)
{
    void (*mapped)(void *, size_t) = watch.mapped;
    int error = errno;
    if (size < watch.bytes || (watch.heap && asked != watch.heap))
        return;
    watch.heap = address;
    watch.mapped = NULL; /* it may map memory itself */
    mapped(address, size);
    watch.mapped = mapped;
    errno = error;
}

/* ISO C has no cast from an object pointer to a function pointer; POSIX promises that the bits agree. */
static void find_next(void *function, const char *name)
{
    void *symbol = dlsym(RTLD_NEXT, name);
    memcpy(function, &symbol, sizeof symbol);
}

#define NEXT(function, name)                                                                                           \
    if (__builtin_expect(!(function), 0))                                                                              \
        find_next(&(function), name);
#define WATCHED(result) __builtin_expect(watch.mapped && (result) != MAP_FAILED, 0)

typedef void *mmap_function(void *, size_t, int, int, int, off_t);

__attribute__((visibility("default"))) void *watched_mmap(void *address, size_t size, int protection, int flags, int file,
                                                           off_t offset);
__attribute__((visibility("default"))) void *watched_shmat(int segment, const void *address, int flags);
__attribute__((visibility("default"))) void *watched_malloc(size_t size);

void *watched_mmap(void *address, size_t size, int protection, int flags, int file, off_t offset)
{
    static mmap_function *next;
    NEXT(next, "mmap")
    void *mapped = next(address, size, protection, flags, file, offset);
    if (WATCHED(mapped) && protection & PROT_WRITE)
        tell(mapped, address, size);
    return mapped;
}

void *watched_shmat(int segment, const void *address, int flags)
{
    static void *(*next)(int, const void *, int);
    struct shmid_ds status;
    NEXT(next, "shmat")
    void *mapped = next(segment, address, flags);
    if (WATCHED(mapped) && shmctl(segment, IPC_STAT, &status) == 0)
        tell(mapped, address, status.shm_segsz);
    return mapped;
}

/* An engine can be told to take its heap from here. */
void *watched_malloc(size_t size)
{
    static void *(*next)(size_t);
    NEXT(next, "malloc")
    void *memory = next(size);
    if (WATCHED(memory) && memory)
        tell(memory, NULL, size);
    return memory;
}

void *watched_mmap64(void *address, size_t size, int protection, int flags, int file, off_t offset)
    __attribute__((alias("watched_mmap"), visibility("default")));

#define STAND_FOR(name) __asm__(".symver watched_" #name ", " #name "@" SINCE);

STAND_FOR(mmap)
STAND_FOR(mmap64)
STAND_FOR(shmat)
STAND_FOR(malloc)

#endif
