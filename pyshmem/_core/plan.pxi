# What definitions would do on a machine, in plain Python values; pyshmem/plan.py gives it a face.

cdef dict PLACES = {"none": PLACE_MACHINE, "socket": PLACE_SOCKET, "core": PLACE_CORE}


cdef list node_numbers(const nodeset *nodes):
    return [number for number in range(NODE_LIMIT) if nodeset_has(nodes, number)]


cdef dict definition_record(const definition *one, size_t block_bytes):
    cdef char kinds[64]
    kinds_text(one.kinds, kinds, sizeof(kinds))
    return {
        "id": one.id, "name": one.name.decode(), "size": one.size, "bytes": block_bytes, "kind": kinds.decode(),
        "policy": (policy_name(one.policy) + reach_name(one.reach)).decode() if one.policy != POLICY_NONE else "",
        "page_size": one.page_size, "transparent": bool(one.transparent_huge), "origin": origin_name(one.origin).decode(),
    }


cdef dict choice_record(const choice *one):
    return {"nodes": node_numbers(&one.nodes), "fell_back": bool(one.fell_back),
            "why": words_of(one.why.text) if one.fell_back else ""}


cdef dict plan_record(const plan *made, bint here):
    cdef int count = made.definitions.count, place, i
    nodes = [node_record(&made.table.node[i], False) for i in range(made.table.count)]
    for node in nodes:
        node["free"] = made.supply.node[node["node"]]
    return {
        "platform": made.table.summary.decode(), "nodes": nodes, "saved": not here,
        "partitions": [definition_record(&made.definitions.entry[i], made.block_bytes[i]) for i in range(count)],
        "places": [cpu_numbers(&made.place[place]) for place in range(made.places)],
        "choices": [[choice_record(&made.choice[place * count + i]) for i in range(count)]
                    for place in range(made.places)] if made.choice is not NULL else [],
        "failed_pe": made.failed_pe if made.fails else None,
        "failure": words_of(made.message.text) if made.fails else None,
    }


def plan_job(xml, definitions, int pes, place):
    """What the definitions of the environment and the given ones would do for a job on one node.

    Parameters
    ----------
    xml : str or None
        A file in hwloc's XML format; None: this machine.
    definitions : sequence of bytes
        As a program would give them, without a name.
    pes : int
    place : {'none', 'socket', 'core'}
        What PEs are bound to.

    Returns
    -------
    dict

    Raises
    ------
    OSError
        The file cannot be read, or hwloc cannot look at this machine.
    """
    cdef message reason
    cdef program_definition program[128]
    cdef int count = len(definitions), i
    cdef bytes path = None if xml is None else os.fsencode(xml)
    if count > 127:
        raise ValueError(f"{count} definitions: there are at most 127 partitions")
    kept = list(definitions)
    for i in range(count):
        program[i].id = 0
        program[i].name = NULL
        program[i].text = <const char *>kept[i]
    cdef plan *made = plan_make(NULL if path is None else <const char *>path, program, count, pes, PLACES[place], &reason)
    if made is NULL:
        raise OSError(words_of(reason.text))
    try:
        return plan_record(made, xml is None)
    finally:
        plan_destroy(made)
