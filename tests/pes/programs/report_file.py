"""A report in a file holds what the kernel said on each PE; started with PYSHMEM_REPORT=FILE.json."""

import json
import os
import socket
from pathlib import Path

import pyshmem as shmem

shmem.init(partitions={"bound": "size=3M:kind=DDR", "lazy": "size=1M"})
me, count = shmem.my_pe(), shmem.n_pes()
path = os.environ.get("PYSHMEM_REPORT", "")
said = json.loads(Path(path).read_text()) if path.endswith(".json") else None
shmem.barrier_all()

data = shmem.report("dict")
assert data["placements"] == json.loads(shmem.report(form="json"))["placements"]
assert shmem.report(form="svg").startswith("<svg") and shmem.report() == shmem.report(form="text")
for report in filter(None, (said, data)):
    assert report["version"] == 1 and report["pes"] == count and report["outliers"] == []
    assert sorted(pe for host in report["hosts"] for pe in host["pes"]) == list(range(count))
    assert [one["name"] for one in report["partitions"]] == ["bound", "lazy"]
    for partition in shmem.partitions():
        [mine] = [one for one in report["placements"] if one["pe"] == me and one["partition"] == partition.id]
        counted = partition.placement()
        assert mine["host"] == socket.gethostname()
        assert mine["absent"] == counted.pop(None, 0)
        assert mine["nodes"] == {str(node): size for node, size in counted.items()}
bound, lazy = data["partitions"]
assert sum(one["most"] for one in bound["nodes"].values()) == 3 << 20
assert bound["absent"] == {"least": 0, "most": 0}

spread = shmem.zeros(1 << 17, dtype="u1", partition="lazy")
spread[:] = me
data = shmem.report("dict")
assert data["partitions"][1]["used"] == 1 << 17

try:
    shmem.report(form="poem")
except ValueError as error:
    assert "text, dict, json, svg" in str(error)
else:
    raise AssertionError("a form that does not exist")
print("all well")
