"""Writes tests/data/quant/grouped_*.bin: packed matrices for src/quant/grouped_test.cc, with random codes and extreme scales.

    pip install -r tests/oracle/requirements/grouped.txt
    python tests/oracle/quant/make_grouped_fixtures.py

What packs or decodes is the format's own software where it has a function for that (bitsandbytes, hqq, optimum-quanto, autoawq,
compressed-tensors, torch's 8-bit floats); the rest is numpy after the published description of the format.

A file is a run of sections, each a little-endian u64 length and so many bytes: codes, scales, offsets, outer scales, table of scales,
decoded (f32 [N, K]).
"""

import pathlib
import struct
import sys
import types

import numpy as np
import torch

# autoawq imports its calibration at once, which is not needed here.
sys.modules["datasets"] = types.ModuleType("datasets")
sys.modules["datasets"].load_dataset = None

OUT = pathlib.Path(__file__).resolve().parents[3] / "tests/data/quant"
NONE = np.zeros(0, np.uint8)
# The largest, smallest and subnormal f16, both zeros.
EXTREMES = np.array([65504, -65504, 2**-14, 2**-24, -2**-24, 0, -0.0], np.float16)
E2M1 = np.array([0, .5, 1, 1.5, 2, 3, 4, 6, -0.0, -.5, -1, -1.5, -2, -3, -4, -6], np.float32)


def write(name, codes, scales, offsets, decoded, outer=NONE, table=NONE):
    decoded = np.asarray(decoded)
    assert decoded.dtype == np.float32 and np.isfinite(decoded).all(), name
    with open(OUT / f"grouped_{name}.bin", "wb") as file:
        for section in (codes, scales, offsets, outer, table, decoded):
            data = np.ascontiguousarray(section).tobytes()
            file.write(struct.pack("<Q", len(data)) + data)


def some_scales(rng, shape):
    """f16, every third an extreme one."""
    scales = (rng.standard_normal(shape) * 0.01).astype(np.float16)
    flat = scales.reshape(-1)
    flat[::3] = rng.choice(EXTREMES, len(flat[::3]))
    return scales


def spread(groups, group, cols):
    """[N, G] to [N, K] in f32."""
    return np.repeat(np.asarray(groups, np.float32), group, axis=1)[:, :cols]


def stream(codes, bits):
    """Rows of codes as bits, lowest first, to whole 32-bit words."""
    planes = (codes[..., None].astype(np.uint8) >> np.arange(bits, dtype=np.uint8)) & 1
    planes = planes.reshape(len(codes), -1)
    planes = np.pad(planes, ((0, 0), (0, -planes.shape[1] % 32)))
    return np.packbits(planes, axis=1, bitorder="little").view("<u4")


def gptq(rng):
    rows, cols, group = 32, 64, 32
    for bits in (2, 3, 4, 8):
        for version in (1, 2):
            codes = rng.integers(0, 2**bits, (rows, cols))
            zeros = rng.integers(1, 2**bits, (rows, cols // group))
            scales = some_scales(rng, (rows, cols // group))
            stored = zeros - 1 if version == 1 else zeros
            decoded = spread(scales, group, cols) * (codes - spread(zeros, group, cols)).astype(np.float32)
            write(f"gptq_{bits}bit_v{version}", stream(codes, bits).T, scales.T, stream(stored.T, bits), decoded)


def awq_gemm(rng):
    rows, cols, group = 16, 64, 32
    codes, zeros = rng.integers(0, 16, (rows, cols)), rng.integers(0, 16, (rows, cols // group))
    scales = some_scales(rng, zeros.shape)

    def words(by_input):  # [.., N]: a word holds outputs 0 2 4 6 1 3 5 7
        fields = by_input.reshape(len(by_input), -1, 8)[:, :, [0, 2, 4, 6, 1, 3, 5, 7]].astype(np.uint64)
        return (fields << (4 * np.arange(8, dtype=np.uint64))).sum(-1).astype(np.uint32)

    decoded = spread(scales, group, cols) * (codes - spread(zeros, group, cols)).astype(np.float32)
    write("awq_gemm", words(codes.T), scales.T, words(zeros.T), decoded)


def awq_gemv(rng):
    from awq.modules.linear.gemv import WQLinear_GEMV
    rows, cols, group = 8, 128, 64
    codes, zeros = rng.integers(0, 16, (rows, cols)), rng.integers(0, 16, (rows, cols // group))
    scales = np.exp2(rng.integers(-12, 4, zeros.shape)).astype(np.float16)  # so that the packer rounds to these codes
    weights = spread(scales, group, cols) * (codes - spread(zeros, group, cols)).astype(np.float32)
    linear = torch.nn.Linear(cols, rows, bias=False)
    linear.weight.data = torch.tensor(weights)
    packed = WQLinear_GEMV.from_linear(linear, 4, group, scales=torch.tensor(scales).float(), zeros=torch.tensor(zeros).float())
    write("awq_gemv", packed.qweight.numpy(), packed.scales.numpy(), packed.qzeros.numpy(), weights)


def awq_gemv_fast(rng):
    from awq.modules.linear.gemv_fast import calculate_zeros_width, pack_intweight
    rows, cols, group = 8, 128, 32
    codes, zeros = rng.integers(0, 16, (rows, cols)), rng.integers(0, 16, (rows, cols // group))
    codes_packed = pack_intweight(torch.tensor(codes.astype(np.int32)), interleave=4, kstride=64).numpy()
    scales = some_scales(rng, zeros.shape)
    scaled = -(scales.astype(np.float32) * zeros)
    scaled[~(np.abs(scaled) < 65504)] = 0
    scaled = scaled.astype(np.float16)
    width = 8 * calculate_zeros_width(cols, group)
    pad = ((0, 0), (0, width - cols // group))
    decoded = codes.astype(np.float32) * spread(scales, group, cols) + spread(scaled, group, cols)
    write("awq_gemv_fast", codes_packed, np.pad(scales, pad).T, np.pad(scaled, pad).T, decoded)


def bitsandbytes(rng):
    from bitsandbytes import functional
    rows, cols = 7, 96  # blocks run across rows, and the last one is cut
    for kind in ("nf4", "fp4"):
        for nested in (False, True):
            weights = torch.tensor(rng.standard_normal((rows, cols)), dtype=torch.float32)
            weights[0] *= 1e-6
            weights[1] = 0
            weights[2, 5] = 1e4
            packed, state = functional.quantize_4bit(weights, blocksize=64, compress_statistics=nested, quant_type=kind)
            decoded = functional.dequantize_4bit(packed, state).numpy()
            name = f"bnb_{kind}{'_nested' if nested else ''}"
            if nested:
                print(f"{name}: offset {float(state.offset).hex()}")
                write(name, packed.numpy(), state.absmax.numpy(), NONE, decoded, state.state2.absmax.numpy(), state.state2.code.numpy())
            else:
                write(name, packed.numpy(), state.absmax.numpy(), NONE, decoded)
    codes = rng.integers(-127, 128, (rows, cols)).astype(np.int8)
    statistics = np.abs(rng.standard_normal((rows, 1))).astype(np.float32)
    decoded = functional.int8_vectorwise_dequant(torch.tensor(codes), torch.tensor(statistics)).numpy()
    write("bnb_int8", codes, statistics, NONE, decoded)


def compressed_tensors(rng):
    from compressed_tensors.compressors.pack_quantized.helpers import pack_to_int32
    rows, cols, group = 8, 96, 32
    for bits in (2, 3, 4, 5, 6, 7, 8):
        middle = 2 ** (bits - 1)
        codes = rng.integers(-middle, middle, (rows, cols)).astype(np.int8)
        zeros = rng.integers(-middle, middle, (rows, cols // group)).astype(np.int8)
        scales = some_scales(rng, zeros.shape)
        packed = pack_to_int32(torch.tensor(codes), bits).numpy()
        packed_zeros = pack_to_int32(torch.tensor(zeros), bits, packed_dim=0).numpy()
        plain = codes.astype(np.float32) * spread(scales, group, cols)
        write(f"ct_{bits}bit", packed, scales, NONE, plain)
        shifted = (codes - spread(zeros, group, cols)).astype(np.float32) * spread(scales, group, cols)
        write(f"ct_{bits}bit_zeros", packed, scales, packed_zeros, shifted)
        if bits in (3, 5, 6, 7):  # as versions before June 2026 wrote them
            write(f"ct_{bits}bit_whole", whole_codes(codes + middle, bits), scales, NONE, plain)


def whole_codes(codes, bits):
    count = 32 // bits
    codes = np.pad(codes.astype(np.uint64), ((0, 0), (0, -codes.shape[1] % count))).reshape(len(codes), -1, count)
    return (codes << (bits * np.arange(count, dtype=np.uint64))).sum(-1).astype(np.uint32)


def nibbles(codes):
    """Pairs of inputs, the first in the low nibble."""
    return (codes[:, 0::2] | codes[:, 1::2] << 4).astype(np.uint8)


def e4m3(byte):
    return torch.tensor(byte.view(np.uint8)).view(torch.float8_e4m3fn).float().numpy()


def finite_e4m3(rng, shape):
    byte = rng.integers(0, 256, shape).astype(np.uint8)
    byte[byte & 0x7f == 0x7f] = 0x7e  # not a number
    return byte


def four_bit_floats(rng):
    rows, cols = 8, 64
    codes = rng.integers(0, 16, (rows, cols))
    small = finite_e4m3(rng, (rows, cols // 16))
    outer = np.array([0.0031], np.float32)
    wide = spread(e4m3(small) * outer, 16, cols)
    write("modelopt_nvfp4", nibbles(codes), small, NONE, E2M1[codes] * wide, outer)
    wide = spread(e4m3(small) / outer, 16, cols)
    write("ct_nvfp4", nibbles(codes), small, NONE, E2M1[codes] * wide, outer)
    exponents = rng.integers(0, 250, (rows, cols // 32)).astype(np.uint8)
    exponents[0] = 0, 1
    wide = spread(np.ldexp(np.float32(1), exponents.astype(np.int32) - 127), 32, cols)
    write("ct_mxfp4", nibbles(codes), exponents, NONE, E2M1[codes] * wide)


def whole_bytes(rng):
    rows, cols = 20, 72  # no multiple of the blocks
    fives = rng.integers(0, 256, (rows, cols)).astype(np.uint8)
    fives[fives & 0x7c == 0x7c] = 0x7b  # infinite or not a number
    values = {"e4m3": e4m3(fours := finite_e4m3(rng, (rows, cols))),
              "e5m2": torch.tensor(fives).view(torch.float8_e5m2).float().numpy()}
    blocks = np.abs(rng.standard_normal((2, 3))).astype(np.float32) * np.float32(1e-3)
    wide = np.repeat(np.repeat(blocks, 16, 0)[:rows], 32, 1)[:, :cols]
    write("fp8_blocks", fours, blocks, NONE, values["e4m3"] * wide)
    row_scales = np.abs(rng.standard_normal((rows, 1))).astype(np.float32)
    write("fp8_e5m2_rows", fives, row_scales, NONE, values["e5m2"] * row_scales)
    write("fp8_tensor", fours, np.float32([0.125]), NONE, values["e4m3"] * np.float32(0.125))
    codes = rng.integers(-128, 128, (rows, cols)).astype(np.int8)
    zeros = rng.integers(-128, 128, (rows, 1)).astype(np.int8)
    write("int8_rows", codes, row_scales, zeros, (codes.astype(np.float32) - zeros) * row_scales)


def hqq(rng):
    from hqq.core.bitpack import BitPack
    rows, cols, group = 12, 64, 32
    packers = {1: BitPack.pack_1bit_u8, 2: BitPack.pack_2bit_u8, 3: BitPack.pack_3bit_32, 4: BitPack.pack_4bit_u8, 8: BitPack.pack_8bit_u8}
    for bits, pack in packers.items():
        codes = torch.tensor(rng.integers(0, 2**bits, (rows * cols // group, group)), dtype=torch.uint8)
        scales = torch.tensor(some_scales(rng, (len(codes), 1)))
        zeros = torch.tensor(rng.uniform(0, 2**bits, (len(codes), 1)), dtype=torch.float16)
        decoded = (codes.float() - zeros.float()) * scales.float()
        write(f"hqq_{bits}bit", pack(codes).numpy(), scales.numpy(), zeros.numpy(), decoded.reshape(rows, cols).numpy())


def quanto(rng):
    from optimum.quanto.tensor.packed import pack_weights
    rows, cols, group = 12, 64, 32
    for bits in (2, 4):
        codes = torch.tensor(rng.integers(0, 2**bits, (rows * cols // group, group)), dtype=torch.uint8)
        scales = some_scales(rng, (len(codes), 1))
        packed = pack_weights(codes, bits).numpy()
        shifts = (rng.standard_normal(scales.shape) * 0.1).astype(np.float16)
        decoded = codes.float().numpy() * scales.astype(np.float32) - shifts.astype(np.float32)
        write(f"quanto_{bits}bit", packed, scales, shifts, decoded.reshape(rows, cols))
        zeros = rng.integers(0, 2**bits, scales.shape).astype(np.int8)
        decoded = (codes.float().numpy() - zeros) * scales.astype(np.float32)
        write(f"quanto_{bits}bit_zeros", packed, scales, zeros, decoded.reshape(rows, cols))


def pairs_and_int4(rng):
    rows, cols, group = 8, 64, 32
    codes = rng.integers(-8, 8, (rows, cols))
    scales = some_scales(rng, (rows, cols // group))
    pairs = ((codes[0::2] & 15) | (codes[1::2] & 15) << 4).astype(np.uint8)
    write("modelopt_int4", pairs, scales, NONE, codes.astype(np.float32) * spread(scales, group, cols))
    biases = (rng.standard_normal(scales.shape) * 0.1).astype(np.float16)
    decoded = codes.astype(np.float32) * spread(scales, group, cols) + spread(biases, group, cols)
    write("torchao_int4", nibbles(codes & 15), scales.T, biases.T, decoded)


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    for number, part in enumerate((gptq, awq_gemm, awq_gemv, awq_gemv_fast, bitsandbytes, compressed_tensors, four_bit_floats,
                                   whole_bytes, hqq, quanto, pairs_and_int4)):
        part(np.random.default_rng(100 + number))


if __name__ == "__main__":
    main()
