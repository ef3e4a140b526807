#include "fabricd/why_report.h"

#include <fmt/core.h>

#include "fabricd/trace_report.h"

namespace softrnic::fabricd {
namespace {

Json obstacle_json(const FabricState& state, const Obstacle& obstacle, const CureContext& context) {
  const ObstacleRow& row = row_of(obstacle.kind);
  const ObstacleText text = text_of(state, obstacle, context);
  return {{"id", row.id},
          {"blocks", obstacle.blocks()},
          {"node", state.topology.node(obstacle.at.node).name},
          {"port", obstacle.at.port},
          {"seen", text.seen},
          {"cure", text.cure}};
}

Json way_json(const FabricState& state, const PathTrace& trace, const Endport& to, std::uint8_t sl) {
  return {{"to", endport_json(state, to)},
          {"sl", sl},
          {"outcome", outcome_of(trace)},
          {"hops", hops_json(state, trace)}};
}

}  // namespace

Expected<std::string, std::string> why_report(const FabricState& state, std::string_view a,
                                              std::string_view b, Question question, CureContext context) {
  const auto one = find_endport(state, a), other = find_endport(state, b);
  if (!one) return Unexpected{one.error()};
  if (!other) return Unexpected{other.error()};
  question.a = *one;
  question.b = *other;
  context.from = one->address;
  const Connectivity answer = examine(state, question);
  Json out;
  out["can_talk"] = answer.can_talk();
  out["a"] = endport_json(state, question.a);
  out["b"] = endport_json(state, question.b);
  if (answer.partition) {
    out["p_key_of_a"] = fmt::format("{:#06x}", answer.partition->of_a);
    out["p_key_of_b"] = fmt::format("{:#06x}", answer.partition->of_b);
  }
  out["obstacles"] = Json::array();
  for (const Obstacle& obstacle : answer.obstacles.list())
    out["obstacles"].push_back(obstacle_json(state, obstacle, context));
  if (answer.there) out["there"] = way_json(state, *answer.there, question.b, question.sl);
  if (answer.back) out["back"] = way_json(state, *answer.back, question.a, question.sl);
  return out.to_string();
}

}  // namespace softrnic::fabricd
