"""Makes golden.json: what transformers computes, in double precision, on the texts below.

    python golden.py MINILM_DIR MPNET_DIR > golden.json

Tiny models have weights from a formula (see `weights`), which the test writes to a file for the encoder; all of
their numbers are kept. Of the real models a few numbers per text are kept: see `digest`.
"""

import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from transformers import (
    AutoModel,
    AutoTokenizer,
    BertConfig,
    BertModel,
    DistilBertConfig,
    DistilBertModel,
    MPNetConfig,
    MPNetModel,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaModel,
)

TEXTS = [
    "What does renters insurance cover?",
    "A deductible is what you pay yourself before the insurer pays; a higher one lowers the premium.",
    "保险公司会赔偿地震造成的损失吗？我住在上海。",
    "🚗💥 then 🏥 — who pays? 👩🏽‍🚒 naïve café, Ünïcödé",
    "",
    "insurance",
    " \t\n  spaces,\u00a0no-break\u3000wide\u200bzero\r\n\tand   tabs  \n\n",
    "word " * 700,
    " ".join(f"Clause {n}: the insured party shall notify the company within {n} days." for n in range(60)),
    "[CLS] [SEP] [MASK] <s> </s> <pad> are written out",
    "supercalifragilisticexpialidocious" * 4,
    "x" * 150,
    "Does Medicare cover dental implants, hearing aids and glasses for people over 65 in Florida or Texas?",
]

VOCABULARY = ["[CLS]", "[PAD]", "[SEP]", "[UNK]", "the", "insur", "##ance", "a", "pay", "##s", "cover", "w", "##o",
              "##r", "##d", "word", "x", "##x", ",", ".", "?", "一", "保", "🚗", "in", "##ed", "shall", "no", "##tify"]

TINY_TEXTS = ["", "the insurance pays", "word " * 100, "一保 a 🚗 no?", "x", "the insured shall notify, word. " * 3]


def weights(name, shape):
    """Numbers in +-1/4 that anyone can compute again (a hash of name and index); normalisations are near 1."""
    seed = 2166136261
    for byte in name.encode():
        seed = ((seed ^ byte) * 16777619) % 2**32
    index = np.arange(int(np.prod(shape)), dtype=np.uint64)
    hashed = ((index + seed) * 2654435761) % 2**32
    hashed = ((hashed ^ (hashed >> 15)) * 2246822519) % 2**32
    values = (hashed.astype(np.float64) / 2**32 - 0.5) / 2
    if name.lower().replace("_", "").endswith("layernorm.weight"):
        values += 1
    return torch.tensor(values.astype(np.float32)).reshape(shape)


def tiny_models():
    sizes = dict(vocab_size=len(VOCABULARY), max_position_embeddings=40)
    bert = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=48, **sizes)
    yield "bert", BertModel, BertConfig(**bert, pad_token_id=1)
    yield "bert-gelu-new", BertModel, BertConfig(**{**bert, "num_attention_heads": 4}, hidden_act="gelu_new", pad_token_id=1)
    yield "roberta", RobertaModel, RobertaConfig(**bert, pad_token_id=1, type_vocab_size=1)
    yield "distilbert", DistilBertModel, DistilBertConfig(
        dim=32, n_layers=2, n_heads=2, hidden_dim=48, pad_token_id=1, activation="relu", **sizes)
    yield "mpnet", MPNetModel, MPNetConfig(**bert, pad_token_id=1)


def encode(model, tokenizer, texts, longest):
    for text in texts:
        inputs = tokenizer(text, truncation=True, max_length=longest, return_tensors="pt")
        inputs = {name: inputs[name] for name in ("input_ids", "attention_mask")}
        with torch.no_grad():
            yield text, inputs["input_ids"][0].tolist(), model(**inputs).last_hidden_state[0].numpy()


def digest(text, ids, tokens):
    """The first 8 columns of three tokens, and the pooled embedding and all tokens against fixed directions."""
    count, width = tokens.shape
    pooled = tokens.mean(0)
    pooled = pooled / np.linalg.norm(pooled)
    directions = np.cos(np.outer(np.arange(4) + 1, np.arange(width)) * 0.37) / np.sqrt(width)
    waves = np.cos(np.arange(count) * 0.21) / np.sqrt(count)
    return {
        "text": text,
        "ids": [len(ids), sum((n + 1) * t for n, t in enumerate(ids))],
        "rows": [tokens[row, :8].tolist() for row in (0, count // 2, count - 1)],
        "tokens": (directions @ tokens.T @ waves).tolist(),
        "pooled": pooled[:8].tolist() + (directions @ pooled).tolist(),
    }


def tokenizer_json():
    """WordPiece over the vocabulary above."""
    return {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [
            {"id": n, "content": t, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
             "special": True} for n, t in enumerate(VOCABULARY[:4])],
        "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
                       "strip_accents": None, "lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                       {"SpecialToken": {"id": "[SEP]", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {t: {"id": t, "ids": [n], "tokens": [t]} for n, t in ((0, "[CLS]"), (2, "[SEP]"))}},
        "decoder": None,
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100, "vocab": {t: n for n, t in enumerate(VOCABULARY)}},
    }


def main():
    torch.manual_seed(0)
    golden = {"vocabulary": VOCABULARY, "tiny": [], "real": []}
    with tempfile.TemporaryDirectory() as folder:
        golden["tokenizer"] = tokenizer_json()
        path = Path(folder) / "tokenizer.json"
        path.write_text(json.dumps(golden["tokenizer"]))
        tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(path), pad_token="[PAD]")
        for name, kind, config in tiny_models():
            model = kind(config, add_pooling_layer=False) if name != "distilbert" else kind(config)
            state = {key: weights(key, value.shape) for key, value in model.state_dict().items()
                     if value.is_floating_point()}
            model.load_state_dict(state, strict=False)
            model = model.double().eval()
            longest = 38 if name in ("roberta", "mpnet") else 40
            fields = {key: value for key, value in config.to_dict().items()
                      if isinstance(value, (int, float, str)) and not isinstance(value, bool)}
            golden["tiny"].append({
                "name": name,
                "config": fields,
                "shapes": {key: list(value.shape) for key, value in state.items()},
                "texts": [{"text": text, "ids": ids, "tokens": np.round(tokens, 6).flatten().tolist()}
                          for text, ids, tokens in encode(model, tokenizer, TINY_TEXTS, longest)],
            })
    for name, folder in zip(("minilm", "mpnet"), sys.argv[1:]):
        tokenizer = AutoTokenizer.from_pretrained(folder)
        model = AutoModel.from_pretrained(folder, add_pooling_layer=False).double().eval()
        for longest in (json.loads((Path(folder) / "sentence_bert_config.json").read_text())["max_seq_length"], 512):
            texts = [digest(*item) for item in encode(model, tokenizer, TEXTS, longest)]
            golden["real"].append({"name": name, "longest": longest, "texts": texts})
    print(json.dumps(golden, ensure_ascii=True, separators=(",", ":")))


if __name__ == "__main__":
    main()
