#!/usr/bin/env python3
"""Full logits of one model by another stack, for fixed ids.

    demo_logits.py mlx       MLX_FOLDER IDS OUT.npy     mlx_lm on the CPU, packed weights, all other numbers float32
    demo_logits.py mlx-f16   MLX_FOLDER IDS OUT.npy     the same as mlx_lm comes: 16-bit activations, some 15 times slower
    demo_logits.py llama.cpp MODEL.gguf IDS OUT.npy     llama.cpp as it comes: activations rounded to 8 bits, f16 KV cache
    demo_logits.py exact     MODEL.gguf IDS OUT.npy     the numbers of the file in float64

IDS: 1,2,3 or a JSON file with "ids". OUT: float32 [T, V] (512 positions of the demo model: 100 MB; coarse.py makes it small).
Packages: requirements/mlx.txt for mlx, requirements/gguf.txt for the others.
"""
import sys

import numpy as np

import exact_gguf


def widen(model):
    """Every number of the model that is not a packed code becomes float32."""
    import mlx.core as mx
    from mlx.utils import tree_map
    model.update(tree_map(lambda p: p.astype(mx.float32) if mx.issubdtype(p.dtype, mx.floating) else p, model.parameters()))
    return model


def load_mlx(path, wide):
    from mlx_lm import load
    model, _ = load(path)
    return widen(model) if wide else model


def by_mlx(path, ids, wide=True):
    import mlx.core as mx
    return np.array(load_mlx(path, wide)(mx.array([ids]))[0].astype(mx.float32))


def by_llama_cpp(path, ids):
    from llama_cpp import Llama
    llm = Llama(path, n_ctx=len(ids), n_batch=512, n_threads=2, n_threads_batch=2, logits_all=True, verbose=False)
    llm.eval(ids)
    return np.array(llm.scores[:len(ids)], np.float32)


STACKS = {
    "mlx": by_mlx,
    "mlx-f16": lambda path, ids: by_mlx(path, ids, wide=False),
    "llama.cpp": by_llama_cpp,
    "exact": exact_gguf.logits,
}


def main(stack, path, ids, out):
    logits = STACKS[stack](path, exact_gguf.read_ids(ids)).astype(np.float32)
    assert np.isfinite(logits).all()
    np.save(out, logits)
    print(stack, logits.shape, "range", float(logits.max() - logits.min()))


if __name__ == "__main__":
    if len(sys.argv) != 5 or sys.argv[1] not in STACKS:
        sys.exit(__doc__)
    main(*sys.argv[1:])
