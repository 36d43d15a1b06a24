"""One tiny Llama into each container. Weights come under Hugging Face names, Q and K rows in half-split order.

Used by make_tiny.py. Packages: numpy, safetensors, gguf.
"""
import json
import os
import struct

import gguf
import numpy as np

import gguf_to_mlx
import llama_math

HF_TO_GGUF = {hf: name for name, hf in gguf_to_mlx.INNER.items()}
HF_TO_GGUF_OUTER = {hf: name for name, hf in gguf_to_mlx.OUTER.items()}


def halves_to_pairs(rows, heads):
    """Row (half m, j) of each head moves to row (j, m): what llama.cpp's converter does to Q and K, biases too."""
    shape = rows.shape
    return rows.reshape(heads, 2, shape[0] // heads // 2, *shape[1:]).swapaxes(1, 2).reshape(shape)


def in_pairs(case, weights):
    """All weights, with the rows of Q and K in rotation pairs (0,1),(2,3),..."""
    heads = {"q_proj": case.heads, "k_proj": case.kv_heads}
    role = lambda name: name.split(".")[-2]
    return {n: halves_to_pairs(w, heads[role(n)]) if role(n) in heads else w for n, w in weights.items()}


def vocabulary(size):
    """Three special tokens, then single characters, then fillers."""
    words = ["<unk>", "<s>", "</s>"] + [chr(c) for c in range(33, 127)]
    return (words + [f"<extra_{i}>" for i in range(size)])[:size]


def tokenizer_json(size):
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    words = vocabulary(size)
    return {
        "version": "1.0", "truncation": None, "padding": None, "normalizer": None, "post_processor": None,
        "added_tokens": [{"id": i, "content": words[i], **flags} for i in range(3)],
        "pre_tokenizer": byte_level, "decoder": byte_level,
        "model": {"type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None,
                  "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
                  "vocab": {w: i for i, w in enumerate(words)}, "merges": []}}


def write_json(folder, name, value):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
        json.dump(value, f, indent=1)
        f.write("\n")


def context_length(case):
    """512, or what the scaling makes of its first context."""
    s = case.scaling or {}
    return int(s["factor"] * s["original_max_position_embeddings"]) if "original_max_position_embeddings" in s else 512


def hf_config(case):
    """config.json as transformers 4 wrote it, or as transformers 5 does (rope_parameters, dtype)."""
    rope = case.scaling or {}
    config = {
        "architectures": ["MistralForCausalLM" if case.window else "LlamaForCausalLM"],
        "model_type": "mistral" if case.window else "llama", "hidden_act": "silu", "hidden_size": case.hidden,
        "intermediate_size": case.feed_forward, "num_hidden_layers": case.layers, "num_attention_heads": case.heads,
        "num_key_value_heads": case.kv_heads, "vocab_size": case.vocab, "max_position_embeddings": context_length(case),
        "rms_norm_eps": case.eps, "tie_word_embeddings": case.tied, "bos_token_id": 1, "eos_token_id": 2}
    if case.head_dim * case.heads != case.hidden:
        config["head_dim"] = case.head_dim
    if case.bias:
        config.update(attention_bias=True, mlp_bias=True)
    if case.window:
        config["sliding_window"] = case.window
    if case.config_style == 5:
        return {**config, "dtype": case.dtype, "rope_parameters": {"rope_type": "default", **rope, "rope_theta": case.theta}}
    return {**config, "torch_dtype": case.dtype, "rope_theta": case.theta, "rope_scaling": case.scaling}


def save_tensors(path, weights, dtype):
    """One safetensors file; numpy has no bfloat16, so that one needs torch."""
    if dtype == "bfloat16":
        import torch
        from safetensors.torch import save_file
        tensors = {n: torch.from_numpy(w).to(torch.bfloat16) for n, w in weights.items()}
    else:
        from safetensors.numpy import save_file
        tensors = {n: np.ascontiguousarray(w, dtype) for n, w in weights.items()}
    save_file(tensors, path, metadata={"format": "pt"})


def write_hf(case, weights, folder):
    """One model.safetensors, or case.shards of them with an index."""
    os.makedirs(folder, exist_ok=True)
    write_json(folder, "config.json", hf_config(case))
    write_json(folder, "tokenizer.json", tokenizer_json(case.vocab))
    if case.shards == 1:
        save_tensors(os.path.join(folder, "model.safetensors"), weights, case.dtype)
        return
    names, index = list(weights), {}
    for s in range(case.shards):
        file = f"model-{s + 1:05d}-of-{case.shards:05d}.safetensors"
        part = names[s * len(names) // case.shards:(s + 1) * len(names) // case.shards]
        save_tensors(os.path.join(folder, file), {n: weights[n] for n in part}, case.dtype)
        index.update({n: file for n in part})
    total = sum(w.size for w in weights.values()) * np.dtype(case.dtype).itemsize
    write_json(folder, "model.safetensors.index.json", {"metadata": {"total_size": total}, "weight_map": index})


def gguf_name(hf_name):
    path, _, suffix = hf_name.rpartition(".")
    if path in HF_TO_GGUF_OUTER:
        return f"{HF_TO_GGUF_OUTER[path]}.{suffix}"
    _, _, layer, role = path.split(".", 3)
    return f"blk.{layer}.{HF_TO_GGUF[role]}.{suffix}"


def add_gguf_metadata(writer, case):
    writer.add_name(case.name)
    writer.add_block_count(case.layers)
    writer.add_context_length(context_length(case))
    writer.add_embedding_length(case.hidden)
    writer.add_feed_forward_length(case.feed_forward)
    writer.add_head_count(case.heads)
    writer.add_layer_norm_rms_eps(case.eps)
    writer.add_rope_dimension_count(case.head_dim)
    if case.kv_heads != case.heads:  # absent means equal
        writer.add_head_count_kv(case.kv_heads)
    if case.theta != 10000:  # absent means 10000
        writer.add_rope_freq_base(case.theta)
    if case.head_dim * case.heads != case.hidden:
        writer.add_key_length(case.head_dim)
        writer.add_value_length(case.head_dim)
    kind = (case.scaling or {}).get("rope_type", (case.scaling or {}).get("type"))
    if kind in ("linear", "yarn"):
        writer.add_rope_scaling_type(gguf.RopeScalingType(kind))
        writer.add_rope_scaling_factor(case.scaling["factor"])
    if kind == "yarn":
        writer.add_rope_scaling_orig_ctx_len(case.scaling["original_max_position_embeddings"])
    writer.add_vocab_size(case.vocab)
    writer.add_tokenizer_model("llama")
    writer.add_token_list(vocabulary(case.vocab))
    writer.add_token_scores([0.0] * case.vocab)
    kinds = gguf.TokenType
    writer.add_token_types([kinds.UNKNOWN, kinds.CONTROL, kinds.CONTROL] + [kinds.NORMAL] * (case.vocab - 3))
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)


def write_gguf(case, weights, folder):
    """Matrices F16 and the rest F32, as llama.cpp's converter writes. case.shards > 1: that many files."""
    os.makedirs(folder, exist_ok=True)
    per_file = -(-(len(weights) + 1) // case.shards) if case.shards > 1 else 0
    writer = gguf.GGUFWriter(os.path.join(folder, "model.gguf"), "llama", split_max_tensors=per_file)
    add_gguf_metadata(writer, case)
    if (case.scaling or {}).get("rope_type") == "llama3":
        s = case.scaling
        divisors = llama_math.llama3_divisors(case.head_dim, case.theta, s["factor"], s["low_freq_factor"],
                                              s["high_freq_factor"], s["original_max_position_embeddings"])
        writer.add_tensor("rope_freqs.weight", divisors.astype(np.float32))
    for name, w in in_pairs(case, weights).items():
        writer.add_tensor(gguf_name(name), np.ascontiguousarray(w, np.float16 if w.ndim == 2 else np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    files = sorted(os.listdir(folder))
    if case.gguf_version != 3:  # version 2 has the same little-endian layout
        with open(os.path.join(folder, files[0]), "r+b") as f:
            f.seek(4)
            f.write(struct.pack("<I", case.gguf_version))
    return files[0]


def write_llama2c(case, weights, folder):
    """llama2.c's first format. A negative vocabulary size says that the head has its own matrix, which comes last."""
    os.makedirs(folder, exist_ok=True)
    context = 64
    w = in_pairs(case, weights)
    layer = lambda role: [w[f"model.layers.{i}.{role}.weight"] for i in range(case.layers)]
    angles = np.arange(context)[:, None] * llama_math.plain_frequencies(case.head_dim, case.theta)[None, :]
    arrays = [w["model.embed_tokens.weight"], *layer("input_layernorm"), *layer("self_attn.q_proj"),
              *layer("self_attn.k_proj"), *layer("self_attn.v_proj"), *layer("self_attn.o_proj"),
              *layer("post_attention_layernorm"), *layer("mlp.gate_proj"), *layer("mlp.down_proj"), *layer("mlp.up_proj"),
              w["model.norm.weight"], np.cos(angles), np.sin(angles), *([] if case.tied else [w["lm_head.weight"]])]
    with open(os.path.join(folder, "model.bin"), "wb") as f:
        f.write(struct.pack("<7i", case.hidden, case.feed_forward, case.layers, case.heads, case.kv_heads,
                            case.vocab if case.tied else -case.vocab, context))
        for a in arrays:
            f.write(np.ascontiguousarray(a, "<f4").tobytes())
    return "model.bin"
