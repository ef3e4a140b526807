// The connection manager as the daemon's clients reach it: their messages (control/cm_messages.h) become
// calls, its events go to their channels. What a client made ends with its connection.
#pragma once

#include <cerrno>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"
#include "base/unique_fd.h"
#include "cma/host.h"
#include "cma/types.h"
#include "control/cm_messages.h"
#include "daemon/answer.h"
#include "daemon/connection.h"
#include "daemon/dispatch.h"
#include "daemon/tcp_streams.h"
#include "daemon/user_limits.h"
#include "device/device_info.h"

namespace softrnic::cma {
class Manager;
}

namespace softrnic::daemon {

class CmService final : private cma::Host {
 public:
  /// `limits`: of each user, where all users of the host are served.
  explicit CmService(std::optional<UserLimits> limits = {});
  ~CmService();
  CmService(const CmService&) = delete;
  CmService& operator=(const CmService&) = delete;

  /// Provided by the server: QP1, and the host's routes. See cma::Host.
  std::function<void(const mad::Address&, Bytes)> send_mad = [](const mad::Address&, Bytes) {};
  std::function<void(cma::IdNumber, const cma::RouteQuery&)> find_route = [](cma::IdNumber,
                                                                             const cma::RouteQuery&) {};
  std::function<void(cma::IdNumber)> forget_route = [](cma::IdNumber) {};
  /// By whom InfiniBand's subnet administrator is asked. Without them there is none.
  std::function<void(cma::IdNumber, const cma::PathQuery&)> ask_for_path = [this](auto id, const auto&) {
    path_found(id, Unexpected{no_subnet_administrator()});
  };
  std::function<void(cma::IdNumber)> forget_path = [](cma::IdNumber) {};
  std::function<void(cma::MembershipNumber, const cma::GroupQuery&)> ask_for_group = [this](auto membership,
                                                                                            const auto&) {
    group_joined(membership, Unexpected{no_subnet_administrator()});
  };
  std::function<void(cma::MembershipNumber)> forget_group = [](cma::MembershipNumber) {};
  /// See cma::Host::has_address().
  std::function<bool(const wire::Gid& port, const wire::Gid& address)> is_port_of =
      [](const wire::Gid&, const wire::Gid&) { return false; };

  /// Nothing when the message is not one of the connection manager's.
  std::optional<Answer> handle(Connection& from, Bytes datagram, UniqueFd& fd);
  /// The client has gone: its ids end, peers are told.
  void release(Connection& gone);

  void devices_changed(std::vector<device::DeviceInfo> devices);
  void route_found(cma::IdNumber id, const cma::RouteAnswer& answer);
  void path_found(cma::IdNumber id, const cma::PathAnswer& answer);
  void group_joined(cma::MembershipNumber membership, const cma::GroupAnswer& answer);
  void receive(const mad::Address& from, Bytes mad);
  /// Readable when streams_ready() has something to do; -1: never.
  int streams_fd() const { return tcp_.readable_fd(); }
  void streams_ready();
  void advance();
  TimePoint deadline() const;
  /// No id is there that could be bound to a device.
  bool idle() const;

 private:
  static const DispatchRow<CmService> kRows[];
  static Failure no_subnet_administrator();
  struct Channel {
    UniqueFd eventfd;
    const Connection* owner = nullptr;
  };

  Answer open_channel(Connection& from, const control::CmOpenChannel& message, UniqueFd fd);
  Answer close_channel(Connection& from, const control::CmCloseChannel& message, UniqueFd fd);
  Answer create_id(Connection& from, const control::CmCreateId& message, UniqueFd fd);
  Answer destroy_id(Connection& from, const control::CmDestroyId& message, UniqueFd fd);
  Answer query_id(Connection& from, const control::CmQueryId& message, UniqueFd fd);
  Answer bind(Connection& from, const control::CmBind& message, UniqueFd fd);
  Answer resolve_address(Connection& from, const control::CmResolveAddress& message, UniqueFd fd);
  Answer resolve_route(Connection& from, const control::CmResolveRoute& message, UniqueFd fd);
  Answer connect(Connection& from, const control::CmConnect& message, UniqueFd fd);
  Answer listen(Connection& from, const control::CmListen& message, UniqueFd fd);
  Answer accept(Connection& from, const control::CmAccept& message, UniqueFd fd);
  Answer reject(Connection& from, const control::CmReject& message, UniqueFd fd);
  Answer disconnect(Connection& from, const control::CmDisconnect& message, UniqueFd fd);
  Answer init_qp_attributes(Connection& from, const control::CmInitQpAttributes& message, UniqueFd fd);
  Answer notify(Connection& from, const control::CmNotify& message, UniqueFd fd);
  Answer has_stream(Connection& from, const control::CmHasStream& message, UniqueFd fd);
  Answer set_option(Connection& from, const control::CmSetOption& message, UniqueFd fd);
  Answer join_multicast(Connection& from, const control::CmJoinMulticast& message, UniqueFd fd);
  Answer leave_multicast(Connection& from, const control::CmLeaveMulticast& message, UniqueFd fd);
  Answer migrate_id(Connection& from, const control::CmMigrateId& message, UniqueFd fd);
  Answer get_event(Connection& from, const control::CmGetEvent& message, UniqueFd fd);
  Answer write_event(Connection& from, const control::CmWriteEvent& message, UniqueFd fd);
  Answer streams_ended(Connection& from, const control::CmStreamsEnded& message, UniqueFd fd);
  Answer next_id(Connection& from, const control::CmNextId& message, UniqueFd fd);

  // cma::Host
  TimePoint now() override;
  std::uint32_t random_number() override;
  void send(const mad::Address& to, Bytes mad) override { send_mad(to, mad); }
  void resolve(cma::IdNumber id, const cma::RouteQuery& query) override { find_route(id, query); }
  void cancel_resolve(cma::IdNumber id) override { forget_route(id); }
  void find_path(cma::IdNumber id, const cma::PathQuery& query) override { ask_for_path(id, query); }
  void cancel_path(cma::IdNumber id) override { forget_path(id); }
  void join_group(cma::MembershipNumber membership, const cma::GroupQuery& query) override {
    ask_for_group(membership, query);
  }
  void leave_group(cma::MembershipNumber membership) override { forget_group(membership); }
  bool has_address(const wire::Gid& port, const wire::Gid& address) const override {
    return is_port_of(port, address);
  }
  void event_queued(cma::ChannelNumber channel) override;
  void explain(const Reason& reason, const mad::Address& peer) override;

  /// Made when it is first needed: it takes its name from a device.
  cma::Manager& manager();
  std::size_t channels_of(uid_t user) const;
  std::size_t ids_of(uid_t user);
  /// EACCES: among several users the ports below 1024 are root's, as for TCP.
  Expected<void, Failure> check_port(const Connection& from, std::uint16_t port) const;
  bool owns_channel(const Connection& from, cma::ChannelNumber channel) const;
  bool owns(const Connection& from, cma::IdNumber id);
  bool may_list(const Connection& from, cma::IdNumber id);
  /// `call` when the id is the client's, else ENOENT.
  template <typename Message, typename Call>
  Answer about(const Connection& from, const Message& message, Call call);
  /// The stream of `id` goes along with `reply`.
  template <typename Reply>
  Answer with_stream(Reply& reply, cma::IdNumber id);
  Answer id_reply(std::uint32_t serial, cma::IdNumber id);

  const std::optional<UserLimits> limits_;
  TcpStreams tcp_;
  std::unique_ptr<cma::Manager> manager_;
  std::vector<device::DeviceInfo> devices_;
  std::unordered_map<cma::ChannelNumber, Channel> channels_;
  std::unordered_map<const Connection*, std::set<cma::ChannelNumber>> by_owner_;
};

}  // namespace softrnic::daemon
