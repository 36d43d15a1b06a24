#!/usr/bin/env python3
"""Logits that a llama2.c v0 checkpoint means, in float64; and the reference of stories260K.

    exact_llama2c.py MODEL.bin IDS OUT.npy      (packages: numpy)
    exact_llama2c.py --stories                  writes tests/data/reference/stories/

--stories continues "Once upon a time" greedily to 200 positions, checks that the text is greedy-200.txt to the byte, and keeps the ids
and the logits of the first 64 positions.
"""
import json
import os
import struct
import sys

import numpy as np

import llama_math

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data")
BOS, POSITIONS, KEPT = 1, 200, 64


def read(path):
    """-> weights under Hugging Face names (Q and K rows in rotation pairs) and the arguments of llama_math.forward."""
    with open(path, "rb") as f:
        h, ff, layers, heads, kv_heads, vocab, context = struct.unpack("<7i", f.read(28))
        numbers = np.frombuffer(f.read(), "<f4").astype(np.float64)
    d, at, w = h // heads, 0, {}

    def take(*shape):
        nonlocal at
        at += int(np.prod(shape))
        return numbers[at - int(np.prod(shape)):at].reshape(shape)

    w["model.embed_tokens"] = take(abs(vocab), h)
    for role, *shape in (("input_layernorm", h), ("self_attn.q_proj", h, h), ("self_attn.k_proj", kv_heads * d, h),
                         ("self_attn.v_proj", kv_heads * d, h), ("self_attn.o_proj", h, h), ("post_attention_layernorm", h),
                         ("mlp.gate_proj", ff, h), ("mlp.down_proj", h, ff), ("mlp.up_proj", ff, h)):
        for i, part in enumerate(take(layers, *shape)):
            w[f"model.layers.{i}.{role}"] = part
    w["model.norm"] = take(h)
    take(2, context, d // 2)  # rotation tables, which nobody reads any more
    if vocab < 0:
        w["lm_head"] = take(-vocab, h)
    assert at == numbers.size, f"{numbers.size - at} numbers too many"
    return w, {"layers": layers, "heads": heads, "kv_heads": kv_heads, "eps": 1e-5, "interleaved": True,
               "inverse_frequencies": llama_math.plain_frequencies(d, 10000.0)}


def read_vocabulary(path):
    """-> the bytes and the score of each token."""
    with open(path, "rb") as f:
        raw = f.read()
    at, pieces, scores = 4, [], []
    while at < len(raw):
        score, length = struct.unpack_from("<fi", raw, at)
        pieces.append(raw[at + 8:at + 8 + length])
        scores.append(score)
        at += 8 + length
    return pieces, scores


def encode(pieces, scores, text):
    """BOS, a space, the characters; then the pair whose union scores best becomes one, until no pair is a token."""
    ids = [pieces.index(bytes([c])) for c in b" " + text]
    while True:
        unions = [(i, pieces[a] + pieces[b]) for i, (a, b) in enumerate(zip(ids, ids[1:])) if pieces[a] + pieces[b] in pieces]
        if not unions:
            return [BOS] + ids
        at, piece = max(unions, key=lambda u: scores[pieces.index(u[1])])
        ids[at:at + 2] = [pieces.index(piece)]


def text_of(pieces, ids):
    """As llama2.c prints it: nothing for BOS, no space at the beginning, <0x0A> as its byte."""
    parts = [bytes([int(p[3:5], 16)]) if p.startswith(b"<0x") else p for p in (pieces[i] for i in ids[1:])]
    return b"".join(parts).removeprefix(b" ")


def stories():
    folder = os.path.join(DATA, "models", "stories260K")
    w, arguments = read(os.path.join(folder, "stories260K.bin"))
    pieces, scores = read_vocabulary(os.path.join(folder, "tok512.bin"))
    ids, margins = encode(pieces, scores, b"Once upon a time"), []
    while len(ids) < POSITIONS + 1:  # the token that the last position gives is printed too
        last = llama_math.forward(w, ids, **arguments)[-1]
        second, best = np.argsort(last)[-2:]
        margins.append((last[best] - last[second]) / (last.max() - last.min()))
        ids.append(int(best))
    with open(os.path.join(folder, "greedy-200.txt"), "rb") as f:
        assert f.read() == text_of(pieces, ids) + b"\n", "another text than llama2.c's"
    print(f"{len(ids)} ids, smallest margin {min(margins):.1e} of the range")
    out = os.path.join(DATA, "reference", "stories")
    os.makedirs(out, exist_ok=True)
    np.save(os.path.join(out, "stories260K.npy"), llama_math.forward(w, ids[:KEPT], **arguments).astype(np.float32))
    entry = {"name": "stories260K", "container": "llama2c", "model": "models/stories260K/stories260K.bin", "overrides": {},
             "logits": "reference/stories/stories260K.npy", "tolerance": 1e-4, "reason": "the network in float64",
             "ids": ids[:KEPT]}
    with open(os.path.join(out, "cases.json"), "w", encoding="utf-8") as f:
        f.write("[\n" + json.dumps(entry) + "\n]\n")


if __name__ == "__main__":
    if sys.argv[1:] == ["--stories"]:
        stories()
    elif len(sys.argv) == 4:
        checkpoint, settings = read(sys.argv[1])
        given = [int(i) for i in sys.argv[2].split(",")]
        np.save(sys.argv[3], llama_math.forward(checkpoint, given, **settings).astype(np.float32))
    else:
        sys.exit(__doc__)
