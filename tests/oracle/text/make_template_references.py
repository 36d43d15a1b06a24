#!/usr/bin/env python3
"""Writes tests/data/text/{conversations,templates/*}.json: what transformers' apply_chat_template makes of every conversation with
every template in tests/data/text/templates (see SOURCES.md there).

Usage: make_template_references.py [TEMPLATES [OUT]]     (folders; the committed ones when left out)
"""
import datetime
import json
import pathlib
import sys

import tokenizers
import transformers
from transformers.utils import chat_template_utils

from conversations import CONVERSATIONS
from snippets import SNIPPETS, VARIABLES

DATA = pathlib.Path(__file__).resolve().parents[3] / "tests" / "data" / "text"
TOKENS = {"bos_token": "<bos>", "eos_token": "<eos>", "pad_token": "<pad>", "unk_token": "<unk>"}


class Clock(datetime.datetime):
    """Every template sees this time."""

    @classmethod
    def now(cls, tz=None):
        return cls(2024, 7, 5, 9, 4, 3)


def write(path, value):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file, ensure_ascii=False, indent=0)
        file.write("\n")


def as_texts(conversation):
    """Lists and objects as JSON text, because that is what the renderer under test is given."""
    return {key: value if key == "name" else json.dumps(value) for key, value in conversation.items()}


def render(tokenizer, conversation, add_generation_prompt):
    try:
        return {"text": tokenizer.apply_chat_template(
            conversation["messages"], tools=conversation.get("tools"), tokenize=False,
            add_generation_prompt=add_generation_prompt, **conversation.get("variables", {}))}
    except Exception as error:
        return {"refused": str(error), "kind": type(error).__name__}


def render_snippet(tokenizer, source):
    tokenizer.chat_template = source
    return render(tokenizer, dict(messages=[{"role": "user", "content": "hi"}], variables=VARIABLES), False)


def main(templates, out):
    chat_template_utils.datetime = Clock
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizers.Tokenizer(tokenizers.models.BPE()), **TOKENS)
    write(out / "conversations.json", [as_texts(c) for c in CONVERSATIONS])
    (out / "templates").mkdir(exist_ok=True)
    for file in sorted(templates.glob("*.jinja")):
        tokenizer.chat_template = file.read_text(encoding="utf-8")
        results = [[render(tokenizer, c, False), render(tokenizer, c, True)] for c in CONVERSATIONS]
        write(out / "templates" / f"{file.stem}.json", results)
    write(out / "snippets.json", {"variables": json.dumps(VARIABLES), "rows": [[s, render_snippet(tokenizer, s)] for s in SNIPPETS]})


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else DATA / "templates", pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else DATA)
