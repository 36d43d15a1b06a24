#!/usr/bin/env python3
"""Writes tests/data/text/tok512.json and reference-tok512.json: a llama2.c vocabulary and the ids that run.c makes with it.

Usage: make_llama2c_references.py tok512.bin
tok512.bin belongs to karpathy/tinyllamas (stories260K, MIT). encode() is written from what run.c's encode does; it shares nothing
with motley or with `tokenizers`.
"""
import json
import pathlib
import struct
import sys

import torture

OUT = pathlib.Path(__file__).resolve().parents[3] / "tests" / "data" / "text"


def read(path):
    data = pathlib.Path(path).read_bytes()
    pieces, scores, at = [], [], 4
    while at < len(data):
        score, size = struct.unpack_from("<fi", data, at)
        pieces.append(data[at + 8:at + 8 + size])
        scores.append(score)
        at += 8 + size
    return pieces, scores


def encode(pieces, scores, text):
    ids_of = {}
    for i, piece in enumerate(pieces):
        ids_of.setdefault(piece, i)
    if not text:
        return []
    ids = [ids_of[b" "]]
    for character in text:
        raw = character.encode()
        ids += [ids_of[raw]] if raw in ids_of else [b + 3 for b in raw]
    while True:
        best = None
        for i in range(len(ids) - 1):
            merged = ids_of.get(pieces[ids[i]] + pieces[ids[i + 1]])
            if merged is not None and (best is None or scores[merged] > best[0]):
                best = (scores[merged], i, merged)
        if best is None:
            return ids
        ids[best[1]:best[1] + 2] = [best[2]]


def main(path):
    pieces, scores = read(path)
    kinds = [2 if i == 0 else 3 if i < 3 else 6 if i < 259 else 1 for i in range(len(pieces))]
    tokens = [p.decode().replace(" ", "\u2581") for p in pieces]
    texts = [t for t in torture.texts() if "\0" not in t and "\u2581" not in t]
    for name, value in [("tok512.json", dict(tokens=tokens, scores=scores, types=kinds)),
                        ("reference-tok512.json", [dict(text=t, ids=encode(pieces, scores, t)) for t in texts])]:
        (OUT / name).write_text(json.dumps(value, ensure_ascii=True, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
