#include "text/chat_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "text/text_fixtures.h"

namespace motley::text {
namespace {

using testing::HasSubstr;
using testing::Not;

// The clock of tests/oracle/text/make_template_references.py: Friday, 5 July 2024, 09:04:03.
std::tm reference_time() {
  std::tm time{};
  time.tm_year = 2024 - 1900;
  time.tm_mon = 6;
  time.tm_mday = 5;
  time.tm_hour = 9;
  time.tm_min = 4;
  time.tm_sec = 3;
  time.tm_wday = 5;
  time.tm_yday = 186;
  return time;
}

std::string text_of(const Json& row, std::string_view key) {
  const Json* member = row.find(key);
  return member ? *member->as_string() : "";
}

ChatInput input_of(std::string messages) {
  return {.messages_json = std::move(messages),
          .generation_prompt = GenerationPrompt::kNone,
          .tools_json = "",
          .documents_json = "",
          .variables_json = "",
          .bos_token = "<bos>",
          .eos_token = "<eos>",
          .pad_token = "<pad>",
          .unk_token = "<unk>",
          .now = reference_time()};
}

// One result of the generator: {"text"} or {"refused", "kind"}, where TemplateError is the template's own
// raise_exception.
void expect_equals(const StatusOr<std::string>& rendered, const Json& expected) {
  if (expected.find("text")) {
    ASSERT_TRUE(rendered.ok()) << rendered.status();
    EXPECT_EQ(*rendered, text_of(expected, "text"));
    return;
  }
  ASSERT_FALSE(rendered.ok()) << "expected an error (" << text_of(expected, "refused") << "), got: " << *rendered;
  EXPECT_THAT(rendered.status().message(), Not(HasSubstr("\n")));
  if (text_of(expected, "kind") == "TemplateError") {
    EXPECT_EQ(rendered.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(rendered.status().message(), HasSubstr(text_of(expected, "refused")));
  }
}

class PublishedTemplate : public testing::TestWithParam<const char*> {};

TEST_P(PublishedTemplate, EqualsTransformers) {
  const std::string path = std::string(kFixtures) + "templates/" + GetParam();
  const auto chat_template = ChatTemplate::compile(read_file(path + ".jinja"), path);
  ASSERT_TRUE(chat_template.ok()) << chat_template.status();
  const Json conversations = read_json(std::string(kFixtures) + "conversations.json");
  const Json expected = read_json(path + ".json");
  const size_t count = conversations.as_array()->size();
  ASSERT_GE(count, 10u);
  ASSERT_EQ(expected.as_array()->size(), count);
  for (size_t i = 0; i < count; ++i) {
    const Json& conversation = (*conversations.as_array())[i];
    SCOPED_TRACE(text_of(conversation, "name"));
    ChatInput input = input_of(text_of(conversation, "messages"));
    input.tools_json = text_of(conversation, "tools");
    input.variables_json = text_of(conversation, "variables");
    const Json::Array& both = *(*expected.as_array())[i].as_array();
    expect_equals(chat_template->render(input), both[0]);
    input.generation_prompt = GenerationPrompt::kAdd;
    expect_equals(chat_template->render(input), both[1]);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, PublishedTemplate,
                         testing::Values("smollm2", "llama2", "llama3", "llama3_1", "qwen3", "gemma3", "gptoss",
                                         "deepseek_v3"),
                         [](const auto& row) { return std::string(row.param); });

TEST(ChatTemplate, SmallTemplatesEqualTransformers) {
  const Json fixture = read_json(std::string(kFixtures) + "snippets.json");
  for (const Json& row : *fixture.find("rows")->as_array()) {
    const std::string& source = *(*row.as_array())[0].as_string();
    SCOPED_TRACE(source);
    ChatInput input = input_of(R"([{"role": "user", "content": "hi"}])");
    input.variables_json = text_of(fixture, "variables");
    const auto chat_template = ChatTemplate::compile(source, "snippet");
    expect_equals(chat_template.ok() ? chat_template->render(input) : chat_template.status(), (*row.as_array())[1]);
  }
}

StatusOr<std::string> rendered(std::string_view source, const ChatLimits& limits) {
  TRY(const ChatTemplate chat_template, ChatTemplate::compile(source, "test"));
  return chat_template.render(input_of(R"([{"role": "user", "content": "hi"}])"), limits);
}

// Each of these would run, print or allocate without end.
TEST(ChatTemplate, EndlessTemplatesAreEnded) {
  const char* const endless[] = {
      "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}",
      "{% macro r() %}{{ r() }}{% endmacro %}{{ r() }}",
      "{% macro r() %}{{ r() }}{{ r() }}{% endmacro %}{{ r() }}",
      "{% set ns = namespace(s='xxxxxxxxxxxxxxxx') %}{% for i in range(100) %}{% set ns.s = ns.s ~ ns.s %}{% endfor "
      "%}{{ ns.s }}",
      "{% set ns = namespace(l=[1]) %}{% for i in range(100) %}{% set ns.l = ns.l + ns.l %}{% endfor %}{{ ns.l|length "
      "}}",
      "{% set ns = namespace(l=[1]) %}{% for i in range(100) %}{% set ns.l = [ns.l, ns.l] %}{% endfor %}{{ ns.l|tojson "
      "}}",
      "{% set ns = namespace(l=[1]) %}{% for i in range(100) %}{% set ns.l = [ns.l, ns.l] %}{% endfor %}{{ ns.l }}",
      "{% for i in range(90000) %}{{ 'x' * 1000 }}{% endfor %}",
      "{{ 'x' * 99999999999 }}",
      "{{ ('x' * 1000000)|replace('x', 'y' * 1000000) }}",
      "{{ ('x' * 1000000).replace('x', 'y' * 1000000) }}",
      "{{ range(99999999999)|list|length }}",
      "{{ '%99999999999d' % 1 }}",
      "{{ 'x'|indent(99999999999) }}",
      "{{ 'x'.center(99999999999) }}",
      "{{ ('a,' * 1000000).split(',')|length }}{% for i in range(99999) %}{{ ('a,' * 100000).split(',')|length }}{% "
      "endfor %}",
  };
  for (const char* source : endless) {
    SCOPED_TRACE(source);
    const auto text = rendered(source, {.fuel = 200'000, .output_bytes = 1 << 20, .memory_bytes = 32 << 20});
    ASSERT_FALSE(text.ok()) << "got " << text->size() << " bytes";
    EXPECT_THAT(text.status().message(), Not(HasSubstr("\n")));
  }
}

TEST(ChatTemplate, ALoopWithoutEndIsOutOfFuel) {
  const auto text = rendered("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}", {});
  EXPECT_EQ(text.status().code(), absl::StatusCode::kResourceExhausted) << text.status();
}

TEST(ChatTemplate, OutputIsBounded) {
  const auto text = rendered("{{ 'x' * 1000 }}", {.fuel = 1000, .output_bytes = 999, .memory_bytes = 1 << 20});
  EXPECT_EQ(text.status().code(), absl::StatusCode::kResourceExhausted) << text.status();
  EXPECT_EQ(rendered("{{ 'x' * 1000 }}", {.fuel = 1000, .output_bytes = 1000, .memory_bytes = 1 << 20}).value().size(),
            1000u);
}

TEST(ChatTemplate, BrokenTemplatesAreRefused) {
  for (const char* source :
       {"{% if %}", "{{ ", "{% for %}", "{% endif %}", "{% unknown %}", "{{ a b }}", "{% macro %}"}) {
    SCOPED_TRACE(source);
    const auto compiled = ChatTemplate::compile(source, "model.gguf, tokenizer.chat_template");
    ASSERT_FALSE(compiled.ok());
    EXPECT_EQ(rejection_site(compiled.status()), "chat_template.syntax");
    EXPECT_THAT(std::string(compiled.status().message()), testing::StartsWith("model.gguf, tokenizer.chat_template: "));
    EXPECT_THAT(compiled.status().message(), Not(HasSubstr("\n")));
  }
  EXPECT_EQ(rejection_site(ChatTemplate::compile("\xff", "x").status()), "chat_template.utf8");
  EXPECT_EQ(rejection_site(ChatTemplate::compile(std::string(5 << 20, 'x'), "x").status()), "chat_template.size");
}

TEST(ChatTemplate, DeeplyNestedTemplatesAndMessagesAreRefused) {
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "{% if x %}";
  EXPECT_FALSE(ChatTemplate::compile(deep, "deep").ok());
  EXPECT_FALSE(ChatTemplate::compile("{{ " + std::string(100000, '(') + " }}", "deep").ok());
  const auto chat_template = ChatTemplate::compile("{{ messages }}", "flat");
  ASSERT_TRUE(chat_template.ok());
  EXPECT_FALSE(chat_template->render(input_of(std::string(100000, '['))).ok());
}

TEST(ChatTemplate, MessagesThatAreNoListOfObjectsAreRefused) {
  const auto chat_template = ChatTemplate::compile("{{ messages|length }}", "t");
  ASSERT_TRUE(chat_template.ok());
  for (const char* messages : {"{}", "[1]", "[", "", "null", "[{}] x", "[{\"a\": \"\xff\"}]"}) {
    SCOPED_TRACE(messages);
    EXPECT_EQ(chat_template->render(input_of(messages)).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace motley::text
