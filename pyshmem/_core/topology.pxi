# What memory a machine has, in plain Python values; pyshmem/topology.py gives it a face.

from libc.stdlib cimport free as c_free

cdef enum:
    CPUS_PER_WORD = 64


cdef list cpu_numbers(const cpuset *cpus):
    return [CPUS_PER_WORD * i + bit for i in range(128) if cpus.word[i]
            for bit in range(CPUS_PER_WORD) if cpus.word[i] >> bit & 1]


cdef dict node_record(const memory_node *node, bint here):
    return {
        "node": node.number, "memory": memory_name(node.memory).decode(), "evidence": evidence_name(node.evidence).decode(),
        "fast": bool(node.fast), "capacity": bool(node.capacity), "allowed": bool(node.allowed),
        "memory_side_cache": bool(node.memory_cache), "size": node.size,
        "free": placement_free_bytes(node.number) if here else None, "bandwidth": node.bandwidth or None,
        "latency": node.latency or None, "cpus": cpu_numbers(&node.cpus),
    }


def recognise(xml=None):
    """What recognition says of this machine, or of a topology that hwloc has saved.

    Parameters
    ----------
    xml : str, optional
        A file in hwloc's XML format.

    Returns
    -------
    tuple
        A line on the machine, which may be empty, and a dictionary for each NUMA node: bytes, MB/s and ns.

    Raises
    ------
    OSError
        The file cannot be read, or hwloc cannot look at this machine.
    """
    cdef message reason
    cdef bytes path = None if xml is None else os.fsencode(xml)
    cdef memory_table *table = topology_recognise(NULL if path is None else <const char *>path, &reason)
    if table is NULL:
        raise OSError(words_of(reason.text))
    try:
        return table.summary.decode(), [node_record(&table.node[i], xml is None) for i in range(table.count)]
    finally:
        c_free(table)
