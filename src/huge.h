/*
 * Every kernel call about pages that are not base pages: which sizes there are,
 * files made of them, transparent ones, and what a range really consists of.
 * Knows nothing of partitions or OpenSHMEM.
 */
#ifndef SHMEM_PARTITION_HUGE_H
#define SHMEM_PARTITION_HUGE_H

#include "bitset.h"
#include "message.h"

#include <stdint.h>

bool huge_available(size_t page);
bool huge_transparent_available(void);

/* ", 2 MiB, 1 GiB": the sizes of huge pages that the machine has; `text` is returned. */
const char *huge_sizes(char *text, size_t size);

/* Bytes in pages of a size that could be had on nodes (empty: on all): free ones, and what overcommit allows. */
uint64_t huge_free_bytes(size_t page, const struct nodeset *nodes);

/* Add to a message how many pages of a size are free on nodes (empty: on all), and how to get more. */
void huge_say_free(size_t page, const struct nodeset *nodes, struct message *message);

/* An anonymous file of huge pages (0: of base pages) that several processes can map; -1 with a message. */
int huge_file(size_t size, size_t page, struct message *message);

/* Map a file somewhere; NULL with a message. */
void *huge_map(size_t size, int file, struct message *message);

/*
 * Map a file over what is at `address`, and wherever else this process has
 * mapped the same part of the same shared memory, as some engines do for
 * themselves.  0, or -1 with a message.
 */
int huge_map_over(void *address, size_t size, int file, struct message *message);
/* Whether that is possible: all these places are multiples of the page. */
bool huge_can_map_over(void *address, size_t page);

/*
 * From now on, what is mapped of at least `heap` bytes, a multiple of `page`,
 * lies to pages of that size as the address `like` does, and smaller things go
 * elsewhere.  For engines that map the memory of other PEs wherever the kernel
 * likes, and should map it as their own.
 */
void huge_align_what_follows(size_t heap, size_t page, uintptr_t like);

void huge_unmap(void *address, size_t size);

/* What another process has open; -1 with a message. */
int huge_open_of_process(long process, long descriptor, struct message *message);

/* Ask for transparent huge pages before a range is touched, and again once it is populated. */
void huge_advise(void *address, size_t size);
void huge_collapse(void *address, size_t size);

/* The bytes of a range that lie in huge pages, of whatever sort. */
uint64_t huge_bytes(const void *address, size_t size);

/* Is it memory that several processes may have mapped? */
bool huge_is_shared(const void *address);

/* What networks and the like have pinned in this process, so that it cannot be moved. */
uint64_t huge_pinned_bytes(void);

#endif
