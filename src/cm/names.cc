#include <array>

#include "cm/event.h"
#include "cm/state.h"
#include "cm/types.h"

namespace softrnic::cm {
namespace {

struct RejectName {
  RejectReason reason;
  std::string_view words;
};
constexpr RejectName kRejectNames[] = {
#define SOFTRNIC_CM_REJECT(number, name, words, chinese) {RejectReason::name, words},
#include "base/cm_reject_reasons.def"
#undef SOFTRNIC_CM_REJECT
};

constexpr std::array<std::string_view, kStates> kStateNames = {
    "IDLE",      "REQ_SENT",  "REQ_RCVD",     "MRA_REQ_SENT",  "MRA_REQ_RCVD",
    "REP_SENT",  "REP_RCVD",  "MRA_REP_SENT", "MRA_REP_RCVD",  "ESTABLISHED",
    "DREQ_SENT", "DREQ_RCVD", "TIMEWAIT",     "SIDR_REQ_SENT", "SIDR_REQ_RCVD",
};

constexpr std::string_view kEventNames[] = {
    "request",
    "reply",
    "established",
    "rejected",
    "unreachable",
    "delayed",
    "disconnect request",
    "disconnect reply",
    "disconnect timeout",
    "timewait exit",
    "service id request",
    "service id reply",
    "service id timeout",
};

}  // namespace

std::string_view words_of(RejectReason reason) {
  for (const RejectName& entry : kRejectNames) {
    if (entry.reason == reason) return entry.words;
  }
  return {};
}

std::string_view name_of(State state) {
  const auto index = static_cast<std::size_t>(state);
  return index < kStateNames.size() ? kStateNames[index] : std::string_view{};
}

std::string_view name_of(EventKind kind) {
  const auto index = static_cast<std::size_t>(kind);
  return index < std::size(kEventNames) ? kEventNames[index] : std::string_view{};
}

}  // namespace softrnic::cm
