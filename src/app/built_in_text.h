// A text that comes with the program, for measuring on something that everybody has.
#pragma once

#include <string_view>

namespace motley::app {

constexpr std::string_view kBuiltInTextName = "Alice's Adventures in Wonderland, chapters 1 to 3";

// data/alice.txt, plain ASCII.
std::string_view built_in_text();

}  // namespace motley::app
