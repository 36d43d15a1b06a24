#!/usr/bin/env python3
"""Writes tests/data/reference/manifest.json: which checkpoint must give which logits for which token ids.

    manifest.py             (no packages needed)

The table of the small SmolLM2 checkpoints stands here; tests/data/reference/*/cases*.json add theirs.
"""
import glob
import json
import os

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data")

# A text about boiling water, cut to 64 ids of the 512-token vocabulary.
SMALL_IDS = [
    71, 261, 259, 278, 95, 301, 99, 418, 253, 303, 323, 259, 252, 391, 456, 261, 424, 335, 253, 294, 405, 283,
    279, 399, 402, 325, 83, 81, 101, 313, 260, 253, 337, 273, 375, 99, 424, 260, 257, 314, 303, 323, 259, 30,
    330, 265, 95, 95, 91, 356, 95, 303, 380, 266, 275, 280, 453, 95, 307, 427, 81, 425, 102, 299]

MLX = "mlx_lm on the CPU with packed weights and float32 everywhere else; sums are ordered differently"
GGUF = "weights decoded by gguf-py, network in float64"
PACKED = "weights decoded by the format's own software or in numpy, transformers in float32; sums are ordered differently"
HF = "transformers in float32; sums are ordered differently"

# Independent stacks agree on these files to 1e-6 of the range; 1e-4 leaves room for another order of the sums.
TOLERANCE = 1e-4

SMALL = [
    *[(f"mlx-{name}", "", "safetensors", MLX, {}) for name in (
        "affine-2bit-g64", "affine-3bit-g32", "affine-4bit-g64", "mixed_2_6", "mixed_3_6", "mxfp4")],
    *[(f"gguf-{name}", "model.gguf", "gguf", GGUF, {}) for name in (
        "Q4_0", "Q4_1", "Q8_0", "Q6_K-pure", "Q4_K_M", "IQ1_M-pure", "IQ3_XXS-pure", "TQ1_0", "NVFP4")],
    *[(name, "", "safetensors", PACKED, {}) for name in (
        "gptq-4bit-g128-act", "gptq-3bit-g64", "awq-4bit-g64-gemm", "bnb-nf4-double", "bnb-int8", "ct-w3a16-g64",
        "ct-w4a16-asym-g128", "ct-nvfp4", "ct-mixed", "fp8-block128", "hqq-3bit-g64", "torchao-intx4wo-g32")],
    ("hf-f16", "", "safetensors", HF, {}),
]


def small_entry(name, file, container, reason, overrides):
    return {
        "name": name, "container": container, "model": os.path.join("models", name, file).rstrip("/"),
        "overrides": overrides, "logits": f"reference/{name}.npy", "tolerance": TOLERANCE, "reason": reason,
        "ids": SMALL_IDS}


def main():
    entries = [small_entry(*row) for row in SMALL]
    for cases in sorted(glob.glob(os.path.join(DATA, "reference", "*", "cases*.json"))):
        with open(cases, encoding="utf-8") as f:
            entries += json.load(f)
    for e in entries:
        for key in ("model", "logits"):
            assert os.path.exists(os.path.join(DATA, e[key])), e[key]
    with open(os.path.join(DATA, "reference", "manifest.json"), "w", encoding="utf-8") as f:
        f.write("[\n" + ",\n".join(json.dumps(e) for e in entries) + "\n]\n")
    print(len(entries), "entries")


if __name__ == "__main__":
    main()
