"""Makes encoders of many shapes with random weights, each with parity.json: what transformers computes in double precision.

    python others.py FOLDER [MODEL_DIR ...]

`RETREEVER_PARITY=FOLDER cargo test --release -p retreever-encoder --test parity others` compares them with ours. Of a
MODEL_DIR that is given a copy with its parity.json is made, so that any other model can be compared too.
"""

import json
import random
import shutil
import sys
from pathlib import Path

import torch
from golden import TEXTS, TINY_TEXTS, VOCABULARY, encode, tokenizer_json
from transformers import (
    AutoModel,
    AutoTokenizer,
    BertConfig,
    BertModel,
    CamembertConfig,
    CamembertModel,
    DistilBertConfig,
    DistilBertModel,
    MPNetConfig,
    MPNetModel,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaModel,
    XLMRobertaConfig,
    XLMRobertaModel,
)

KINDS = {
    "bert": (BertModel, BertConfig),
    "distilbert": (DistilBertModel, DistilBertConfig),
    "roberta": (RobertaModel, RobertaConfig),
    "xlm-roberta": (XLMRobertaModel, XLMRobertaConfig),
    "camembert": (CamembertModel, CamembertConfig),
    "mpnet": (MPNetModel, MPNetConfig),
}


def shapes(kind, draw):
    heads, head = draw.choice([(1, 16), (2, 24), (3, 32), (4, 12), (5, 64), (6, 20), (8, 48), (12, 64)])
    sizes = dict(vocab_size=len(VOCABULARY) + draw.choice([0, 1, 100]), pad_token_id=1,
                 max_position_embeddings=draw.choice([40, 77, 130, 514]), initializer_range=draw.choice([0.02, 0.05, 0.1]))
    act = draw.choice(["gelu", "relu", "gelu_new", "gelu_pytorch_tanh"])
    inner, layers = heads * head * draw.choice([1, 2, 4]) + draw.choice([0, 4]), draw.choice([1, 2, 5, 7, 12])
    if kind == "distilbert":
        return dict(dim=heads * head, n_heads=heads, n_layers=layers, hidden_dim=inner,
                    activation=act.replace("gelu_pytorch_tanh", "gelu"), **sizes)
    sizes |= dict(hidden_size=heads * head, num_attention_heads=heads, num_hidden_layers=layers, intermediate_size=inner,
                  hidden_act=act, layer_norm_eps=draw.choice([1e-5, 1e-12]))
    return sizes if kind == "mpnet" else sizes | dict(type_vocab_size=draw.choice([1, 2, 3]))


def write(folder, model, tokenizer, longest, texts):
    found = [{"text": text, "ids": ids, "tokens": tokens.flatten().tolist()}
             for text, ids, tokens in encode(model.double().eval(), tokenizer, texts, longest)]
    (folder / "parity.json").write_text(json.dumps({"longest": longest, "texts": found}))


def main():
    draw, root = random.Random(7), Path(sys.argv[1])
    torch.manual_seed(7)
    for number in range(24):
        kind = list(KINDS)[number % len(KINDS)]
        model_class, config_class = KINDS[kind]
        config = config_class(**shapes(kind, draw))
        folder = root / f"{number:02}-{kind}"
        folder.mkdir(parents=True)
        model = model_class(config) if kind == "distilbert" else model_class(config, add_pooling_layer=False)
        for name, value in model.named_parameters():
            # As trained ones, neither all zero nor all one.
            if name.endswith("bias") or "norm" in name.lower():
                value.data += torch.randn_like(value) * 0.1
        model.save_pretrained(folder)
        (folder / "tokenizer.json").write_text(json.dumps(tokenizer_json()))
        tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"), pad_token="[PAD]")
        longest = config.max_position_embeddings - (0 if kind in ("bert", "distilbert") else 2)
        write(folder, model, tokenizer, longest, TINY_TEXTS + TEXTS[:4])
    for number, given in enumerate(sys.argv[2:]):
        folder = root / f"given-{number}"
        shutil.copytree(given, folder)
        model = AutoModel.from_pretrained(given, add_pooling_layer=False)
        write(folder, model, AutoTokenizer.from_pretrained(given), 256, TEXTS)


main()
