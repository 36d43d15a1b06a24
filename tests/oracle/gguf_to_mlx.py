#!/usr/bin/env python3
"""The MLX twin of a Llama GGUF: the same numbers in MLX's affine packing, nothing rounded.

    gguf_to_mlx.py MODEL.gguf OUT_DIR          (packages: requirements/mlx.txt)
    mlx_lm.generate --model OUT_DIR --temp 0 --prompt "What is the capital of France?"

It shares no code with motley, so that the two files test motley's readers against each other. What makes it exact:
  Q4_1   w = d*q + m for 32 inputs          is affine, 4 bits, group 32, scale d, bias m
  Q8_0   w = d*q, q in -128..127            is affine, 8 bits, group 32, scale d, bias -128*d on q + 128
         (a power of two times a half-precision number is exact until it overflows; that is checked)
  F32    stays as it is
GGUF stores the rows of Q and K in rotation pairs (0,1),(2,3),...; Hugging Face and MLX pair row i with row i + D/2.
Whole rows move, so blocks along a row are untouched. Every matrix is expanded on both sides at the end and compared.
"""
import json
import pathlib
import sys

import gguf
import numpy as np
from safetensors.numpy import save_file

GROUP = 32
OUTER = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
INNER = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


def module_path(gguf_name):
    parts = gguf_name.removesuffix(".weight").split(".")
    if len(parts) == 1:
        return OUTER[parts[0]]
    block, layer, role = parts
    assert block == "blk", gguf_name
    return f"model.layers.{int(layer)}.{INNER[role]}"


def affine_q4_1(blocks):
    """[N, G, 20] bytes -> codes [N, G, 32], scales and biases [N, G]. Low nibbles are inputs 0..15, high ones 16..31."""
    nibbles = blocks[..., 4:]
    codes = np.concatenate([nibbles & 0x0F, nibbles >> 4], axis=-1)
    half = np.ascontiguousarray(blocks[..., :4]).view(np.float16)
    return codes, half[..., 0], half[..., 1]


def affine_q8_0(blocks):
    """[N, G, 34] bytes -> the same triple, with the signed codes moved up by 128."""
    codes = (np.ascontiguousarray(blocks[..., 2:]).view(np.int8).astype(np.int16) + 128).astype(np.uint8)
    scales = np.ascontiguousarray(blocks[..., :2]).view(np.float16)[..., 0]
    biases = (scales.astype(np.float32) * -128).astype(np.float16)
    assert np.isfinite(biases).all(), "a scale times 128 does not fit in half precision"
    return codes, scales, biases


PACKINGS = {"Q4_1": (4, affine_q4_1), "Q8_0": (8, affine_q8_0)}


def pairs_to_halves(rows, heads):
    """Rows (pair j, member m) of each head -> rows (member m, pair j)."""
    n = rows.shape[0]
    order = np.arange(n).reshape(heads, n // heads // 2, 2).transpose(0, 2, 1).reshape(-1)
    return rows[order]


def pack(codes, bits):
    """[N, K] codes -> [N, K * bits / 32] words, the first input in the lowest bits."""
    fields = codes.astype(np.uint32).reshape(codes.shape[0], -1, 32 // bits)
    shifts = np.arange(0, 32, bits, dtype=np.uint32)
    return np.bitwise_or.reduce(fields << shifts, axis=-1)


def expand(words, bits, scales, biases):
    """What MLX reads back, in float64."""
    shifts = np.arange(0, 32, bits, dtype=np.uint32)
    codes = ((words[..., None] >> shifts) & np.uint32(2**bits - 1)).reshape(scales.shape[0], -1, GROUP)
    return (codes * scales[..., None].astype(np.float64) + biases[..., None].astype(np.float64)).reshape(codes.shape[0], -1)


def convert_matrix(tensor, heads):
    """One packed GGUF matrix -> (bits, {suffix: array}); heads is 0 where rows stay in place."""
    bits, split = PACKINGS[tensor.tensor_type.name]
    k, n = (int(d) for d in tensor.shape)
    codes, scales, biases = split(np.asarray(tensor.data).reshape(n, k // GROUP, -1))
    expected = gguf.quants.dequantize(tensor.data, tensor.tensor_type).reshape(n, k)
    if heads:
        codes, scales, biases, expected = (pairs_to_halves(x, heads) for x in (codes, scales, biases, expected))
    words = pack(codes.reshape(n, k), bits)
    # gguf-py rounds d*q + m to float32, the stored numbers mean the exact value: one rounding apart.
    error = np.abs(expand(words, bits, scales, biases) - expected).max() / max(np.abs(expected).max(), 1e-30)
    assert error < 2**-22, f"{tensor.name}: expanded weights differ by {error}"
    return bits, {"weight": words, "scales": np.ascontiguousarray(scales), "biases": np.ascontiguousarray(biases)}


def convert_tensors(reader, meta):
    heads = {"self_attn.q_proj": meta["llama.attention.head_count"], "self_attn.k_proj": meta["llama.attention.head_count_kv"]}
    tensors, quantization = {}, {"group_size": GROUP, "bits": 4, "mode": "affine"}
    for t in reader.tensors:
        path = module_path(t.name)
        if t.tensor_type.name == "F32":
            tensors[path + ".weight"] = np.array(t.data, np.float32)
            continue
        bits, parts = convert_matrix(t, next((h for role, h in heads.items() if path.endswith(role)), 0))
        if bits != quantization["bits"]:
            quantization[path] = {"group_size": GROUP, "bits": bits, "mode": "affine"}
        tensors.update({f"{path}.{suffix}": array for suffix, array in parts.items()})
    return tensors, quantization


def model_config(meta, tensors, quantization):
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_act": "silu",
        "hidden_size": meta["llama.embedding_length"],
        "intermediate_size": meta["llama.feed_forward_length"],
        "num_hidden_layers": meta["llama.block_count"],
        "num_attention_heads": meta["llama.attention.head_count"],
        "num_key_value_heads": meta["llama.attention.head_count_kv"],
        # The file has 1e-5 as float32; the shortest decimal that rounds to the same float32 is what was meant.
        "rms_norm_eps": float(np.format_float_scientific(np.float32(meta["llama.attention.layer_norm_rms_epsilon"]))),
        "rope_theta": meta["llama.rope.freq_base"],
        "max_position_embeddings": meta["llama.context_length"],
        "vocab_size": len(meta["tokenizer.ggml.tokens"]),
        "tie_word_embeddings": "lm_head.weight" not in tensors,
        "bos_token_id": meta["tokenizer.ggml.bos_token_id"],
        "eos_token_id": meta["tokenizer.ggml.eos_token_id"],
        "torch_dtype": "float16",
        "quantization": quantization,
        "quantization_config": quantization,
    }


def tokenizer(meta):
    """SmolLM's byte-level BPE: digits one by one, then GPT-2's split."""
    assert (meta["tokenizer.ggml.model"], meta["tokenizer.ggml.pre"]) == ("gpt2", "smollm"), "another tokenizer"
    tokens = meta["tokenizer.ggml.tokens"]
    control = int(gguf.TokenType.CONTROL)
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    return {
        "version": "1.0", "truncation": None, "padding": None, "normalizer": None, "post_processor": None,
        "added_tokens": [{"id": i, "content": tokens[i], **flags}
                         for i, kind in enumerate(meta["tokenizer.ggml.token_type"]) if kind == control],
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": True}, byte_level]},
        "decoder": byte_level,
        "model": {
            "type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
            "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
            "vocab": {token: i for i, token in enumerate(tokens)},
            "merges": [merge.split(" ") for merge in meta["tokenizer.ggml.merges"]],
        },
    }


def tokenizer_config(meta):
    tokens = meta["tokenizer.ggml.tokens"]
    name = lambda role: tokens[meta[f"tokenizer.ggml.{role}_token_id"]]
    return {
        "tokenizer_class": "GPT2Tokenizer", "bos_token": name("bos"), "eos_token": name("eos"),
        "unk_token": name("unknown"), "pad_token": name("padding"), "add_prefix_space": False,
        "clean_up_tokenization_spaces": False, "chat_template": meta["tokenizer.chat_template"],
        "model_max_length": meta["llama.context_length"],
    }


def main(source, out):
    out = pathlib.Path(out)
    out.mkdir(parents=True, exist_ok=True)
    reader = gguf.GGUFReader(source)
    meta = {key: field.contents() for key, field in reader.fields.items()}
    assert meta["general.architecture"] == "llama", meta["general.architecture"]
    tensors, quantization = convert_tensors(reader, meta)
    save_file(tensors, out / "model.safetensors", metadata={"format": "mlx"})
    for name, value in (("config", model_config(meta, tensors, quantization)), ("tokenizer", tokenizer(meta)),
                        ("tokenizer_config", tokenizer_config(meta))):
        (out / f"{name}.json").write_text(json.dumps(value, ensure_ascii=False, indent=1), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
