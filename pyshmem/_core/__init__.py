"""The fast core: Cython over OpenSHMEM and the C library of partitions.

``binding`` is one extension module, written in chapters (``runtime.pxi``, ``memory.pxi``, ``rma.pxi`` and so
on, after those of the OpenSHMEM specification).  Everything here is checked but plain; the friendly face is the
package around it.
"""
