"""Writes tests/data/quant/*.bin: matrices that gguf-py and mlx encoded and decoded, for src/quant/quant_test.cc.

    pip install gguf==0.19.0 mlx==0.32.4 mlx-cpu==0.32.4
    python tests/oracle/quant/make_quant_fixtures.py [LIBGGML_BASE]

LIBGGML_BASE is llama_cpp/lib/libggml-base.so of llama_cpp_python==0.3.36: it decodes Q1_0 and Q2_0, which gguf-py does not know.

A file is a run of sections, each a little-endian u64 length and so many bytes: values (f32), codes, scales, biases, decoded (f32).
GGUF formats have empty scales and biases; those that motley does not write, and Q6_K, which gguf-py does not, have random blocks and
no values.
"""

import ctypes
import pathlib
import struct
import sys

import gguf
import numpy as np

OUT = pathlib.Path(__file__).resolve().parents[3] / "tests/data/quant"
ROWS, COLS = 3, 256


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


# name: inputs and bytes of a block, where its f16 factors lie.
RANDOM_BLOCKS = {
    "Q5_0": (32, 22, [0]), "Q5_1": (32, 24, [0, 2]), "Q2_K": (256, 84, [80, 82]), "Q3_K": (256, 110, [108]),
    "Q4_K": (256, 144, [0, 2]), "Q5_K": (256, 176, [0, 2]), "IQ4_NL": (32, 18, [0]), "IQ4_XS": (256, 136, [0]),
    "IQ2_XXS": (256, 66, [0]), "IQ2_XS": (256, 74, [0]), "IQ2_S": (256, 82, [0]), "IQ3_XXS": (256, 98, [0]), "IQ3_S": (256, 110, [0]),
    "IQ1_S": (256, 50, [0]), "IQ1_M": (256, 56, []), "TQ1_0": (256, 54, [52]), "TQ2_0": (256, 66, [64]), "MXFP4": (32, 17, []),
    "NVFP4": (64, 36, []), "Q1_0": (128, 18, [0]), "Q2_0": (64, 18, [0]),
}
# The largest, smallest and subnormal f16, both zeros.
EXTREMES = np.array([65504, -65504, 2**-14, 2**-24, -2**-24, 0, -0.0], np.float16)


def random_blocks(rng, bytes_a_block, factors, count):
    """Random bytes with finite f16 factors, every third block's an extreme one."""
    blocks = rng.integers(0, 256, (count, bytes_a_block), dtype=np.uint8)
    for at in factors:
        scales = (rng.standard_normal(count) * 0.01).astype(np.float16)
        scales[::3] = rng.choice(EXTREMES, len(scales[::3]))
        blocks[:, at:at + 2] = scales.view(np.uint8).reshape(count, 2)
    return blocks


def keep_finite(name, blocks):
    """IQ1_M keeps its f16 factor in the top nibbles of four u16; MXFP4's exponent overflows f32 near its end."""
    if name == "IQ1_M":
        blocks[:, 55] &= 0xbf
    if name == "MXFP4":
        blocks[:, 0] = np.minimum(blocks[:, 0], 250)
    return blocks


def decoded_by_ggml(library, name, codes, cols):
    out = np.zeros((len(codes), cols), np.float32)
    decode = getattr(library, f"dequantize_row_{name.lower()}")
    for row, numbers in zip(codes, out):
        decode(row.ctypes.data_as(ctypes.c_void_p), numbers.ctypes.data_as(ctypes.c_void_p), ctypes.c_int64(cols))
    return out


def random_block_fixtures(rng, library):
    none = np.zeros(0, np.uint8)
    for name, (block_cols, block_bytes, factors) in RANDOM_BLOCKS.items():
        blocks = keep_finite(name, random_blocks(rng, block_bytes, factors, ROWS * 2 * COLS // block_cols))
        codes = np.ascontiguousarray(blocks.reshape(ROWS, -1))
        if name in ("Q1_0", "Q2_0"):
            decoded = decoded_by_ggml(library, name, codes, 2 * COLS)
        else:
            decoded = gguf.dequantize(codes, getattr(gguf.GGMLQuantizationType, name))
        assert np.isfinite(decoded).all(), name
        write(name.lower(), none, codes, none, none, decoded.astype(np.float32))


def raw(array):
    import mlx.core as mx
    return np.array(array.view(mx.uint16 if array.itemsize == 2 else mx.uint32))


def mlx_fixtures(rng):
    import mlx.core as mx
    mx.set_default_device(mx.cpu)
    dtypes = {"f32": mx.float32, "f16": mx.float16, "bf16": mx.bfloat16}
    for bits in (2, 3, 4, 5, 6, 8):
        for group in (32, 64, 128):
            for name, dtype in dtypes.items():
                x = mx.array(values(rng)).astype(dtype)
                codes, scales, biases = mx.quantize(x, group_size=group, bits=bits)
                decoded = mx.dequantize(codes, scales.astype(mx.float32), biases.astype(mx.float32), group_size=group, bits=bits)
                write(f"mlx_{bits}bit_g{group}_{name}", np.array(x.astype(mx.float32)), np.array(codes), raw(scales), raw(biases),
                      np.array(decoded))


def mlx_float_fixtures(rng):
    import mlx.core as mx
    mx.set_default_device(mx.cpu)
    for mode, group, bits in (("mxfp4", 32, 4), ("nvfp4", 16, 4), ("mxfp8", 32, 8)):
        codes, scales = mx.quantize(mx.array(values(rng)), group_size=group, bits=bits, mode=mode)
        decoded = mx.dequantize(codes, scales, group_size=group, bits=bits, mode=mode, dtype=mx.float32)
        none = np.zeros(0, np.uint8)
        write(f"mlx_{mode}", none, np.array(codes), np.array(scales), none, np.array(decoded))


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(20)
    gguf_fixtures(rng)
    mlx_fixtures(rng)
    mlx_float_fixtures(np.random.default_rng(22))
    random_block_fixtures(np.random.default_rng(21), ctypes.CDLL(sys.argv[1]))


if __name__ == "__main__":
    main()
