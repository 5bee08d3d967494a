"""The peer of `retreever-bench encode`: transformers in PyTorch, or ONNX Runtime, single precision.

Reads one JSON request per line, answers one JSON line each. Arguments: the model's directory, the number of threads, and
an ONNX file if ONNX Runtime is to run it.
"""

import json
import os
import sys
import time

os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np
import torch
from transformers import AutoModel, AutoTokenizer
from transformers.utils import logging

logging.set_verbosity_error()
logging.disable_progress_bar()
torch.set_num_threads(int(sys.argv[2]))
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
if len(sys.argv) > 3:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = int(sys.argv[2])
    session = onnxruntime.InferenceSession(sys.argv[3], options)
    wanted = {each.name for each in session.get_inputs()}
else:
    model = AutoModel.from_pretrained(sys.argv[1], add_pooling_layer=False).eval()


def last_hidden_state(inputs):
    if len(sys.argv) > 3:
        feed = {name: inputs[name].numpy() for name in inputs if name in wanted}
        return torch.from_numpy(session.run(["last_hidden_state"], feed)[0])
    return model(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"]).last_hidden_state


@torch.inference_mode()
def run(texts, batch, longest, keep):
    """Sorted by length, so that little is padded. Seconds, tokens, and embeddings where they are asked for."""
    order = sorted(range(len(texts)), key=lambda i: -len(texts[i]))
    start, tokens, pooled, rows = time.perf_counter(), 0, {}, {}
    for first in range(0, len(order), batch):
        chosen = order[first : first + batch]
        inputs = tokenizer([texts[i] for i in chosen], truncation=True, max_length=longest, padding=True,
                           return_tensors="pt")
        mask = inputs["attention_mask"]
        hidden = last_hidden_state(inputs)
        weights = mask.unsqueeze(-1).to(hidden.dtype)
        mean = torch.nn.functional.normalize((hidden * weights).sum(1) / weights.sum(1), dim=-1)
        tokens += int(mask.sum())
        for place, i in enumerate(chosen):
            pooled[i] = mean[place]
            if i < keep:
                rows[i] = hidden[place, : int(mask[place].sum())].numpy()
    seconds = time.perf_counter() - start
    return seconds, tokens, [pooled[i].tolist() for i in range(len(texts))] if keep else [], [
        rows[i].flatten().tolist() for i in range(keep)]


for line in sys.stdin:
    request = json.loads(line)
    seconds, tokens, pooled, rows = run(request["texts"], request["batch"], request["longest"], request["keep"])
    print(json.dumps({"seconds": seconds, "tokens": tokens, "pooled": pooled, "rows": rows}), flush=True)
