// Input: some flow rules, then an Ethernet frame. The parser reads no byte that is not there (sanitizers say
// so), a shorter frame never has more headers, and a rule that asks for just what was read matches.
#include <vector>

#include "ethernet/flow_table.h"
#include "ethernet/toeplitz.h"
#include "fuzz/check.h"

using namespace softrnic;
using namespace softrnic::ethernet;

namespace {

FlowRule take_rule(fuzz::Input& input) {
  FlowRule rule;
  const auto kind = input.take<std::uint8_t>();
  rule.kind = static_cast<RuleKind>(kind & 3);
  rule.dont_trap = (kind & 4) != 0;
  rule.drop = (kind & 8) != 0;
  rule.priority = input.take<std::uint8_t>() & 1;
  rule.match.layers = 1U << (input.take<std::uint8_t>() & 31);
  const std::size_t at = input.take<std::uint8_t>() % sizeof(FlowKey);
  reinterpret_cast<std::uint8_t*>(&rule.match.value)[at] = input.take<std::uint8_t>();
  reinterpret_cast<std::uint8_t*>(&rule.match.mask)[at] = input.take<std::uint8_t>();
  rule.match.prepare();
  return rule;
}

FlowRule rule_of(const ParsedFrame& frame) {
  FlowRule rule;
  rule.match.layers = frame.layers;
  rule.match.value = frame.key;
  std::memset(&rule.match.mask, 0xff, sizeof rule.match.mask);
  rule.match.prepare();
  return rule;
}

std::size_t count(const FlowTable& table, const ParsedFrame& frame, bool leaves) {
  std::size_t met = 0;
  table.classify(frame, leaves, [&](const FlowRule& rule) {
    FUZZ_CHECK(rule.kind != RuleKind::normal || rule.match.matches(frame));
    FUZZ_CHECK(!leaves || rule.kind == RuleKind::sniffer);
    ++met;
  });
  return met;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  std::vector<FlowRule> rules(input.take<std::uint8_t>() & 7);
  FlowTable table;
  for (FlowRule& rule : rules) table.add(rule = take_rule(input));
  const std::vector<std::byte> bytes(input.rest().begin(), input.rest().end());  // so that overruns are seen
  const ParsedFrame frame = parse(bytes);
  const ParsedFrame shorter = parse(Bytes(bytes).first(bytes.size() / 2));
  FUZZ_CHECK((shorter.layers & ~frame.layers) == 0);
  FUZZ_CHECK(count(table, frame, false) <= rules.size());
  FUZZ_CHECK(count(table, frame, true) <= count(table, frame, false));
  FlowRule exact = rule_of(frame);
  FlowTable one;
  one.add(exact);
  FUZZ_CHECK(count(one, frame, false) == 1);
  ReceiveHash hash;
  hash.fields = 0x1ff;
  static_cast<void>(hash.of(frame));
  hash.fields |= kHashInner;
  static_cast<void>(hash.of(frame));
  return 0;
}
