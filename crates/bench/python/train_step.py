"""One training step of the cross-attention tree in PyTorch, in two styles, checked against given results.

`authors`: as the method is usually written: keys and values for every token, torch.cdist with p = 1.
`folded`: the attention weights are averaged over the level embeddings before values are made.

Both styles and the given results are compared with the folded style in double precision. The gradient of |q - c| jumps where
two probabilities are equal; for the given results the sides of such ties are those of the given probabilities.

Reads a safetensors file (inputs, parameters, and the loss and gradients to agree with); prints one JSON line a style.
"""
import json, math, sys, time
import numpy as np
import torch
import torch.nn.functional as F

path, runs, threads, heads, depth = sys.argv[1], *map(int, sys.argv[2:6])
torch.set_num_threads(threads)
data = open(path, "rb").read()
base = 8 + int.from_bytes(data[:8], "little")
header = json.loads(data[8:base])


def load(name):
    shape, (first, last) = header[name]["shape"], header[name]["data_offsets"]
    return torch.from_numpy(np.frombuffer(data[base + first : base + last], dtype="<f4").reshape(shape).copy())


names = ["level_embeddings", "wq", "bq", "wk", "wv", "bv", "node_weight", "node_bias"]
sides = [(load(f"{side}_tokens"), load(f"{side}_lengths").long()) for side in ("query", "context")]
levels = [slice(2**level - 1, 2 ** (level + 1) - 1) for level in range(depth)]


def gradients(loss, tensors):
    loss.backward()
    return {"loss": loss.detach(), **{name: tensor.grad for name, tensor in tensors.items()}}


def error(found, exact):
    """The largest difference of each tensor, relative to its largest number."""
    ratio = lambda name: ((found[name].double() - exact[name]).abs().max() / exact[name].abs().max()).item()
    return {name: ratio(name) for name in exact}


def attention(p, tokens, lengths):
    embeddings, width = p["level_embeddings"], p["wq"].shape[0]
    head = width // heads
    q = (embeddings @ p["wq"].T + p["bq"]).view(*embeddings.shape[:2], heads, head)
    k = (tokens @ p["wk"].T).view(*tokens.shape[:2], heads, head)
    score = torch.einsum("lmhe,bnhe->bhlmn", q, k) / math.sqrt(head)
    mask = torch.arange(tokens.shape[1])[None, :] < lengths[:, None]
    return score.masked_fill(~mask[:, None, None, None, :], -math.inf).softmax(-1)


def authors(p, tokens, lengths):
    att = attention(p, tokens, lengths)
    v = (tokens @ p["wv"].T + p["bv"]).view(*tokens.shape[:2], heads, -1)
    out = torch.einsum("bhlmn,bnhe->blmhe", att, v).flatten(-2)
    node = lambda level, at: (out[:, level] @ p["node_weight"][at].T + p["node_bias"][at]).mean(1)
    return torch.cat([node(level, at) for level, at in enumerate(levels)], 1)


def folded(p, tokens, lengths):
    att = attention(p, tokens, lengths).mean(3)
    context = torch.einsum("bhln,bnd->blhd", att, tokens)
    wv = p["wv"].view(heads, -1, tokens.shape[-1])
    out = (torch.einsum("blhd,hed->blhe", context, wv) + p["bv"].view(heads, -1)).flatten(-2)
    node = lambda level, at: out[:, level] @ p["node_weight"][at].T + p["node_bias"][at]
    return torch.cat([node(level, at) for level, at in enumerate(levels)], 1)


def leaves(logits):
    reach = torch.ones(len(logits), 1, dtype=logits.dtype)
    for at in levels:
        left = torch.sigmoid(logits[:, at])
        reach = torch.stack([reach * left, reach * (1 - left)], -1).flatten(1)
    return reach


def loss_of(split, p, log_scale, sides=sides, distance=lambda q, c: torch.cdist(q, c, p=1)):
    q, c = (leaves(split(p, *side)) for side in sides)
    s = -0.5 * distance(q, c) * log_scale.exp()
    own = torch.arange(len(s))
    return 0.5 * (F.cross_entropy(s, own) + F.cross_entropy(s.T, own))


def parameters(dtype):
    p = {name: load(f"param_{name}").to(dtype).requires_grad_() for name in names}
    return p, load("param_log_scale").reshape(()).to(dtype).requires_grad_()


double = [(tokens.double(), lengths) for tokens, lengths in sides]


def exact(distance):
    p, log_scale = parameters(torch.float64)
    return gradients(loss_of(folded, p, log_scale, double, distance), {**p, "log_scale": log_scale})


def given_sides(q, c):
    """The L1 distances, each difference with the sign it has in the given probabilities; notes where that is another."""
    global other_sides, widest_tie
    theirs, difference = torch.sign(given_q[:, None] - given_c[None]), q[:, None] - c[None]
    other = torch.sign(difference.detach()) != theirs
    other_sides = int(other.sum())
    gaps = difference.detach().abs() / torch.maximum(q.detach()[:, None], c.detach()[None])
    widest_tie = gaps[other].max().item() if other_sides else 0.0
    return (difference * theirs).sum(-1)


given_q, given_c = load("reach").double().chunk(2)
reference = exact(given_sides)
given = {name: load(f"grad_{name}").reshape(tensor.shape) for name, tensor in reference.items() if name != "loss"}
ours = error({"loss": load("loss").reshape(()), **given}, reference)
reference = exact(lambda q, c: torch.cdist(q, c, p=1))

for style, split in (("authors", authors), ("folded", folded)):
    p, log_scale = parameters(torch.float32)
    everything = {**p, "log_scale": log_scale}
    theirs = error(gradients(loss_of(split, p, log_scale), everything), reference)
    optimiser = torch.optim.AdamW(everything.values(), lr=1e-4, betas=(0.9, 0.95), eps=1e-6, weight_decay=0.01)
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        optimiser.zero_grad(set_to_none=True)
        loss_of(split, p, log_scale).backward()
        torch.nn.utils.clip_grad_norm_(everything.values(), 1.0)
        optimiser.step()
        times.append(time.perf_counter() - start)
    peer_error = max(theirs.values())
    found = {"error": ours, "other_sides": other_sides, "widest_tie": widest_tie, "peer_error": peer_error}
    print(json.dumps({"style": style, **found, "seconds": times}), flush=True)
