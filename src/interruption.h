/* Ctrl-C while the main thread is inside an engine's call that does not return. */
#ifndef SHMEM_PARTITION_INTERRUPTION_H
#define SHMEM_PARTITION_INTERRUPTION_H

#pragma GCC visibility push(default)

/*
 * From now on an interrupt (SIGINT) that the program has not taken note of
 * within a second, because it waits in an engine's call, ends the job.  After
 * the program's own handler is in place, which still gets the signal.
 * 0, or -1 if the system has no timer for it.
 */
int engine_watch_interrupts(void);

/* The program has taken note. */
void engine_interrupt_noted(void);

/* How many calls wait for other PEs now; the caller counts, and sees to it that only one thread does at a time. */
int *engine_waiting_calls(void);

#pragma GCC visibility pop

#endif
