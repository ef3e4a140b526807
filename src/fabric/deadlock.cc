#include "fabric/deadlock.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace softrnic::fabric {
namespace {

/// The buffer that a bid waits for; null when it waits for its turn or for a host.
const InputBuffer* waits_for(const Bid& bid) {
  const EnginePort& output = *bid.output;
  if (!output.is_external() || bid.vl == kManagementVl || output.peer == nullptr) return nullptr;
  const OutputVl& lane = output.out[bid.vl];
  const Bid* const first = lane.bids.front();
  if (first == nullptr) return nullptr;
  const std::uint16_t blocks = first->from->head->blocks;
  const InputBuffer& next = output.peer->in[bid.vl];
  // Free room without credit: its flow control packet is under way.
  return lane.credit.can_send(blocks) || next.fits(blocks) ? nullptr : &next;
}

/// A walk along waits, depth first, without recursion.
class Walk {
 public:
  explicit Walk(std::size_t buffers) : seen_(buffers, Seen::no) {}

  /// The circle that is found from `start`.
  std::vector<CreditWait> from(const InputBuffer& start) {
    enter(start);
    while (!path_.empty()) {
      Step& step = path_.back();
      const Bid* const bid = step.bid;
      if (bid == nullptr) {
        seen_[index_of(*step.buffer)] = Seen::done;
        path_.pop_back();
        continue;
      }
      const InputBuffer* const next = waits_for(*bid);
      if (next != nullptr && seen_[index_of(*next)] == Seen::on_path) return circle(*next);
      step.bid = bid->sibling;
      step.taken = bid;
      if (next != nullptr) enter(*next);
    }
    return {};
  }

 private:
  enum class Seen : std::uint8_t { no, on_path, done };
  struct Step {
    const InputBuffer* buffer;
    const Bid* bid;    ///< to be looked at next
    const Bid* taken;  ///< along which the path goes on
  };

  static std::size_t index_of(const InputBuffer& buffer) {
    return std::size_t{buffer.port->id.value} * kVls + buffer.vl;
  }
  void enter(const InputBuffer& buffer) {
    Seen& seen = seen_[index_of(buffer)];
    if (seen != Seen::no) return;
    seen = Seen::on_path;
    path_.push_back({&buffer, buffer.bids, buffer.bids});
  }
  std::vector<CreditWait> circle(const InputBuffer& first) {
    path_.back().taken = path_.back().bid;
    auto step = std::find_if(path_.begin(), path_.end(), [&](const Step& s) { return s.buffer == &first; });
    std::vector<CreditWait> waits;
    for (; step != path_.end(); ++step) {
      const EnginePort& input = *step->buffer->port;
      waits.push_back(
          {input.node, input.number, step->buffer->vl, step->taken->output->number, step->taken->vl});
    }
    return waits;
  }

  std::vector<Seen> seen_;
  std::vector<Step> path_;
};

}  // namespace

std::vector<CreditWait> find_credit_cycle(const Engine& engine) {
  Walk walk(engine.ports().size() * kVls);
  for (const EnginePort& port : engine.ports()) {
    for (const InputBuffer& buffer : port.in) {
      std::vector<CreditWait> cycle = walk.from(buffer);
      if (!cycle.empty()) return cycle;
    }
  }
  return {};
}

std::string to_string(const std::vector<CreditWait>& cycle) {
  std::string text;
  for (const CreditWait& wait : cycle) {
    std::array<char, 80> line;
    std::snprintf(line.data(), line.size(), "%snode %u port %u VL %u > port %u VL %u",
                  text.empty() ? "" : ", ", wait.node.value, wait.input_port, wait.input_vl, wait.output_port,
                  wait.output_vl);
    text += line.data();
  }
  return text;
}

}  // namespace softrnic::fabric
