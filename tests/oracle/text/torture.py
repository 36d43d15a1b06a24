"""Texts that tokenizers get wrong. Deterministic; no input."""
import sys
import unicodedata

HAND_WRITTEN = [
    "",
    " ",
    "\n",
    "a",
    "Hello, world!",
    "Once upon a time, there was a little girl named Lily.",
    " leading space", "trailing space ", "  two leading", "trailing two  ", "\ttab\tbetween\t", "\u00a0no-break\u00a0space",
    "a  b   c    d     e      f" + " " * 40 + "g" + " " * 200 + "h",
    "line\nline\n\nline\n\n\nline" + "\n" * 17 + "end\r\nwindows\r\n\r\nold mac\r\rmixed\n\r\n \n  \n\t\n",
    " \n \n\n  \n" + "\t" * 30 + "\u2028line\u2029paragraph\u0085next\u000bvertical\u000cform",
    "0 1 12 123 1234 12345 123456 1234567890 3.14159 1,000,000.00 -42 1e-10 0x1F4A9 007 ٠١٢٣٤٥٦٧٨٩ ०१२३ １２３ ½ Ⅳ ² ₃ ①",
    "I'm you're he'll she'd they've it's DON'T CAN'T I'M WE'LL O'Neil rock'n'roll 'tis ’twas it’s",
    "camelCase PascalCase snake_case SCREAMING_CASE kebab-case XMLHttpRequest iPhone15ProMax v2.0.1-rc3+build.5",
    "https://example.com/path?query=1&other=%20x#fragment user@example.org /usr/local/bin C:\\Windows\\System32",
    "#include <vector>\n\nint main(int argc, char** argv) {\n\tstd::vector<int> v{1, 2, 3};\n\tfor (auto& x : v) { x <<= 2; }\n\treturn v[0] == 4 ? 0 : -1;\n}\n",
    "def f(x):\n    \"\"\"Doc.\"\"\"\n    if x >= 10 and not (x != 11):\n        return {k: v for k, v in zip('ab', [1, 2])}\n    return None  # done\n",
    "{\"key\": [1, 2.5, null, true, \"quo\\\"te\", \"\\u00e9\"], \"nested\": {\"a\": {}}}",
    "<html><body class=\"x\">&amp;&nbsp;<br/></body></html> $x^2 + \\frac{1}{2}$ | a | b |\n|---|---|\n",
    "!!!???...,,,;;;:::---___===+++***///\\\\\\|||~~~```'''\"\"\"<<<>>>((([[[{{{}}}]]])))@@@###$$$%%%^^^&&&",
    "“curly” ‘quotes’ «guillemets» „low“ … – — ― † ‡ • ‰ € £ ¥ © ® ™ § ¶ ° ± × ÷ ≠ ≤ ≥ ∞ ∑ √ ∫ → ⇒ ∀∃∈",
    "Ünïcödé façade naïve coöperate Æsir œuvre ß ẞ ł Ø Þórr Żółć İstanbul ıI ŉ ǆ ﬁ ﬂ",
    "e\u0301 vs é; a\u0308\u0323 vs ạ\u0308; \u1100\u1161\u11a8 vs 각; ｶﾞ vs ガ; Å Å Å; n\u0303\u0303\u0303; Z\u0351\u036b\u0343\u036a\u0302a\u0310\u0365lgo",
    "Привет, мир! Ελληνικά Γειά σου Κόσμε. Հայերեն ქართული עברית שלום العربية مرحبا بالعالم فارسی اردو",
    "हिन्दी नमस्ते दुनिया বাংলা ਪੰਜਾਬੀ ગુજરાતી தமிழ் తెలుగు ಕನ್ನಡ മലയാളം සිංහල ไทยสวัสดี ລາວ မြန်မာ ខ្មែរ བོད་ཡིག",
    "中文：你好，世界！这是一个测试。繁體字測試 日本語テスト、ひらがなカタカナ漢字 ｶﾀｶﾅ 한국어 안녕하세요 세계 ㄅㄆㄇ 𠀀𠮷𪚥 〇々〆",
    "አማርኛ ሰላም ᏣᎳᎩ ᐃᓄᒃᑎᑐᑦ ᠮᠣᠩᠭᠣᠯ ⴰⵎⴰⵣⵉⵖ ߒߞߏ ꦗꦮ 𐌰𐌱𐌲 𓀀𓂀 𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𝟘𝟙𝟚 ℂℝ",
    "😀😃😄 👍🏽 👩🏿‍🚀 👨‍👩‍👧‍👦 🏳️‍🌈 🇩🇪🇯🇵🇺🇳 ☺️ ☺︎ 1️⃣ #️⃣ ❤️‍🔥 🫠🪿 🧑🏻‍🤝‍🧑🏿",
    "zero\u200bwidth\u200cnon\u200djoiner \u2060word\u2060joiner \ufeffbom \u202eright-to-left\u202c soft\u00adhyphen \ufffd \ufffc",
    "control \x01\x02\x1b[31mred\x1b[0m \x7f \x80\x9f nul:\x00:",
    "private \ue000\uf8ff plane 15 \U000f0000 last \U0010ffff nonchar \ufdd0 \ufffe",
    "<s> </s> <unk> <pad> <bos> <eos> <|endoftext|> <|im_start|>user\nhi<|im_end|>\n<|begin_of_text|><|eot_id|><|start|>assistant<|channel|>final<|message|>x<|return|>",
    "<start_of_turn>user\nhi<end_of_turn>\n<｜begin▁of▁sentence｜><｜User｜>hi<｜Assistant｜><think>\n</think> <tool_call> [INST] <<SYS>> [/INST] <0x0A> <0xE4> <0x-1> <|fim_prefix|>",
    "text<|endoftext|>text <|im_end|> text</s>text <bos>text <|eot_id|>\n\n<|im_start|>",
    "▁lower▁one▁eighth ▁ ▁▁ Ġ Ċ ĠĠ Âł \u2581\u2581\u2581",
    "a" * 300,
    "ab" * 150 + " " + "zyx" * 100,
    "aaaaaaaaaabbbbbbbbbbccccccccccAAAAAAAAAABBBBBBBBBB" * 3,
    "supercalifragilisticexpialidocious pneumonoultramicroscopicsilicovolcanoconiosis Donaudampfschifffahrtsgesellschaft",
    "ThE qUiCk BrOwN fOx JuMpS oVeR tHe LaZy DoG THE QUICK BROWN FOX",
    "\n\n\nUser: hi\n\n\tAssistant:   hello   \n\n  1. one\n  2. two\n\n---\n\n```python\nprint('x')\n```\n",
    "word" + "\u3000" + "ideographic" + "\u2003" + "em" + "\u1680" + "ogham" + "\u205f" + "math" + " \u3000 \u2003 ",
    "don't\u2019t 'S 'T 'RE 'Ve 'lL 'D 'ſ ’s K's \u017f \u212a",
    "السَّلَامُ عَلَيْكُمْ שָׁלוֹם किं क्षि กำลัง น้ำ",
]

# Regex engines disagree about characters that are younger than their tables; Unicode 14 is common ground.
YOUNGEST = "3.2.0 to 14.0.0"


def every_script():
    """A sample of all assigned characters, in strings of 64 with a space now and then."""
    characters = [chr(c) for c in range(0x20, 0x323B0) if unicodedata.category(chr(c)) not in ("Cn", "Cs", "Co")]
    small = [c for c in characters if not (0x3400 <= ord(c) < 0xD7A4 or ord(c) >= 0x20000)]
    large = [c for c in characters if 0x3400 <= ord(c) < 0xD7A4 or ord(c) >= 0x20000]
    sample = small[::5] + large[::401]
    for start in range(0, len(sample), 64):
        piece = sample[start:start + 64]
        yield "".join(c + (" " if i % 11 == 10 else "") for i, c in enumerate(piece))


def texts():
    return HAND_WRITTEN + list(every_script())


if __name__ == "__main__":
    import json
    json.dump(texts(), sys.stdout, ensure_ascii=True, indent=0)
