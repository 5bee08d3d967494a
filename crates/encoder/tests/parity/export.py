"""Makes tiny.onnx: the model `bert` of golden.py, with the same weights from a formula, as an ONNX file. What it should
compute therefore stands in golden.json already. And company.onnx: a table of embeddings over the largest number in the
batch, made for texts of six tokens.

    python export.py tiny.onnx company.onnx
"""

import sys

import numpy as np
import onnx
import torch
from golden import tiny_models, weights


class LastHiddenState(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask, token_type_ids):
        return self.model(input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids).last_hidden_state


name, kind, config = next(tiny_models())
assert name == "bert"
config._attn_implementation = "eager"
model = kind(config, add_pooling_layer=False)
state = {key: weights(key, value.shape) for key, value in model.state_dict().items() if value.is_floating_point()}
model.load_state_dict(state, strict=False)
ids = torch.arange(10).reshape(2, 5)
names = ["input_ids", "attention_mask", "token_type_ids"]
axes = {0: "batch", 1: "length"}
torch.onnx.export(
    LastHiddenState(model.eval()), (ids, torch.ones_like(ids), torch.zeros_like(ids)), sys.argv[1], input_names=names,
    output_names=["last_hidden_state"], dynamic_axes={each: axes for each in [*names, "last_hidden_state"]},
    dynamo=False, opset_version=17)

# Short names: the file lies in the repository.
made = onnx.load(sys.argv[1])
short = {each: each for each in ["", *names, "last_hidden_state"]}
rename = lambda each: short.setdefault(each, f"t{len(short)}")
for node in made.graph.node:
    node.ClearField("doc_string")
    node.ClearField("name")
    for side in (node.input, node.output):
        side[:] = [rename(each) for each in side]
for tensor in made.graph.initializer:
    tensor.name = rename(tensor.name)
del made.graph.value_info[:]
onnx.save(made, sys.argv[1])

table = np.arange(29 * 4, dtype=np.float32).reshape(29, 4) + 1
whole = onnx.TensorProto.INT64
graph = onnx.helper.make_graph(
    [
        onnx.helper.make_node("Gather", ["table", "input_ids"], ["rows"]),
        onnx.helper.make_node("Cast", ["attention_mask"], ["mask"], to=onnx.TensorProto.FLOAT),
        onnx.helper.make_node("Unsqueeze", ["mask", "last"], ["column"]),
        onnx.helper.make_node("Mul", ["rows", "column"], ["masked"]),
        onnx.helper.make_node("ReduceMax", ["masked"], ["largest"], keepdims=1),
        onnx.helper.make_node("Div", ["masked", "largest"], ["last_hidden_state"]),
    ],
    "company",
    [onnx.helper.make_tensor_value_info(each, whole, ["batch", 6]) for each in names[:2]],
    [onnx.helper.make_tensor_value_info("last_hidden_state", onnx.TensorProto.FLOAT, ["batch", 6, 4])],
    [onnx.numpy_helper.from_array(table, "table"), onnx.numpy_helper.from_array(np.array([2]), "last")],
)
onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), sys.argv[2])
