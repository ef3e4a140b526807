#include "base/reason.h"

#include <atomic>
#include <cstdio>

namespace softrnic {
namespace {

constexpr ReasonText kReasons[] = {
#define SOFTRNIC_REASON(id, sentence, cure) {#id, sentence, cure},
#include "base/reasons.def"
#undef SOFTRNIC_REASON
};

std::atomic<ExplainSink> explain_sink{nullptr};

std::string format_figure(std::uint64_t figure, bool hexadecimal) {
  char text[24];
  std::snprintf(text, sizeof text, hexadecimal ? "0x%llx" : "%llu", static_cast<unsigned long long>(figure));
  return text;
}

}  // namespace

std::size_t reason_count() { return std::size(kReasons); }

const ReasonText& reason_text(ReasonId id) {
  const auto index = static_cast<std::size_t>(id);
  return kReasons[index < std::size(kReasons) ? index : 0];
}

std::string describe(const Reason& reason) {
  const std::string_view sentence = reason_text(reason.id).sentence;
  std::string out;
  for (std::size_t i = 0; i < sentence.size(); ++i) {
    const bool plain = sentence[i] == '{' && i + 2 < sentence.size() && sentence[i + 2] == '}';
    const bool hexadecimal = sentence[i] == '{' && sentence.substr(i + 2, 3) == ":x}";
    if (!plain && !hexadecimal) {
      out += sentence[i];
      continue;
    }
    const auto index = static_cast<std::size_t>(sentence[i + 1] - '0') % reason.figures.size();
    out += format_figure(reason.figures[index], hexadecimal);
    i += plain ? 2 : 4;
  }
  return out;
}

void set_explain_sink(ExplainSink sink) { explain_sink.store(sink, std::memory_order_release); }

void explain(const Explanation& explanation) {
  if (const ExplainSink sink = explain_sink.load(std::memory_order_acquire)) sink(explanation);
}

}  // namespace softrnic
