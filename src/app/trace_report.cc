#include "app/trace_report.h"

#include "app/report_text.h"

namespace motley::app {
namespace {

std::string title(std::string_view name) { return fmt::format("\n{}\n", name); }

// "full grouped-query attention x 30, …"
std::string counted(const Json::Array& rows) {
  std::vector<std::string> words;
  for (const Json& row : rows) words.push_back(fmt::format("{} x {}", text(row, "kind"), text(row, "count")));
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string model(const Json& trace) {
  const Json& model = at(trace, "model");
  return title("model") + entry("  path", text(model, "path")) +
         entry("  container", fmt::format("{}, {} file(s), index {}", text(model, "container"), text(model, "shards"),
                                          at(model, "index").as_bool() == true ? "present" : "absent")) +
         entry("  bytes", fmt::format("{} of tensors", text(model, "tensor_bytes")));
}

std::string backend(const Json& trace) {
  const Json& backend = at(trace, "backend");
  return title("backend") +
         entry("  device", fmt::format("{}, {}, {} arithmetic", text(backend, "name"),
                                       at(backend, "ready").as_bool() == true ? "ready" : "not ready",
                                       text(backend, "arithmetic")));
}

std::string decoder(const Json& trace) {
  const Json& decoder = at(trace, "decoder");
  return title("decoder") + entry("  layers", text(decoder, "layers")) +
         entry("  mixers", counted(items(decoder, "mixers"))) +
         entry("  feeds", counted(items(decoder, "feed_forwards"))) +
         entry("  shared K, V", fmt::format("{} layers", text(decoder, "shared_kv_layers")));
}

std::string tokenizer(const Json& trace) {
  const Json& tokenizer = at(trace, "tokenizer");
  const std::string line = tokenizer.is_null()
                               ? "missing"
                               : fmt::format("{}, {} tokens", text(tokenizer, "kind"), text(tokenizer, "vocabulary"));
  return title("tokenizer") + entry("  kind", line);
}

std::string tensors(const Json& trace) {
  const Json& tensors = at(trace, "tensors");
  std::string result = title("tensors") + entry("  native", fmt::format("{} tensors, {} bytes", text(tensors, "native"),
                                                                        text(tensors, "bytes")));
  for (const auto& [type, row] : *at(tensors, "dtypes").as_object())
    result += entry("  " + type, fmt::format("{} tensors, {} bytes", text(row, "tensors"), text(row, "bytes")));
  result += entry("  missing", text(tensors, "missing")) + entry("  unused", text(tensors, "unused"));
  const Json& check = at(tensors, "finite_check");
  return result + entry("  finite", text(check, "mode") == "all"
                                        ? fmt::format("{} ({} tensors, {} numbers)", text(check, "result"),
                                                      text(check, "tensors"), text(check, "numbers"))
                                        : "not checked (--check reads all bytes)");
}

std::string weights(const Json& trace) {
  const Json& weights = at(trace, "weights");
  Table table(2);
  for (const Json& row : items(weights, "layouts"))
    table.add({text(row, "role"), text(row, "format"), text(row, "tensors"), text(row, "bytes")});
  return title("weights") + entry("  embedding", text(weights, "embedding")) +
         entry("  final norm", text(weights, "final_norm")) +
         entry("  head", fmt::format("{}{}", text(weights, "head"),
                                     at(weights, "tied_head").as_bool() == true ? " (tied)" : "")) +
         entry("  biases", text(weights, "biases")) + table.render("  ");
}

std::string kv_cache(const Json& trace) {
  const Json& cache = at(trace, "kv_cache");
  return title("KV cache") +
         entry("  a token", fmt::format("{} bytes of {}-byte numbers", text(cache, "bytes_per_token"),
                                        text(cache, "element_bytes"))) +
         entry("  full", fmt::format("{} bytes for {} tokens", text(cache, "bytes_at_full_context"),
                                     text(cache, "context_tokens")));
}

std::string actions(const Json& trace) {
  Table table(2);
  for (const Json& row : items(trace, "actions")) table.add({text(row, "stage"), text(row, "detail")});
  return title("from file to first token") + table.render("  ");
}

std::string warnings(const Json& trace) {
  std::string result = title("warnings");
  for (const Json& line : items(trace, "warnings")) result += "  " + text(line) + "\n";
  return items(trace, "warnings").empty() ? title("warnings") + "  none\n" : result;
}

}  // namespace

std::string trace_report(const Json& trace) {
  const std::string report = model(trace) + backend(trace) + decoder(trace) + tokenizer(trace) + tensors(trace) +
                             weights(trace) + kv_cache(trace) + actions(trace) + warnings(trace);
  return report.substr(1);  // without the empty line before the first title
}

std::string number_check_report(const Json& check) {
  Table table(1);
  table.add({"part", "numbers", "not finite", "smallest", "largest", "mean", "rms"});
  for (const Json& row : items(check, "parts"))
    table.add({text(row, "part"), text(row, "numbers"), text(row, "not_finite"), text(row, "smallest"),
               text(row, "largest"), text(row, "mean"), text(row, "rms")});
  std::string result = title("numbers") + table.render("  ");
  for (const Json& line : items(check, "findings")) result += "  " + text(line) + "\n";
  return result;
}

}  // namespace motley::app
