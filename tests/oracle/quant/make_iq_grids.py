"""Writes src/quant/iq_grids.h from the grids that gguf-py carries.

    pip install gguf==0.19.0
    python tests/oracle/quant/make_iq_grids.py
"""

import pathlib

import numpy as np
from gguf import quants

OUT = pathlib.Path(__file__).resolve().parents[3] / "src/quant/iq_grids.h"
HEAD = """// The grids of ggml's IQ formats (facts of the format: ggml-common.h, MIT): each entry is 8 values of 2 bits, or 4 of 3
// bits, lowest first, which index the values named beside it. Written by tests/oracle/quant/make_iq_grids.py.
#pragma once

#include <cstdint>

namespace motley::quant {
"""
GRIDS = (("Iq2Xxs", quants.IQ2_XXS, 2), ("Iq2Xs", quants.IQ2_XS, 2), ("Iq2S", quants.IQ2_S, 2), ("Iq3Xxs", quants.IQ3_XXS, 3),
         ("Iq3S", quants.IQ3_S, 3), ("Iq1", quants.IQ1_S, 2))


def main():
    lines = [HEAD]
    for name, quant, bits in GRIDS:
        quant.init_grid()
        values = list(quant.grid_map)
        grid = np.array(quant.grid).reshape(quant.grid_shape).astype(int)
        entries = [sum(values.index(v) << (bits * i) for i, v in enumerate(row)) for row in grid]
        lines.append(f"inline constexpr int16_t k{name}Values[{len(values)}] = {{{', '.join(map(str, values))}}};")
        lines.append(f"inline constexpr uint16_t k{name}Grid[{len(entries)}] = {{")
        lines += ["    " + ", ".join(f"0x{v:04x}" for v in entries[i:i + 14]) + "," for i in range(0, len(entries), 14)]
        lines.append("};\n")
    lines.append("}  // namespace motley::quant")
    OUT.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
