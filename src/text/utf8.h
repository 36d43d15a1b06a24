// Where a text stops being UTF-8. Nothing here repairs or converts.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace motley::text {

// The offset of the first byte that is not part of a well-formed character (Unicode 15, table 3-7): overlong forms,
// surrogates and code points above U+10FFFF are not. nullopt when the whole text is well-formed.
std::optional<size_t> first_invalid_utf8(std::string_view text);

}  // namespace motley::text
