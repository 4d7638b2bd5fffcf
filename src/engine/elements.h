/*
 * The C types of the specification, once.  Every typed family of functions is
 * made from these lists: a new type or operation is a line, not a copy.
 *
 * X(ENUMERATOR, name in the API, C type, the name that 1.5 gives it in bitwise reductions)
 */
#ifndef SHMEM_PARTITION_ENGINE_ELEMENTS_H
#define SHMEM_PARTITION_ENGINE_ELEMENTS_H

#include <complex.h>
#include <stdint.h>

/* Small integers: no atomics in the specification. */
#define SMALL_INTEGERS(X)                                                                                              \
    X(SCHAR, schar, signed char, int8)                                                                                 \
    X(UCHAR, uchar, unsigned char, uint8)                                                                              \
    X(SHORT, short, short, int16)                                                                                      \
    X(USHORT, ushort, unsigned short, uint16)

/* The "standard" types for atomics and waiting. */
#define ATOMIC_INTEGERS(X)                                                                                             \
    X(INT, int, int, int32)                                                                                            \
    X(LONG, long, long, int64)                                                                                         \
    X(LONGLONG, longlong, long long, int64)                                                                            \
    X(UINT, uint, unsigned int, uint32)                                                                                \
    X(ULONG, ulong, unsigned long, uint64)                                                                             \
    X(ULONGLONG, ulonglong, unsigned long long, uint64)

/* The "extended" types: fetch, set and swap only. */
#define ATOMIC_REALS(X)                                                                                                \
    X(FLOAT, float, float, none)                                                                                       \
    X(DOUBLE, double, double, none)

#define WIDE_REALS(X) X(LONGDOUBLE, longdouble, long double, none)

#define COMPLEXES(X)                                                                                                   \
    X(COMPLEXF, complexf, float _Complex, none)                                                                        \
    X(COMPLEXD, complexd, double _Complex, none)

/* NumPy has it, the specification has no operation on it: supplied by us throughout. */
#define WIDE_COMPLEXES(X) X(COMPLEXL, complexl, long double _Complex, none)

#define ATOMIC_TYPES(X) ATOMIC_INTEGERS(X) ATOMIC_REALS(X)
#define INTEGERS(X) SMALL_INTEGERS(X) ATOMIC_INTEGERS(X)
#define REALS(X) ATOMIC_REALS(X) WIDE_REALS(X)
#define ALL_COMPLEXES(X) COMPLEXES(X) WIDE_COMPLEXES(X)
#define ORDERED(X) INTEGERS(X) REALS(X)
#define ELEMENTS(X) ORDERED(X) ALL_COMPLEXES(X)

#define ELEMENT_ENUMERATOR(NAME, name, type, bits) ELEMENT_##NAME,
enum element { ELEMENTS(ELEMENT_ENUMERATOR) ELEMENT_COUNT };
#undef ELEMENT_ENUMERATOR

/* One value of any of them. */
#define ELEMENT_MEMBER(NAME, name, type, bits) type as_##name;
union scalar {
    ELEMENTS(ELEMENT_MEMBER)
};
#undef ELEMENT_MEMBER

#endif
