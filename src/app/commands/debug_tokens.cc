#include <memory>

#include "app/commands.h"
#include "app/model_options.h"
#include "app/output.h"
#include "app/prompt_input.h"
#include "text/tokenizer.h"

namespace motley::app {
namespace {

struct TokensOptions {
  ModelOptions model;
  std::optional<std::string> text;
  bool no_affixes = false, special_as_text = false;
};

Status tokens(const TokensOptions& options) {
  std::string text = options.text.value_or("");
  if (!options.text) {
    TRY(text, read_standard_input());
  }
  TRY(const auto model, load_model(options.model));
  TRY(const auto tokenizer, text::Tokenizer::load(model->text));
  TRY(const std::vector<int32_t> ids,
      tokenizer.encode(text, options.special_as_text ? text::SpecialInText::kAsText : text::SpecialInText::kParse,
                       options.no_affixes ? text::Affixes::kNone : text::Affixes::kCheckpoint));
  return print_json(Json::Object{{"ids", Json::Array(ids.begin(), ids.end())}});
}

}  // namespace

void add_debug_tokens(CommandLine& line) {
  Arguments debug = line.root().command("debug", "Look inside, to compare with another program");
  Arguments command = debug.command("tokens", "The ids of a text");
  auto options = std::make_shared<TokensOptions>();
  add_model_options(command, options->model);
  command.value("TEXT", options->text, "The text (default: standard input, to the byte)");
  command.value("--no-affixes", options->no_affixes, "Leave out what the model puts around a text (BOS, EOS)");
  command.value("--special-as-text", options->special_as_text, "Take special tokens in the text for mere characters");
  command.examples(R"(  motley debug tokens model.gguf "Hello, world"      {"ids":[19556,28,905]})");
  command.action([options] { return tokens(*options); });
}

}  // namespace motley::app
