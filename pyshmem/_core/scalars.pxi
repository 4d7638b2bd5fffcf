# The one place that understands values: Python and NumPy scalars to C and back, by dtype number.

cdef enum:
    DTYPE_NUMBERS = 32          # NumPy's own numbers are below 24

cdef int element_of_dtype[DTYPE_NUMBERS]


cdef int fill_element_of_dtype() except -1:
    cdef int number
    for number in range(DTYPE_NUMBERS):
        element_of_dtype[number] = -1
    table = [
        (cnp.NPY_BYTE, ELEMENT_SCHAR), (cnp.NPY_UBYTE, ELEMENT_UCHAR), (cnp.NPY_SHORT, ELEMENT_SHORT),
        (cnp.NPY_USHORT, ELEMENT_USHORT), (cnp.NPY_INT, ELEMENT_INT), (cnp.NPY_UINT, ELEMENT_UINT),
        (cnp.NPY_LONG, ELEMENT_LONG), (cnp.NPY_ULONG, ELEMENT_ULONG), (cnp.NPY_LONGLONG, ELEMENT_LONGLONG),
        (cnp.NPY_ULONGLONG, ELEMENT_ULONGLONG), (cnp.NPY_FLOAT, ELEMENT_FLOAT), (cnp.NPY_DOUBLE, ELEMENT_DOUBLE),
        (cnp.NPY_LONGDOUBLE, ELEMENT_LONGDOUBLE), (cnp.NPY_CFLOAT, ELEMENT_COMPLEXF),
        (cnp.NPY_CDOUBLE, ELEMENT_COMPLEXD), (cnp.NPY_CLONGDOUBLE, ELEMENT_COMPLEXL),
    ]
    for number, element_number in table:
        element_of_dtype[number] = element_number
    return 0

fill_element_of_dtype()


cdef inline int element_of(cnp.ndarray array) except -2:
    """The element type of an array, -1 if the specification has none for its dtype."""
    cdef int number = cnp.PyArray_TYPE(array)
    if number >= DTYPE_NUMBERS or not cnp.PyArray_ISNOTSWAPPED(array):
        return -1
    return element_of_dtype[number]


cdef int check_range(object number, cnp.dtype dtype) except -1:
    limits = np.iinfo(dtype)
    if not limits.min <= number <= limits.max:
        raise OverflowError(f"{number} does not fit dtype {dtype} ({limits.min} to {limits.max})")
    return 0


cdef int scalar_in_general(cnp.ndarray like, object value, scalar *result) except -1:
    """Any value that NumPy can convert without loss of kind or range."""
    cdef cnp.ndarray given = np.asarray(value)
    cdef cnp.ndarray converted
    cdef cnp.dtype dtype = like.dtype
    if cnp.PyArray_SIZE(given) != 1:
        raise ValueError(f"one value is wanted, not an array of shape {(<object>given).shape}")
    number = given.reshape(()).item()
    whole = isinstance(number, int)      # also one beyond 64 bits, which NumPy holds as an object
    if not whole and not np.can_cast(given.dtype, dtype, "same_kind"):
        raise TypeError(f"a value of type {type(value).__name__} does not fit dtype {dtype}")
    if whole and (<object>dtype).kind in "iu":
        check_range(number, dtype)
    converted = np.array([number if whole else given.reshape(())], dtype=dtype)
    memcpy(result, cnp.PyArray_DATA(converted), cnp.PyArray_ITEMSIZE(converted))
    return 0


cdef extern from "string.h":
    void *memcpy(void *to, const void *source, size_t bytes)

cdef extern from "Python.h":
    bint PyLong_CheckExact(object candidate)
    bint PyFloat_CheckExact(object candidate)
    double PyFloat_AS_DOUBLE(object number)
    long long PyLong_AsLongLongAndOverflow(object number, int *overflow) except? -1


cdef inline int scalar_from(cnp.ndarray like, int element, object value, scalar *result) except -1:
    """One value as the C type of an array's elements."""
    cdef int overflow = 0
    cdef long long number
    if PyLong_CheckExact(value):
        number = PyLong_AsLongLongAndOverflow(value, &overflow)
        if not overflow:
            if element == ELEMENT_LONG or element == ELEMENT_LONGLONG:
                result.as_longlong = number
                return 0
            if element == ELEMENT_INT and number == <int>number:
                result.as_int = <int>number
                return 0
            if (element == ELEMENT_ULONG or element == ELEMENT_ULONGLONG) and number >= 0:
                result.as_longlong = number
                return 0
            if element == ELEMENT_UINT and number == <unsigned int>number:
                result.as_uint = <unsigned int>number
                return 0
    elif PyFloat_CheckExact(value) and element == ELEMENT_DOUBLE:
        result.as_double = PyFloat_AS_DOUBLE(value)
        return 0
    return scalar_in_general(like, value, result)


cdef inline object scalar_to(cnp.ndarray like, int element, const scalar *value):
    """A C value as a Python number; a NumPy scalar where Python has no number for it (``longdouble``)."""
    if element == ELEMENT_LONG or element == ELEMENT_LONGLONG:
        return value.as_longlong
    if element == ELEMENT_INT:
        return value.as_int
    if element == ELEMENT_ULONG or element == ELEMENT_ULONGLONG:
        return value.as_ulonglong
    if element == ELEMENT_UINT:
        return value.as_uint
    if element == ELEMENT_DOUBLE:
        return value.as_double
    if element == ELEMENT_FLOAT:
        return value.as_float
    return PyArray_ToScalar(<void *>value, like).item()


cdef extern from "numpy/arrayobject.h":
    object PyArray_ToScalar(void *data, cnp.ndarray like)
