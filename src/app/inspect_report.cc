#include "app/inspect_report.h"

#include <algorithm>
#include <vector>

#include "app/report_text.h"
#include "app/short_source.h"
#include "fmt/ranges.h"

namespace motley::app {
namespace {

std::string size_text(const Json& bytes) {
  const double size = bytes.as_double().value_or(0);
  if (size >= 1e9) return fmt::format("{:.2f} GB", size / 1e9);
  if (size >= 1e6) return fmt::format("{:.2f} MB", size / 1e6);
  if (size >= 1e3) return fmt::format("{:.2f} kB", size / 1e3);
  return fmt::format("{:.0f} bytes", size);
}

std::string range(size_t first, size_t last) {
  return first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
}

std::string rope_text(const Json& rope) {
  if (rope.is_null()) return "no rotation";
  std::string result = fmt::format("rotation with theta {}, {} of each head, {} pairs", text(rope, "theta"),
                                   text(rope, "rotary_dims"), text(rope, "pairs"));
  const Json& scaling = at(rope, "scaling");
  if (scaling.is_null()) return result;
  result += fmt::format(", {} scaling", text(scaling, "kind"));
  if (!at(scaling, "factor").is_null()) result += " by " + text(scaling, "factor");
  return result;
}

std::string layer_group(const Json& group) {
  const Json& mixer = at(group, "mixer");
  const Json& dense = at(group, "feed_forward");
  std::string lines =
      entry("  " + range(at(group, "first_layer").as_uint().value_or(0), at(group, "last_layer").as_uint().value_or(0)),
            fmt::format("{}, {} heads, {} KV heads, of {} each{}", text(mixer, "kind"), text(mixer, "heads"),
                        text(mixer, "kv_heads"), text(mixer, "head_dim"),
                        at(mixer, "window").is_null() ? "" : ", window of " + text(mixer, "window")));
  lines += entry("", rope_text(at(mixer, "rope")));
  lines += entry("", fmt::format("{} feed-forward of width {} ({}), norm eps {}", text(dense, "kind"),
                                 text(dense, "width"), text(dense, "activation"), text(group, "norm_eps")));
  return lines;
}

std::string network(const Json& spec) {
  std::string result = entry("network", fmt::format("{} layers, hidden {}, vocabulary {}, context {} tokens, {} head",
                                                    text(spec, "layer_count"), text(spec, "hidden"),
                                                    text(spec, "vocabulary"), text(spec, "context_tokens"),
                                                    at(spec, "tied_head").as_bool() == true ? "tied" : "separate"));
  for (const Json& group : items(spec, "layers")) result += layer_group(group);
  return result;
}

std::string storage(const Json& description) {
  Table table(2);
  table.add({"role", "format", "tensors", "weights", "bytes", "bits/weight"});
  for (const Json& row : items(description, "storage"))
    table.add({text(row, "role"), text(row, "format"), text(row, "tensors"), text(row, "weights"), text(row, "bytes"),
               fmt::format("{:.3f}", at(row, "bits_per_weight").as_double().value_or(0))});
  return "\nstorage\n" + table.render("  ");
}

// "0-29: 2.10 MB each", runs of equal layers together.
std::string layer_bytes(const Json::Array& layers) {
  std::vector<std::string> runs;
  for (size_t first = 0; first < layers.size();) {
    size_t last = first;
    while (last + 1 < layers.size() && layers[last + 1].as_uint() == layers[first].as_uint()) ++last;
    runs.push_back(fmt::format("{}: {} each", range(first, last), size_text(layers[first])));
    first = last + 1;
  }
  return fmt::format("{}", fmt::join(runs, ", "));
}

std::string bytes(const Json& description) {
  const Json& sums = at(description, "bytes");
  const Json& kv = at(description, "kv_bytes_per_token");
  const bool tied = at(at(description, "spec"), "tied_head").as_bool() == true;
  return "\nbytes\n" +
         entry("  total", fmt::format("{} ({:.3f} bits a weight)", size_text(at(sums, "total")),
                                      at(sums, "bits_per_weight").as_double().value_or(0))) +
         entry("  embedding", size_text(at(sums, "embedding"))) +
         entry("  layers", layer_bytes(items(sums, "layers"))) +
         entry("  head", tied ? "the embedding" : size_text(at(sums, "head"))) +
         entry("  KV cache", fmt::format("{} bytes a token in f16, {} in f32", text(kv, "f16"), text(kv, "f32")));
}

std::string bos_text(const Json& assets) {
  if (at(assets, "bos_token").is_null()) return "none";
  const auto added = at(assets, "add_bos").as_bool();
  return text(assets, "bos_token") + (!added   ? ""
                                      : *added ? ", put before plain prompts"
                                               : ", not put before plain prompts");
}

// Which file said it, without the folder that the first line names.
std::string source(const Json& description, const Json& file) {
  return short_source(text(file), text(description, "path"));
}

std::string text_side(const Json& description) {
  const Json& assets = at(description, "text");
  const Json& tokenizer = at(assets, "tokenizer");
  std::vector<std::string> templates, ends;
  for (const Json& name : items(assets, "chat_templates")) templates.push_back(text(name));
  for (const Json& end : items(assets, "end_tokens"))
    ends.push_back(fmt::format("{} ({})", text(end, "id"), source(description, at(end, "source"))));
  return "\ntext\n" +
         entry("  tokenizer", tokenizer.is_null() ? "missing"
                                                  : fmt::format("{}, {} tokens ({})", text(tokenizer, "kind"),
                                                                text(tokenizer, "vocabulary"),
                                                                source(description, at(tokenizer, "source")))) +
         entry("  chat", templates.empty() ? "no template"
                                           : fmt::format("template {} ({})", fmt::join(templates, ", "),
                                                         source(description, at(assets, "chat_template_source")))) +
         entry("  BOS", bos_text(assets)) +
         entry("  ends with", ends.empty() ? "no token" : fmt::format("{}", fmt::join(ends, ", ")));
}

std::string generation(const Json& description) {
  const Json& defaults = at(description, "generation");
  std::vector<std::string> words;
  for (const auto& [key, value] : *defaults.as_object())
    if (key != "source" && !value.is_null()) words.push_back(key + " " + text(value));
  return entry("  sampling", words.empty() ? "nothing recommended"
                                           : fmt::format("{} ({})", fmt::join(words, ", "),
                                                         source(description, at(defaults, "source"))));
}

std::string lines_of(std::string_view title, const Json::Array& lines) {
  if (lines.empty()) return "";
  std::string result = fmt::format("\n{}\n", title);
  for (const Json& line : lines) result += "  " + text(line) + "\n";
  return result;
}

std::string unused(const Json& description) {
  if (items(description, "ignored").empty()) return "";
  Table table(2);
  for (const Json& row : items(description, "ignored")) table.add({text(row, "tensor"), text(row, "reason")});
  return "\nnot used\n" + table.render("  ");
}

std::string tensors(const Json& description) {
  if (at(description, "tensors").is_null()) return "";
  Table table(3);
  table.add({"role", "tensor", "format", "rows", "columns", "bytes"});
  for (const Json& row : items(description, "tensors")) {
    const Json::Array& shape = items(row, "shape");
    table.add({text(row, "role"), text(row, "tensor"), text(row, "format"), text(shape.at(0)), text(shape.at(1)),
               text(row, "bytes")});
  }
  return "\ntensors\n" + table.render("  ");
}

std::string file_names(const Json& description) {
  std::vector<std::string> names;
  for (const Json& name : items(description, "files")) names.push_back(source(description, name));
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

std::string inspect_report(const Json& description) {
  return entry("model", text(description, "path")) +
         entry("container", fmt::format("{} ({})", text(description, "container"), file_names(description))) +
         entry("architecture", text(description, "architecture")) + network(at(description, "spec")) +
         storage(description) + bytes(description) + text_side(description) + generation(description) +
         lines_of("overrides", items(description, "overrides")) + lines_of("notes", items(description, "notes")) +
         unused(description) + tensors(description);
}

}  // namespace motley::app
