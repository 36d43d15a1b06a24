#!/usr/bin/env python3
"""A GGUF with the shape of Llama-3.2-1B and random weights: something to time, not to talk to.

    make_synthetic_gguf.py TOKENIZER.gguf OUT.gguf [--layers 16] [--seed 1]      (packages: requirements/gguf.txt)

Storage as in llama.cpp's own Q4_0 file of that model: matrices Q4_0, the tied embedding Q6_K, norms and rope_freqs F32.
Codes are drawn directly, with block scales that give each matrix the standard deviation of a trained one, so no number
overflows and speed is that of a real file (the kernels never branch on values). Llama 3.2's tokenizer may not be copied here: the
vocabulary is that of TOKENIZER.gguf (the demo model), filled up with unused tokens to 128256.
"""
import argparse

import gguf
import numpy as np

import llama_math

HIDDEN, FEED_FORWARD, HEADS, KV_HEADS, HEAD_DIM, VOCAB, CONTEXT = 2048, 8192, 32, 8, 64, 128256, 131072
THETA = 500000.0
STD = 0.02
Q4_0_BLOCK = np.dtype([("d", "<f2"), ("codes", "u1", 16)])
Q6_K_BLOCK = np.dtype([("low", "u1", 128), ("high", "u1", 64), ("scales", "i1", 16), ("d", "<f2")])


def scale(rng, n, spread):
    """n block scales around `spread`, as float16."""
    return (spread * rng.uniform(0.7, 1.3, n)).astype(np.float16)


def q4_0(rng, rows, columns):
    """w = d * (code - 8); codes 0..15 alike have a deviation of 4.6."""
    blocks = np.empty((rows, columns // 32), Q4_0_BLOCK)
    blocks["codes"] = rng.integers(0, 256, blocks["codes"].shape, np.uint8)
    blocks["d"] = scale(rng, blocks.shape, STD / 4.6)
    return blocks.view(np.uint8).reshape(rows, -1)


def q6_k(rng, rows, columns):
    """w = d * scale * (code - 32); codes 0..63 alike have a deviation of 18.5."""
    blocks = np.empty((rows, columns // 256), Q6_K_BLOCK)
    for field in ("low", "high"):
        blocks[field] = rng.integers(0, 256, blocks[field].shape, np.uint8)
    blocks["scales"] = rng.integers(50, 110, blocks["scales"].shape, np.int8)
    blocks["d"] = scale(rng, blocks.shape, STD / 18.5 / 80)
    return blocks.view(np.uint8).reshape(rows, -1)


def copy_tokenizer(writer, path):
    for key, field in gguf.GGUFReader(path).fields.items():
        if not key.startswith("tokenizer."):
            continue
        value = field.contents()
        if key == "tokenizer.ggml.tokens":
            value += [f"[unused {i}]" for i in range(VOCAB - len(value))]
        if key == "tokenizer.ggml.token_type":
            value += [int(gguf.TokenType.UNUSED)] * (VOCAB - len(value))
        kinds = list(field.types)
        writer.add_key_value(key, value, kinds[0], sub_type=kinds[-1] if kinds[0] == gguf.GGUFValueType.ARRAY else None)


def add_metadata(writer, layers):
    writer.add_name("synthetic 1B")
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q4_0)
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)
    writer.add_block_count(layers)
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(HIDDEN)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_rope_freq_base(THETA)
    writer.add_rope_dimension_count(HEAD_DIM)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(VOCAB)


def add_tensors(writer, layers, rng):
    kinds = gguf.GGMLQuantizationType
    matrix = lambda name, rows, columns: writer.add_tensor(name, q4_0(rng, rows, columns), raw_dtype=kinds.Q4_0)
    vector = lambda name: writer.add_tensor(name, np.ones(HIDDEN, np.float32))
    # Llama 3.2: frequencies for a context 32 times the first one.
    divisors = llama_math.llama3_divisors(HEAD_DIM, THETA, factor=32, low_freq_factor=1, high_freq_factor=4, original=8192)
    writer.add_tensor("rope_freqs.weight", divisors.astype(np.float32))
    writer.add_tensor("token_embd.weight", q6_k(rng, VOCAB, HIDDEN), raw_dtype=kinds.Q6_K)
    for i in range(layers):
        p = f"blk.{i}."
        vector(p + "attn_norm.weight")
        matrix(p + "attn_q.weight", HEADS * HEAD_DIM, HIDDEN)
        matrix(p + "attn_k.weight", KV_HEADS * HEAD_DIM, HIDDEN)
        matrix(p + "attn_v.weight", KV_HEADS * HEAD_DIM, HIDDEN)
        matrix(p + "attn_output.weight", HIDDEN, HEADS * HEAD_DIM)
        vector(p + "ffn_norm.weight")
        matrix(p + "ffn_gate.weight", FEED_FORWARD, HIDDEN)
        matrix(p + "ffn_up.weight", FEED_FORWARD, HIDDEN)
        matrix(p + "ffn_down.weight", HIDDEN, FEED_FORWARD)
    vector("output_norm.weight")


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("tokenizer")
    ap.add_argument("out")
    ap.add_argument("--layers", type=int, default=16)
    ap.add_argument("--seed", type=int, default=1)
    a = ap.parse_args()
    writer = gguf.GGUFWriter(a.out, "llama")
    add_metadata(writer, a.layers)
    copy_tokenizer(writer, a.tokenizer)
    add_tensors(writer, a.layers, np.random.default_rng(a.seed))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
