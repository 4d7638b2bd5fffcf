/*
 * Ctrl-C while the main thread is inside an engine's call that does not return:
 * a barrier cannot be left half-way, so that the only way out is the job's end.
 * Stands on POSIX timers and the engine's exit.
 */
#define _GNU_SOURCE
#include "interruption.h"

#include "state.h"

#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { STATUS_OF_SIGINT = 130 };

int *engine_waiting_calls(void) { return &library.interruption.waiting; }

static void on_interrupt(int number, siginfo_t *info, void *context)
{
    const struct itimerspec in_a_second = {.it_value.tv_sec = 1};
    struct interruption_state *state = &library.interruption;
    state->pending = 1;
    if (state->process == getpid())
        timer_settime(state->timer, 0, &in_a_second, NULL);
    if (state->before.sa_flags & SA_SIGINFO)
        state->before.sa_sigaction(number, info, context);
    else if (state->before.sa_handler != SIG_IGN && state->before.sa_handler != SIG_DFL)
        state->before.sa_handler(number);
}

static void after_a_second(union sigval unused)
{
    const struct timespec for_the_launcher = {.tv_nsec = 500000000}; /* some drop what they have not read at the end */
    (void)unused;
    if (!library.interruption.pending || !__atomic_load_n(&library.interruption.waiting, __ATOMIC_RELAXED))
        return;
    fprintf(stderr, "pyshmem: PE %d was interrupted while it waited for other PEs in a collective call; the job ends\n",
            library.engine.my_pe);
    (void)nanosleep(&for_the_launcher, NULL);
    shmem_global_exit(STATUS_OF_SIGINT);
}

int engine_watch_interrupts(void)
{
    struct sigevent how = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = after_a_second};
    struct sigaction action = {.sa_sigaction = on_interrupt, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    struct interruption_state *state = &library.interruption;
    if (sigaction(SIGINT, NULL, &state->before) != 0 || timer_create(CLOCK_MONOTONIC, &how, &state->timer) != 0)
        return -1;
    state->process = getpid();
    return sigaction(SIGINT, &action, NULL);
}

void engine_interrupt_noted(void) { library.interruption.pending = 0; }
