/* Texts for people; stands on nothing but the C library. */
#include "message.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void append(struct message *message, size_t used, const char *format, va_list arguments)
{
    size_t room = sizeof message->text - used;
    int length = vsnprintf(message->text + used, room, format, arguments);
    if (length < 0)
        message->text[used] = '\0';
    else if ((size_t)length >= room)
        memcpy(message->text + sizeof message->text - 4, "...", 4);
}

void message_set(struct message *message, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    append(message, 0, format, arguments);
    va_end(arguments);
}

void message_add(struct message *message, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    append(message, strlen(message->text), format, arguments);
    va_end(arguments);
}

const char *message_size(char *text, unsigned long long bytes)
{
    static const char *const unit[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    if (bytes < 1024) {
        snprintf(text, 32, "%llu byte%s", bytes, bytes == 1 ? "" : "s");
        return text;
    }
    double value = (double)bytes / 1024;
    int step = 0;
    while (value >= 1023.95 && step < 5) {
        value /= 1024;
        step++;
    }
    snprintf(text, 32, value == (double)(long)value ? "%.0f %s" : "%.1f %s", value, unit[step]);
    return text;
}
