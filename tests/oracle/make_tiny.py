#!/usr/bin/env python3
"""Tiny random Llamas, one for each thing that a loader can get wrong, with the logits of transformers.

    make_tiny.py             (packages: requirements/torch.txt)

Writes tests/data/models/tiny/NAME-CONTAINER/, tests/data/reference/tiny/NAME.npy and tests/data/reference/tiny/cases.json;
run manifest.py afterwards. The weights are large enough that attention decides: scores have a deviation of about 2, so a wrong
rotation, mask or norm moves the logits by far more than rounding does. Every reference is checked against llama_math (float64), and for
each case the position is recorded at which the other rotation (interleaved for half-split) first moves a logit by 1 % of the range.
"""
import dataclasses
import json
import os
import shutil

import numpy as np

import llama_math
import tiny_writers

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data")
T = 64
TOLERANCE = 1e-4  # transformers in float32 and float64 arithmetic differ by 1e-6 of the range
SHOWS = 0.01      # a mistake must move some logit by more than this share of the range


@dataclasses.dataclass
class Case:
    name: str
    containers: tuple = ("hf",)
    hidden: int = 32
    heads: int = 4
    kv_heads: int = 2
    head_dim: int = 8
    feed_forward: int = 64
    layers: int = 2
    vocab: int = 96
    eps: float = 0.03          # so large that a built-in 1e-5 is seen
    theta: float = 500.0       # not the 10000 that containers assume
    tied: bool = True
    bias: bool = False
    window: int = 0
    scaling: dict = None
    dtype: str = "float16"
    config_style: int = 4
    shards: int = 1
    gguf_version: int = 3
    overrides: dict = dataclasses.field(default_factory=dict)


LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 64}
ALL = ("hf", "gguf", "llama2c")
PLAIN = {"eps": 1e-5, "theta": 10000.0, "dtype": "float32"}  # what llama2.c's format takes for granted

CASES = [
    Case("rope-one-kv", ALL, kv_heads=1, **PLAIN),
    Case("rope-grouped-kv", ALL, kv_heads=2, **PLAIN),
    Case("rope-equal-kv", ALL, kv_heads=4, **PLAIN),
    Case("llama3-scaling", ("hf", "gguf"), head_dim=16, heads=2, kv_heads=1, theta=10000.0, scaling=LLAMA3),
    Case("llama3-scaling-new-config", heads=2, kv_heads=1, head_dim=16, theta=10000.0, scaling=LLAMA3, config_style=5),
    Case("linear-scaling", ("hf", "gguf"), scaling={"type": "linear", "factor": 4.0}),
    Case("yarn-scaling", ("hf", "gguf"), head_dim=16, heads=2, kv_heads=1, theta=10000.0,
         scaling={"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32}),
    Case("mistral-window", window=16),
    Case("mistral-window-new-config", window=16, config_style=5, dtype="bfloat16"),
    Case("untied", ("hf", "gguf", "llama2c"), tied=False, overrides={"rope_theta": 500, "norm_eps": 0.03}),
    Case("bias", ("hf", "gguf"), bias=True),
    Case("wide-heads", ("hf", "gguf"), head_dim=16),
    Case("odd-sizes", ("hf", "gguf"), hidden=36, heads=3, kv_heads=1, head_dim=12, feed_forward=52, vocab=101),
    Case("sharded", ("hf", "gguf"), shards=3),
    Case("version-2", ("gguf",), gguf_version=2),
]


def make_weights(case, rng):
    """Hugging Face names -> float32 arrays that case.dtype holds exactly (float16 for all but bfloat16 cases)."""
    q, kv = case.heads * case.head_dim, case.kv_heads * case.head_dim
    w = {}

    def matrix(path, rows, columns, gain, bias=False):
        w[path + ".weight"] = rng.standard_normal((rows, columns)) * gain / np.sqrt(columns)
        if bias:
            w[path + ".bias"] = rng.standard_normal(rows) * 0.5

    def norm(path):
        w[path + ".weight"] = rng.uniform(0.5, 1.5, case.hidden)

    w["model.embed_tokens.weight"] = rng.standard_normal((case.vocab, case.hidden)) * 0.5
    for i in range(case.layers):
        p = f"model.layers.{i}."
        norm(p + "input_layernorm")
        for role, rows in (("q", q), ("k", kv), ("v", kv)):
            matrix(f"{p}self_attn.{role}_proj", rows, case.hidden, 1.5, case.bias)
        matrix(p + "self_attn.o_proj", case.hidden, q, 1.0, case.bias)
        norm(p + "post_attention_layernorm")
        matrix(p + "mlp.gate_proj", case.feed_forward, case.hidden, 1.5, case.bias)
        matrix(p + "mlp.up_proj", case.feed_forward, case.hidden, 1.0, case.bias)
        matrix(p + "mlp.down_proj", case.hidden, case.feed_forward, 1.0, case.bias)
    norm("model.norm")
    if not case.tied:
        matrix("lm_head", case.vocab, case.hidden, 2.0)
    return {n: representable(a, case.dtype) for n, a in w.items()}


def representable(a, dtype):
    """Float16 holds every value; in bfloat16 cases bfloat16 does (the low 16 bits of the float32 are dropped)."""
    if dtype == "bfloat16":
        return (a.astype(np.float32).view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
    return a.astype(np.float16).astype(np.float32)


def by_transformers(folder, ids):
    """-> logits and the rotation that transformers used."""
    import torch
    from transformers import AutoModelForCausalLM
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    with torch.no_grad():
        logits = model(torch.tensor([ids])).logits[0].numpy()
    rotary = model.model.rotary_emb
    return logits, {"inverse_frequencies": rotary.inv_freq.double().numpy(), "magnitude": float(rotary.attention_scaling)}


def by_numpy(case, weights, ids, **changes):
    w = {n.removesuffix(".weight"): a.astype(np.float64) for n, a in weights.items()}
    return llama_math.forward(w, ids, **{"layers": case.layers, "heads": case.heads, "kv_heads": case.kv_heads, "eps": case.eps,
                                         "interleaved": False, "window": case.window, **changes})


def check_frequencies(case, frequencies):
    """Llama 3's rule as written in llama_math, which also makes rope_freqs of the GGUF, against transformers'."""
    s = case.scaling
    own = llama_math.plain_frequencies(case.head_dim, case.theta) / llama_math.llama3_divisors(
        case.head_dim, case.theta, s["factor"], s["low_freq_factor"], s["high_freq_factor"],
        s["original_max_position_embeddings"])
    assert np.allclose(own, frequencies, rtol=1e-6), case.name


def without(case, rotation):
    """{what: the arguments of a forward pass that lacks it}."""
    plain = {"inverse_frequencies": llama_math.plain_frequencies(case.head_dim, case.theta), "magnitude": 1.0}
    result = {"norm eps": {**rotation, "eps": 1e-5}} if case.eps > 1e-5 else {}
    if case.scaling:
        result["scaling"] = plain
    if case.scaling and rotation["magnitude"] != 1:
        result["magnitude"] = {**rotation, "magnitude": 1.0}
    if case.window:
        result["window"] = {**rotation, "window": None}
        result["window off by one"] = {**rotation, "window": case.window + 1}
    return result


def check(case, weights, ids, logits, rotation):
    """-> first position at which the wrong rotation shows."""
    span = logits.max() - logits.min()
    off = lambda other: np.abs(other - logits).max(-1) / span
    if (case.scaling or {}).get("rope_type") == "llama3":
        check_frequencies(case, rotation["inverse_frequencies"])
    error = off(by_numpy(case, weights, ids, **rotation)).max()
    assert error < 1e-5, f"{case.name}: transformers and float64 differ by {error} of the range"
    wrong = off(by_numpy(case, weights, ids, **rotation, interleaved=True))
    first = int(np.argmax(wrong > SHOWS))
    print(f"{case.name}: range {span:.2f}, float64 {error:.1e}, wrong rotation from position {first}, largest {wrong[:40].max():.3f}")
    assert 0 < first < 40, case.name
    for what, arguments in without(case, rotation).items():
        share = off(by_numpy(case, weights, ids, **arguments)).max()
        print(f"    without the right {what}: {share:.4f} of the range")
        assert share > SHOWS, f"{case.name}: {what} does not matter"
    return first


def write_container(case, kind, weights, folder):
    """-> path of the model inside the folder."""
    if kind == "hf":
        tiny_writers.write_hf(case, weights, folder)
        return ""
    return tiny_writers.write_gguf(case, weights, folder) if kind == "gguf" else tiny_writers.write_llama2c(case, weights, folder)


def make(case, seed):
    rng = np.random.default_rng(seed)
    weights = make_weights(case, rng)
    ids = [int(i) for i in rng.integers(3, case.vocab, T)]
    scratch = os.path.join(DATA, "models", "tiny", case.name + "-scratch")
    tiny_writers.write_hf(case, weights, scratch)
    logits, rotation = by_transformers(scratch, ids)
    shutil.rmtree(scratch)
    first = check(case, weights, ids, logits, rotation)
    np.save(os.path.join(DATA, "reference", "tiny", case.name + ".npy"), logits.astype(np.float32))
    entries = []
    for kind in case.containers:
        folder = os.path.join("models", "tiny", f"{case.name}-{kind}")
        file = write_container(case, kind, weights, os.path.join(DATA, folder))
        entries.append({
            "name": f"tiny/{case.name}-{kind}", "container": {"hf": "safetensors"}.get(kind, kind),
            "model": os.path.join(folder, file).rstrip("/"), "overrides": case.overrides if kind == "llama2c" else {},
            "logits": f"reference/tiny/{case.name}.npy", "tolerance": TOLERANCE,
            "reason": "transformers in float32; sums are ordered differently", "wrong_rotation_shows_at": first, "ids": ids})
    return entries


def main():
    for part in ("models", "reference"):
        os.makedirs(os.path.join(DATA, part, "tiny"), exist_ok=True)
    entries = [e for seed, case in enumerate(CASES) for e in make(case, 1000 + seed)]
    with open(os.path.join(DATA, "reference", "tiny", "cases.json"), "w", encoding="utf-8") as f:
        f.write("[\n" + ",\n".join(json.dumps(e) for e in entries) + "\n]\n")


if __name__ == "__main__":
    main()
