#!/usr/bin/env python3
"""Logits that a Llama GGUF means: tensors decoded by gguf-py, the network in float64.

    exact_gguf.py MODEL.gguf IDS OUT.npy        IDS: 1,2,3 or a JSON file with "ids" (packages: requirements/gguf.txt)

llama.cpp itself rounds activations to 8 bits, which moves the logits by 1 to 3 % of their range.
"""
import json
import sys

import gguf
import numpy as np
from gguf.quants import dequantize

import llama_math
from gguf_to_mlx import module_path


def read_ids(text):
    if text.endswith(".json"):
        with open(text, encoding="utf-8") as f:
            return json.load(f)["ids"]
    return [int(x) for x in text.split(",")]


def read_weights(reader):
    """-> ({Hugging Face name: float64 array}, divisors of the rotation frequencies or None). Rows stay in GGUF's order."""
    weights, divisors = {}, None
    for t in reader.tensors:
        value = dequantize(np.asarray(t.data), t.tensor_type).astype(np.float64).reshape([int(d) for d in reversed(t.shape)])
        if t.name == "rope_freqs.weight":
            divisors = value
        elif t.name.endswith(".bias"):
            weights[module_path(t.name.removesuffix(".bias")) + ".bias"] = value
        else:
            weights[module_path(t.name)] = value
    return weights, divisors


def logits(path, ids, interleaved=True):
    reader = gguf.GGUFReader(path)
    meta = {key: field.contents() for key, field in reader.fields.items()}
    weights, divisors = read_weights(reader)
    heads = meta["llama.attention.head_count"]
    d = weights["model.layers.0.self_attn.q_proj"].shape[0] // heads
    frequencies = llama_math.plain_frequencies(d, meta.get("llama.rope.freq_base", 10000.0))
    if divisors is not None:
        frequencies = frequencies / divisors
    if meta.get("llama.rope.scaling.type") == "linear":
        frequencies = frequencies / meta["llama.rope.scaling.factor"]
    return llama_math.forward(
        weights, ids, layers=meta["llama.block_count"], heads=heads,
        kv_heads=meta.get("llama.attention.head_count_kv", heads), eps=meta["llama.attention.layer_norm_rms_epsilon"],
        inverse_frequencies=frequencies, interleaved=interleaved)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    np.save(sys.argv[3], logits(sys.argv[1], read_ids(sys.argv[2])).astype(np.float32))
