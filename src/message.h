/*
 * Texts for people: the one way in which every layer says what went wrong.
 *
 * A function that can fail takes a `struct message *` and, on failure, leaves
 * in it a complete sentence (or a few lines) ready to be shown.  The structure
 * is plain data of fixed size, so that it can be sent to another PE as it is.
 */
#ifndef SHMEM_PARTITION_MESSAGE_H
#define SHMEM_PARTITION_MESSAGE_H

enum { MESSAGE_SIZE = 2048 };

struct message {
    char text[MESSAGE_SIZE];
};

/* Replace the text; what does not fit is cut and ends in "...". */
void message_set(struct message *message, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Append to the text, with the same cut. */
void message_add(struct message *message, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A size as people write it ("1.5 GiB", "800 bytes"); `text` holds at least 32 bytes and is returned. */
const char *message_size(char *text, unsigned long long bytes);

#endif
