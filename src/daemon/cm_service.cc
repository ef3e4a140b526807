#include "daemon/cm_service.h"

#include <poll.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <string>
#include <string_view>

#include "base/reason_id.h"
#include "cma/manager.h"

namespace softrnic::daemon {
namespace {

bool is_eventfd(int fd) {
  std::array<char, 64> target{};
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t length = readlink(path.c_str(), target.data(), target.size());
  return length > 0 &&
         std::string_view(target.data(), static_cast<std::size_t>(length)) == "anon_inode:[eventfd]";
}

/// Half of the descriptors that this process may have, or fewer; the rest is for lanes, channels and clients.
/// Among several users none has more than a quarter of that.
iwcm::Limits stream_limits(bool of_all_users) {
  constexpr std::size_t kOfOneSide = 16384;
  iwcm::Limits limits;
  rlimit files{};
  const bool known = getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur != RLIM_INFINITY;
  limits.active = limits.passive = known ? std::min<std::size_t>(files.rlim_cur / 4, kOfOneSide) : kOfOneSide;
  limits.of_user = (limits.active + limits.passive) / (of_all_users ? 4 : 1);
  return limits;
}

}  // namespace

CmService::CmService(std::optional<UserLimits> limits) : limits_(limits) {}
CmService::~CmService() = default;

cma::Manager& CmService::manager() {
  if (!manager_) {
    std::uint64_t guid = devices_.empty() ? 0 : devices_.front().guid;
    while (guid == 0) guid = (std::uint64_t{random_number()} << 32) | random_number();
    cma::Host& host = *this;
    manager_ = std::make_unique<cma::Manager>(host, tcp_, guid, stream_limits(limits_.has_value()));
    manager_->devices_changed(devices_);
  }
  return *manager_;
}

void CmService::devices_changed(std::vector<device::DeviceInfo> devices) {
  devices_ = std::move(devices);
  if (manager_) manager_->devices_changed(devices_);
}

void CmService::route_found(cma::IdNumber id, const cma::RouteAnswer& answer) {
  manager().resolved(id, answer);
}
void CmService::path_found(cma::IdNumber id, const cma::PathAnswer& answer) {
  manager().path_found(id, answer);
}
void CmService::group_joined(cma::MembershipNumber membership, const cma::GroupAnswer& answer) {
  manager().group_joined(membership, answer);
}
void CmService::receive(const mad::Address& from, Bytes mad) { manager().receive(from, mad); }
void CmService::streams_ready() { tcp_.progress(manager().streams(), now()); }

TimePoint CmService::deadline() const {
  return std::min(tcp_.deadline(), manager_ ? manager_->deadline() : kNever);
}
bool CmService::idle() const { return !manager_ || manager_->ids() == 0; }

void CmService::advance() {
  tcp_.advance(now());
  manager().advance();
}

TimePoint CmService::now() {
  return TimePoint(std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch()));
}

std::uint32_t CmService::random_number() {
  std::uint32_t number = 0;
  // 4 bytes are never cut short, and the pool is there long before a daemon of a user
  return getrandom(&number, sizeof number, 0) == sizeof number ? number : 0;
}

void CmService::event_queued(cma::ChannelNumber number) {
  const auto channel = channels_.find(number);
  if (channel == channels_.end()) return;
  // The client shares the counter and may have filled it; a full one blocks its writer, and
  // wakes the client anyway.
  pollfd ready{channel->second.eventfd.get(), POLLOUT, 0};
  if (poll(&ready, 1, 0) != 1 || (ready.revents & POLLOUT) == 0) return;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(channel->second.eventfd.get(), &one, sizeof one);
}

void CmService::explain(const Reason& reason, const mad::Address& peer) {
  Explanation explanation;
  explanation.qpn = mad::kGsiQpn.value;
  explanation.peer_qpn = peer.remote_qpn.value;
  explanation.reason = reason;
  softrnic::explain(explanation);
}

bool CmService::owns_channel(const Connection& from, cma::ChannelNumber number) const {
  const auto channel = channels_.find(number);
  return channel != channels_.end() && channel->second.owner == &from;
}

bool CmService::owns(const Connection& from, cma::IdNumber id) {
  return owns_channel(from, manager().channel_of(id));
}

std::size_t CmService::channels_of(uid_t user) const {
  std::size_t count = 0;
  for (const auto& [owner, channels] : by_owner_)
    if (owner->credentials.user() == user) count += channels.size();
  return count;
}

std::size_t CmService::ids_of(uid_t user) {
  std::size_t count = 0;
  for (const auto& [owner, channels] : by_owner_)
    for (const cma::ChannelNumber channel : channels)
      if (owner->credentials.user() == user) count += manager().ids_of(channel);
  return count;
}

Expected<void, Failure> CmService::check_port(const Connection& from, std::uint16_t port) const {
  constexpr std::uint16_t kFirstFreePort = 1024;
  if (!limits_ || port == 0 || port >= kFirstFreePort || from.credentials.user() == 0) return {};
  return Unexpected{refuse(EACCES, ReasonId::cma_low_port, port, kFirstFreePort)};
}

Answer CmService::open_channel(Connection& from, const control::CmOpenChannel& message, UniqueFd fd) {
  if (!fd || !is_eventfd(fd.get())) return refused(message, refuse(EINVAL, ReasonId::cma_channel_fd));
  const uid_t user = from.credentials.user();
  if (limits_)
    if (auto may = check_limit(user, channels_of(user), limits_->channels, UserQuota::channels); !may)
      return refused(message, may.error());
  auto reply = control::make_message<control::CmChannelReply>(message.header.serial);
  reply.channel = manager().open_channel();
  channels_.emplace(reply.channel, Channel{std::move(fd), &from});
  by_owner_[&from].insert(reply.channel);
  return answer_with(reply);
}

Answer CmService::close_channel(Connection& from, const control::CmCloseChannel& message, UniqueFd) {
  if (!owns_channel(from, message.channel))
    return refused(message, refuse(EINVAL, ReasonId::cma_no_such_channel, message.channel));
  const auto closed = manager().close_channel(message.channel);
  if (closed) {
    channels_.erase(message.channel);
    by_owner_[&from].erase(message.channel);
  }
  return done_or_refused(message, closed);
}

void CmService::release(Connection& gone) {
  const auto channels = by_owner_.find(&gone);
  if (channels == by_owner_.end()) return;
  manager().abandon(channels->second);
  for (const cma::ChannelNumber channel : channels->second) channels_.erase(channel);
  by_owner_.erase(channels);
}

Failure CmService::no_subnet_administrator() {
  return refuse(ENETUNREACH, ReasonId::cma_no_subnet_administrator);
}

}  // namespace softrnic::daemon
