#!/usr/bin/env python3
"""Ids and greedy continuations that the demo model must give.

    demo_prompts.py MLX_FOLDER      (packages: requirements/mlx.txt)

Writes, under tests/data/reference/demo:
  ids.json      the first 512 ids of alice.txt (Lewis Carroll, 1865, public domain)
  prompts.json  for each line of prompts.txt: kind, text, ids (chat template applied by transformers), the 64 greedy ids that mlx_lm
                gives with packed weights and float32 everywhere else, and for each the margin: logit of the best id less that of the
                second, over the range. Where a margin is under 1e-4, a program of other rounding may rightly go another way.
                An end-of-sequence id does not stop the continuation, so that there are always 64.
"""
import json
import os
import sys

import numpy as np
from tokenizers import Tokenizer

import demo_logits

DEMO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "reference", "demo")
TEXT_IDS, NEW_IDS = 512, 64


def read_prompts():
    with open(os.path.join(DEMO, "prompts.txt"), encoding="utf-8") as f:
        return [(kind, text.replace("\\n", "\n")) for kind, text in (line.rstrip("\n").split(": ", 1) for line in f)]


def greedy(model, ids):
    import mlx.core as mx
    from mlx_lm.models.cache import make_prompt_cache
    cache, new, margins, feed = make_prompt_cache(model), [], [], ids
    for _ in range(NEW_IDS):
        logits = np.array(model(mx.array([feed]), cache=cache)[0, -1])
        second, best = np.argsort(logits)[-2:]
        new.append(int(best))
        margins.append(round(float((logits[best] - logits[second]) / (logits.max() - logits.min())), 6))
        feed = [int(best)]
    return new, margins


def write(name, value):
    with open(os.path.join(DEMO, name), "w", encoding="utf-8") as f:
        f.write(value + "\n")


def main(path):
    from transformers import AutoTokenizer
    tokenizer = Tokenizer.from_file(os.path.join(path, "tokenizer.json"))
    template = AutoTokenizer.from_pretrained(path)
    with open(os.path.join(DEMO, "alice.txt"), encoding="utf-8") as f:
        write("ids.json", json.dumps({"text": "alice.txt", "ids": tokenizer.encode(f.read()).ids[:TEXT_IDS]}))
    model, entries = demo_logits.load_mlx(path, wide=True), []
    for kind, text in read_prompts():
        prompt = text
        if kind == "chat":
            prompt = template.apply_chat_template([{"role": "user", "content": text}], add_generation_prompt=True, tokenize=False)
        ids = tokenizer.encode(prompt, add_special_tokens=False).ids
        new, margins = greedy(model, ids)
        entries.append({"kind": kind, "text": text, "ids": ids, "greedy": new, "margins": margins})
        print(kind, repr(text), "->", repr(tokenizer.decode(new, skip_special_tokens=False)), "smallest margin", min(margins))
    write("prompts.json", "[\n" + ",\n".join(json.dumps(e, ensure_ascii=False) for e in entries) + "\n]")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
