#!/usr/bin/env python3
"""Tiny random Llamas as mlx_lm quantises them, for what the small SmolLM2 checkpoints lack, with mlx_lm's logits.

    make_tiny_mlx.py             (packages: requirements/mlx.txt)

Writes tests/data/models/tiny/NAME/, tests/data/reference/tiny/NAME.npy and tests/data/reference/tiny/cases-mlx.json; run manifest.py
afterwards. Each reference (packed weights, float32 everywhere else) is checked against llama_math on the dequantised weights (float64).
"""
import json
import os
import tempfile
from pathlib import Path

import mlx.core as mx
import numpy as np
from mlx_lm.utils import load_model, quantize_model, save_config, save_model

import demo_logits
import llama_math
import tiny_writers
from make_tiny import DATA, T, TOLERANCE, Case, make_weights


def mixed(path, _):
    """Another packing for embedding, head and one projection; one projection stays dense."""
    special = {"model.embed_tokens": {"group_size": 32, "bits": 8}, "lm_head": {"group_size": 64, "bits": 6},
               "model.layers.0.self_attn.v_proj": False, "model.layers.1.mlp.up_proj": {"group_size": 128, "bits": 3}}
    return special.get(path, True)


# name, network, group size, bits, predicate, dtype of scales
CASES = [
    ("mlx-untied-mixed", Case("", hidden=128, tied=False, feed_forward=64, head_dim=32, layers=2, theta=10000.0), 32, 4, mixed, mx.bfloat16),
    ("mlx-linear-bias", Case("", hidden=64, bias=True, head_dim=16), 32, 4, None, mx.float16),
    # Rows of 96 are no multiple of 64: mlx_lm leaves them dense and does not say so; the presence of .scales decides.
    ("mlx-rows-do-not-divide", Case("", hidden=96, heads=3, kv_heads=1, head_dim=32, feed_forward=128, layers=1), 64, 5, None, mx.float16),
]


def quantise(case, weights, group_size, bits, predicate, dtype, folder):
    with tempfile.TemporaryDirectory() as source:
        tiny_writers.write_hf(case, weights, source)
        model, config = load_model(Path(source))
        model.set_dtype(dtype)
        model, config = quantize_model(model, config, group_size, bits, quant_predicate=predicate)
        save_model(folder, model)
    dense = {p: False for p, _ in model.named_modules() if predicate and predicate(p, None) is False}
    for key in ("quantization", "quantization_config"):
        config[key].update(dense)  # mlx_lm reads this and other writers leave it; its own writer does not
    save_config(config, folder / "config.json")
    tiny_writers.write_json(str(folder), "tokenizer.json", tiny_writers.tokenizer_json(case.vocab))


def dequantised(model):
    """Hugging Face names -> float64."""
    w = {}
    for path, module in model.named_modules():
        if "scales" in module:
            value = mx.dequantize(module.weight, module.scales, module.biases, group_size=module.group_size, bits=module.bits)
        elif "weight" in module:
            value = module.weight
        else:
            continue
        w[path] = np.array(value, np.float64)
        if "bias" in module:
            w[path + ".bias"] = np.array(module.bias, np.float64)
    return w


def make(name, case, group_size, bits, predicate, dtype, seed):
    rng = np.random.default_rng(seed)
    weights = make_weights(case, rng)
    ids = [int(i) for i in rng.integers(3, case.vocab, T)]
    folder = Path(DATA) / "models" / "tiny" / name
    quantise(case, weights, group_size, bits, predicate, dtype, folder)
    model = demo_logits.widen(load_model(folder)[0])
    logits = np.array(model(mx.array([ids]))[0])
    exact = llama_math.forward(
        dequantised(model), ids, layers=case.layers, heads=case.heads, kv_heads=case.kv_heads, eps=case.eps, interleaved=False,
        inverse_frequencies=llama_math.plain_frequencies(case.head_dim, case.theta))
    error = np.abs(exact - logits).max() / (logits.max() - logits.min())
    print(f"{name}: range {logits.max() - logits.min():.2f}, float64 {error:.1e}")
    assert error < 1e-5, name
    np.save(os.path.join(DATA, "reference", "tiny", name + ".npy"), logits.astype(np.float32))
    return {"name": f"tiny/{name}", "container": "safetensors", "model": f"models/tiny/{name}", "overrides": {},
            "logits": f"reference/tiny/{name}.npy", "tolerance": TOLERANCE, "ids": ids,
            "reason": "mlx_lm with packed weights and float32 everywhere else; sums are ordered differently"}


def main():
    entries = [make(*row, seed=2000 + i) for i, row in enumerate(CASES)]
    with open(os.path.join(DATA, "reference", "tiny", "cases-mlx.json"), "w", encoding="utf-8") as f:
        f.write("[\n" + ",\n".join(json.dumps(e) for e in entries) + "\n]\n")


if __name__ == "__main__":
    main()
