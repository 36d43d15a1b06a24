"""Copies of a checkpoint that hold what the program behind a reference computed with, where that is not what the file holds.

gptqmodel, asked for bfloat16, rounds the F16 scales of GPTQ and AWQ files to it on loading; transformers expands its metal
format to weights of bfloat16. A loader that keeps the numbers of the file is then a few thousandths of the range away
from such a reference, and exact on the copy. Nothing but Python.
"""
import json
import os
import shutil
import struct

# Beginning of a checkpoint's name: how its reference rounded.
ROUNDED = {"gptq-": "scales to bf16", "awq-rtn-": "scales to bf16", "metal-": "weights to bf16"}


def kind(name):
    return next((how for prefix, how in ROUNDED.items() if name.startswith(prefix)), None)


def to_bf16(value):
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    return struct.pack("<H", (bits + 0x7FFF + (bits >> 16 & 1)) >> 16)


def floats(dtype, data):
    if dtype == "F16":
        return [x for (x,) in struct.iter_unpack("<e", data)]
    return [struct.unpack("<f", b"\0\0" + data[i:i + 2])[0] for i in range(0, len(data), 2)]


class File:
    """A safetensors file in memory."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
            data = file.read()
        self.header.pop("__metadata__", None)
        self.data = {name: data[slice(*row["data_offsets"])] for name, row in self.header.items()}

    def put(self, name, dtype, shape, data):
        self.header[name] = {"dtype": dtype, "shape": shape}
        self.data[name] = data

    def drop(self, name):
        self.header.pop(name, None), self.data.pop(name, None)

    def numbers(self, name):
        return floats(self.header[name]["dtype"], self.data[name])

    def words(self, name):
        return [x for (x,) in struct.iter_unpack("<I", self.data[name])]

    def write(self, path):
        offset = 0
        for name, row in self.header.items():
            row["data_offsets"] = [offset, offset + len(self.data[name])]
            offset += len(self.data[name])
        header = json.dumps(self.header).encode()
        with open(path, "wb") as file:
            file.write(struct.pack("<Q", len(header)) + header + b"".join(self.data[name] for name in self.header))


def scales_to_bf16(file):
    for name in [n for n in file.header if n.endswith(".scales") and file.header[n]["dtype"] == "F16"]:
        file.put(name, "BF16", file.header[name]["shape"], b"".join(map(to_bf16, file.numbers(name))))


def metal_to_bf16(file):
    """4-bit MLX affine: w = scale * code + bias."""
    for name in [n for n in file.header if n.endswith(".qbiases")]:
        module = name[:-len(".qbiases")]
        rows, words = file.header[module + ".weight"]["shape"]
        codes, scales, biases = file.words(module + ".weight"), file.numbers(module + ".scales"), file.numbers(name)
        cols, group = words * 8, words * 8 * rows // len(scales)
        out = [to_bf16(scales[e // group] * (codes[e // 8] >> e % 8 * 4 & 15) + biases[e // group]) for e in range(rows * cols)]
        for suffix in (".scales", ".qbiases"):
            file.drop(module + suffix)
        file.put(module + ".weight", "BF16", [rows, cols], b"".join(out))


def copy(source, target, how):
    """Writes to the folder `target` what the reference of `source` computed with."""
    shutil.copytree(source, target, copy_function=shutil.copyfile)
    os.chmod(target, 0o755)
    path = os.path.join(target, "model.safetensors")
    file = File(path)
    {"scales to bf16": scales_to_bf16, "weights to bf16": metal_to_bf16}[how](file)
    file.write(path)
    if not how.startswith("weights"):
        return
    config_path = os.path.join(target, "config.json")
    with open(config_path, encoding="utf-8") as text:
        config = json.load(text)
    config.pop("quantization_config", None)
    with open(config_path, "w", encoding="utf-8") as text:
        json.dump(config, text)
