#include "engine/lane_set.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/reason_id.h"
#include "base/settings.h"
#include "link/fabric_link.h"
#include "link/fault_link.h"
#include "link/udp_link.h"
#include "samehost/doorbell.h"

namespace softrnic::engine {
namespace {

/// Settings whose value cannot be used are done without, and the user is told once.
void warn(const char* variable, const std::string& trouble) {
  std::fprintf(stderr, "softrnic: %s is ignored: %s\n", variable, trouble.c_str());
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

std::unique_ptr<link::Link> LaneSet::make_link(control::LaneGrant& lane) {
  std::unique_ptr<link::Link> link;
  if (lane.fabric) {
    link = std::make_unique<link::FabricLink>(std::move(lane.socket));
  } else {
    link = std::make_unique<link::UdpLink>(link::UdpLink::Options{.fd = lane.socket.release()});
  }
  if (capture_ != nullptr) link->set_tap(capture_.get());
  const auto plan = plan_of(lane.number);
  if (!plan) return link;
  return std::make_unique<link::FaultLink>(std::move(link), *plan);
}

// Lanes must not throw the same dice.
std::optional<link::FaultPlan> LaneSet::plan_of(std::uint8_t lane) const {
  auto plan = faults_;
  if (plan) plan->seed += std::uint64_t{lane} << 32;
  return plan;
}

Expected<void, control::Error> LaneSet::open(const std::shared_ptr<control::Client>& daemon,
                                             const std::vector<device::GidEntry>& addresses) {
  read_settings();
  make_share();
  daemon_->set(daemon);
  for (unsigned i = 0; i < settings().lanes; ++i) {
    auto taken = daemon->take_lane();
    if (!taken) {
      if (!lanes_.empty()) break;  // fewer than asked for are slower, not wrong
      return Unexpected{taken.error()};
    }
    const std::uint8_t number = taken->number;
    const int error = start(*taken, addresses);
    if (error == 0) continue;
    static_cast<void>(daemon->give_back_lane(number));
    if (!lanes_.empty()) break;
    return Unexpected{control::make_error(refuse(error, ReasonId::out_of_threads, error))};
  }
  introduce();
  show_share(*daemon);
  return {};
}

void LaneSet::introduce() {
  for (Entry& entry : lanes_) {
    std::vector<Lane*> siblings;
    for (Entry& other : lanes_)
      if (&other != &entry) siblings.push_back(other.lane.get());
    entry.lane->set_siblings(std::move(siblings));
  }
}

// Faults and captures are about packets.
void LaneSet::make_share() {
  share_.reset();
  if (!settings().wire_only && !faults_ && capture_ == nullptr)
    share_ = samehost::DirectShare::make(settings().lanes, settings().share);
}

void LaneSet::show_share(control::Client& daemon) {
  if (share_ == nullptr) return;
  auto request = control::make_message<control::ShareMemory>();
  request.pid = getpid();
  request.memory = name_of(share_->fd());
  request.inbox = name_of(share_->inbox_fd());
  for (const Entry& entry : lanes_)
    request.doorbells[request.count++] = {.lane = entry.lane->number(),
                                          .doorbell = name_of(entry.lane->doorbell_fd())};
  const auto locks = daemon.share_memory(request);
  if (locks && *locks) return share_->begin(samehost::DirectLocks(*locks));
  explain({.reason = locks ? because(ReasonId::nothing_shared) : locks.error().failure.reason});
}

void LaneSet::quiesce() {
  for (Entry& entry : lanes_) entry.lane->quiesce();
  if (share_ != nullptr) share_->wait_for_accessors();
}

void LaneSet::forget() {
  if (share_ != nullptr) share_->forget();
  handover_->abandon();
}

int LaneSet::start(control::LaneGrant& taken, const std::vector<device::GidEntry>& addresses) {
  Entry entry;
  UniqueFd copy(fcntl(taken.socket.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  entry.lane = std::make_unique<Lane>(
      taken.number, taken.first_index, make_link(taken), page_, share_.get(),
      share_ != nullptr ? samehost::make_doorbell() : UniqueFd(),
      [current = daemon_](std::uint8_t lane) { return samehost::resolve_peer(*current->get(), lane); });
  if (!entry.lane->valid()) return errno;
  entry.lane->set_addresses(addresses);
  entry.lane->set_stream_options(
      {.ends = &stream_ends_, .tap = capture_.get(), .faults = plan_of(taken.number)});
  entry.thread = std::make_unique<EngineThread>(*entry.lane);
  if (const int error = entry.thread->error()) return error;
  entry.peer_resolver = std::make_unique<PeerResolver>(*entry.lane);
  if (const int error = entry.peer_resolver->error()) return error;
  handover_->add(taken.number, std::move(copy));
  lanes_.push_back(std::move(entry));
  return 0;
}

bool LaneSet::close(control::Client* daemon) {
  for (const Entry& entry : lanes_) {
    if (entry.lane->queue_pairs() != 0) return false;
  }
  for (Entry& entry : lanes_) {
    const std::uint8_t number = entry.lane->number();
    entry.peer_resolver.reset();
    entry.thread.reset();
    entry.lane.reset();
    if (daemon != nullptr) static_cast<void>(daemon->give_back_lane(number));
  }
  lanes_.clear();
  handover_ = std::make_shared<LaneHandover>();
  share_.reset();
  capture_.reset();
  return true;
}

bool LaneSet::return_to(const std::shared_ptr<control::Client>& daemon) {
  if (!handover_->reclaim(*daemon)) return false;
  daemon_->set(daemon);
  return true;
}

void LaneSet::set_addresses(const std::vector<device::GidEntry>& addresses) {
  for (Entry& entry : lanes_) entry.lane->set_addresses(addresses);
}

}  // namespace softrnic::engine
