#include "engine/lane_set.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/settings.h"
#include "link/fault_link.h"
#include "link/udp_link.h"

namespace softrnic::engine {
namespace {

/// Settings whose value cannot be used are done without, and the user is told once.
void warn(const char* variable, const std::string& trouble) {
  std::fprintf(stderr, "softrnic: %s is ignored: %s\n", variable, trouble.c_str());
}

UniqueFd or_none(Expected<UniqueFd, control::Error> fd) { return fd ? std::move(*fd) : UniqueFd(); }

/// Nothing: the daemon does not answer. One that refuses has nothing to show.
std::optional<UniqueFd> if_answered(Expected<UniqueFd, control::Error> fd) {
  if (!fd && fd.error().failure.error == ETIMEDOUT) return std::nullopt;
  return or_none(std::move(fd));
}

Lane::Show shown_by(const std::shared_ptr<control::Client>& daemon) {
  return {[daemon](std::uint8_t lane) { return if_answered(daemon->show_lane(lane)); },
          [daemon](std::uint8_t lane) { return if_answered(daemon->show_memory(lane)); },
          [daemon](std::uint8_t lane) { return if_answered(daemon->show_bell(lane)); }};
}

}  // namespace

void LaneSet::read_settings() {
  const auto plan = link::parse_fault_plan(settings().faults);
  if (plan && plan->any()) faults_ = *plan;
  if (settings().capture.empty()) return;
  auto capture = link::CaptureFile::create(settings().capture);
  if (capture) {
    capture_ = std::move(*capture);
  } else {
    warn("SOFTRNIC_CAPTURE", settings().capture + ": " + std::strerror(capture.error()));
  }
}

Expected<void, control::Error> LaneSet::check_settings() {
  const auto plan = link::parse_fault_plan(settings().faults);
  if (plan) return {};
  control::Error error = control::make_error(refuse(EINVAL, ReasonId::bad_faults));
  error.text = "SOFTRNIC_FAULTS: " + plan.error() + "; no device is opened";
  return Unexpected{std::move(error)};
}

std::unique_ptr<link::Link> LaneSet::make_link(control::Lane& lane) {
  std::unique_ptr<link::Link> link =
      std::make_unique<link::UdpLink>(link::UdpLink::Options{.fd = lane.socket.release()});
  if (capture_ != nullptr) link->set_tap(capture_.get());
  if (!faults_) return link;
  link::FaultPlan plan = *faults_;
  plan.seed += std::uint64_t{lane.number} << 32;  // lanes must not throw the same dice
  return std::make_unique<link::FaultLink>(std::move(link), plan);
}

Expected<void, control::Error> LaneSet::open(const std::shared_ptr<control::Client>& daemon,
                                             const std::vector<rnic::GidEntry>& addresses) {
  read_settings();
  make_share();
  for (unsigned i = 0; i < settings().lanes; ++i) {
    auto taken = daemon->take_lane();
    if (!taken) {
      if (!lanes_.empty()) break;  // fewer than asked for are slower, not wrong
      return Unexpected{taken.error()};
    }
    const std::uint8_t number = taken->number;
    const int error = start(*taken, daemon, addresses);
    if (error == 0) continue;
    static_cast<void>(daemon->give_back_lane(number));
    if (!lanes_.empty()) break;
    return Unexpected{control::make_error(refuse(error, ReasonId::out_of_threads, error))};
  }
  show_share(*daemon);
  return {};
}

// Faults and captures are about packets.
void LaneSet::make_share() {
  share_.reset();
  if (!settings().wire_only && !faults_ && capture_ == nullptr)
    share_ = DirectShare::make(settings().lanes, settings().share);
}

void LaneSet::show_share(control::Client& daemon) {
  if (share_ == nullptr) return;
  const auto locks = daemon.share_memory(share_->fd());
  if (locks) share_->begin(control::DirectLocks(*locks));
}

void LaneSet::quiesce() {
  for (Entry& entry : lanes_) entry.lane->quiesce();
  if (share_ != nullptr) share_->wait_for_visitors();
}

void LaneSet::forget_share() {
  if (share_ != nullptr) share_->forget();
}

int LaneSet::start(control::Lane& taken, const std::shared_ptr<control::Client>& daemon,
                   const std::vector<rnic::GidEntry>& addresses) {
  Entry entry;
  UniqueFd bell = share_ != nullptr ? or_none(daemon->show_bell(taken.number)) : UniqueFd();
  entry.lane = std::make_unique<Lane>(taken.number, taken.first_index, make_link(taken), page_, share_.get(),
                                      std::move(bell), shown_by(daemon));
  if (!entry.lane->valid()) return errno;
  entry.lane->set_addresses(addresses);
  entry.thread = std::make_unique<EngineThread>(*entry.lane);
  if (const int error = entry.thread->error()) return error;
  entry.introducer = std::make_unique<Introducer>(*entry.lane);
  if (const int error = entry.introducer->error()) return error;
  lanes_.push_back(std::move(entry));
  return 0;
}

bool LaneSet::close(control::Client* daemon) {
  for (const Entry& entry : lanes_) {
    if (entry.lane->queue_pairs() != 0) return false;
  }
  for (Entry& entry : lanes_) {
    const std::uint8_t number = entry.lane->number();
    entry.introducer.reset();
    entry.thread.reset();
    entry.lane.reset();
    if (daemon != nullptr) static_cast<void>(daemon->give_back_lane(number));
  }
  lanes_.clear();
  share_.reset();
  capture_.reset();
  return true;
}

void LaneSet::set_addresses(const std::vector<rnic::GidEntry>& addresses) {
  for (Entry& entry : lanes_) entry.lane->set_addresses(addresses);
}

}  // namespace softrnic::engine
