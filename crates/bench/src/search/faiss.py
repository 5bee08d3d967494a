"""The FAISS side of `retreever-bench search`: one request a line on standard input, one answer a line back."""
import json
import sys
import time

import faiss
import numpy as np

documents, queries, width = sys.argv[1], sys.argv[2], int(sys.argv[3])
rows = np.memmap(documents, dtype=np.float32, mode="r").reshape(-1, width)
asked = np.fromfile(queries, dtype=np.float32).reshape(-1, width)
built = {}


def resident():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("RssAnon"))


def build(kind, threads):
    faiss.omp_set_num_threads(threads)
    before, start = resident(), time.perf_counter()
    if kind == "flat":
        index = faiss.IndexFlat(width, faiss.METRIC_L1)
    elif kind == "hnsw":
        index = faiss.IndexHNSWFlat(width, 32, faiss.METRIC_L1)
    else:
        lists = int(4 * len(rows) ** 0.5)
        index = faiss.IndexIVFFlat(faiss.IndexFlat(width, faiss.METRIC_L1), width, lists, faiss.METRIC_L1)
        index.own_fields = False
        built["ivf-quantizer"] = index.quantizer
        index.train(np.ascontiguousarray(rows[: 40 * lists]))
    for at in range(0, len(rows), 50000):
        index.add(np.ascontiguousarray(rows[at : at + 50000]))
    built[kind] = index
    return {"seconds": time.perf_counter() - start, "bytes": resident() - before}


def search(kind, threads, batch, count, effort, k):
    index = built[kind]
    faiss.omp_set_num_threads(threads)
    if kind == "hnsw":
        index.hnsw.efSearch = effort
    elif kind == "ivf":
        index.nprobe = effort
    times, ids, distances = [], [], []
    for at in range(0, count, batch):
        start = time.perf_counter()
        found = index.search(asked[at : at + batch], k)
        times.append((time.perf_counter() - start) / batch)
        distances += found[0].tolist()
        ids += found[1].tolist()
    return {"seconds": sorted(times)[len(times) // 2], "ids": ids, "distances": distances}


def reopen(kind, path):
    faiss.write_index(built.pop(kind), path)
    start = time.perf_counter()
    index = faiss.read_index(path)
    return {"seconds": time.perf_counter() - start, "bytes": index.ntotal * width * 4}


for line in sys.stdin:
    [(name, arguments)] = json.loads(line).items()
    answer = {"build": build, "search": search, "reopen": reopen}[name](**arguments)
    print(json.dumps(answer), flush=True)
