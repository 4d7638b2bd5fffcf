/* What became of partitions and rules, for programs that have no way to ask (PYSHMEM_REPORT=1). */
#ifndef SHMEM_PARTITION_REPORT_H
#define SHMEM_PARTITION_REPORT_H

#include <stdbool.h>

bool report_is_wanted(void);

/* On standard error of PE 0, while the partitions are still there; local. */
void report_print(void);

#endif
