// What the tests of this module read: vocabularies and reference ids under tests/data/text, fetched tokenizers under
// .cache.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "model/text_assets.h"
#include "text/tokenizer.h"

namespace motley::text {

inline constexpr std::string_view kFixtures = "tests/data/text/";
inline constexpr std::string_view kFetched = ".cache/tokenizers/";

// Fails the running test, naming the file and how to get it, and returns an empty value when the file is not there.
std::string read_file(const std::string& path);
Json read_json(const std::string& path);

std::vector<std::string> torture_texts();
std::vector<int32_t> ids_in(const Json& list);

// {tokens, types, merges, pre} or {tokens, types, scores} as the generators write them.
model::Vocabulary vocabulary_in(const std::string& path);
model::TextAssets assets_of(model::Vocabulary vocabulary);
model::TextAssets assets_of_json(std::string json, std::string source);

// Ids, decoded texts and streamed texts against reference-NAME.json.
void expect_equals_reference(const Tokenizer& tokenizer, const std::string& reference_path);

}  // namespace motley::text
