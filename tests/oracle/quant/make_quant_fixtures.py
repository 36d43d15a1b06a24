"""Writes tests/data/quant/*.bin: matrices that gguf-py and mlx encoded and decoded, for src/quant/quant_test.cc.

    pip install gguf==0.19.0 mlx==0.32.4 mlx-cpu==0.32.4
    python tests/oracle/quant/make_quant_fixtures.py

A file is a run of sections, each a little-endian u64 length and so many bytes: values (f32), codes, scales, biases, decoded (f32).
GGUF formats have empty scales and biases; Q6_K, which gguf-py cannot encode, has random blocks and no values.
"""

import pathlib
import struct

import gguf
import mlx.core as mx
import numpy as np

OUT = pathlib.Path(__file__).resolve().parents[3] / "tests/data/quant"
ROWS, COLS = 3, 256
MLX_DTYPES = {"f32": mx.float32, "f16": mx.float16, "bf16": mx.bfloat16}


def values(rng):
    """Normal, with a flat, a silent, an all-negative and a tiny run, one outlier a row."""
    x = rng.standard_normal((ROWS, COLS), dtype=np.float32)
    x[0, :128] = 0.25
    x[0, 128:256] = 0
    x[1, :128] = -np.abs(x[1, :128]) - 0.5
    x[1, 128:160] *= 1e-6
    x[2, 77] = 9
    return x


def write(name, *sections):
    with open(OUT / f"{name}.bin", "wb") as file:
        for section in sections:
            data = np.ascontiguousarray(section).tobytes()
            file.write(struct.pack("<Q", len(data)) + data)


def gguf_fixtures(rng):
    kinds = gguf.GGMLQuantizationType
    none = np.zeros(0, np.uint8)
    for name, kind in (("q4_0", kinds.Q4_0), ("q4_1", kinds.Q4_1), ("q8_0", kinds.Q8_0)):
        x = values(rng)
        codes = gguf.quantize(x, kind)
        write(name, x, codes, none, none, gguf.dequantize(codes, kind))
    blocks = rng.integers(0, 256, (ROWS, 2, 210), dtype=np.uint8)
    blocks[..., 208:210] = (rng.standard_normal((ROWS, 2)) * 0.01).astype(np.float16).view(np.uint8).reshape(ROWS, 2, 2)
    codes = blocks.reshape(ROWS, -1)
    write("q6_k", none, codes, none, none, gguf.dequantize(codes, kinds.Q6_K))


def raw(array):
    return np.array(array.view(mx.uint16 if array.itemsize == 2 else mx.uint32))


def mlx_fixtures(rng):
    for bits in (2, 3, 4, 5, 6, 8):
        for group in (32, 64, 128):
            for name, dtype in MLX_DTYPES.items():
                x = mx.array(values(rng)).astype(dtype)
                codes, scales, biases = mx.quantize(x, group_size=group, bits=bits)
                decoded = mx.dequantize(codes, scales.astype(mx.float32), biases.astype(mx.float32), group_size=group, bits=bits)
                write(f"mlx_{bits}bit_g{group}_{name}", np.array(x.astype(mx.float32)), np.array(codes), raw(scales), raw(biases),
                      np.array(decoded))


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    mx.set_default_device(mx.cpu)
    rng = np.random.default_rng(20)
    gguf_fixtures(rng)
    mlx_fixtures(rng)


if __name__ == "__main__":
    main()
