// A process's requests to the connection manager in softrnicd: cm_messages.h with types, over a Client.
//
// Where the daemon has died it goes on with the next one, which learns what cm_journal.h says; until
// then requests wait, for kAnswerTimeout at most. All numbers are this object's, and mean the same
// whichever daemon there is.
//
// Thread-safe, and never waits for the network: what takes time ends in an event. Errors are the daemon's,
// with the errno of librdmacm's man pages.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "control/client.h"
#include "control/cm_journal.h"
#include "control/cm_messages.h"

namespace softrnic::control {

/// The TCP connection of an id on an iWARP device. Without a socket, though there is a token: this process
/// has no room for it, and the daemon is to be told that it has ended.
struct CmStream {
  StreamGrant grant;
  UniqueFd socket;
};

class CmClient {
 public:
  explicit CmClient(std::unique_ptr<Client> client) : client_(std::move(client)) {}

  /// Somebody watches the daemon: after its death come_back() or give_up() will be called.
  void set_watched() { watched_.store(true, std::memory_order_relaxed); }
  /// Connects to the daemon that has come after a dead one. False: that failed, and requests do from now on.
  bool come_back();
  /// There is no daemon any more: requests fail.
  void give_up();

  /// The daemon duplicates the fd of `count`, and posts it once for each event. It stays the caller's, until
  /// close_channel().
  Expected<std::uint32_t, Error> open_channel(rnic::EventCount& count);
  Expected<void, Error> close_channel(std::uint32_t channel);
  /// The next event of a channel, for a thread that has taken one from its count; `present` 0: there is none.
  /// `socket`: of the stream that comes with it.
  Expected<CmEventReply, Error> next_event(std::uint32_t channel, UniqueFd* socket = nullptr);
  /// An event of the program's own, behind those that are there. `event`: enum rdma_cm_event_type. Once
  /// written it comes, whichever daemon there is, and also of an id whose connection was lost with its
  /// daemon.
  Expected<void, Error> write_event(CmNumber id, std::uint32_t event, int status, std::uint64_t argument);

  /// `port_space`: enum rdma_port_space; `qp_type`: enum ibv_qp_type. `cookie` comes back in events.
  /// `device`: the only one that the id may use; empty: all.
  Expected<CmIdReply, Error> create_id(std::uint32_t channel, std::uint16_t port_space, std::uint8_t qp_type,
                                       std::uint64_t cookie, const std::string& device = {});
  /// How many events of the id were handed out.
  /// `patient`: see CmDestroyId.
  Expected<CmEventsReply, Error> destroy_id(CmNumber id, bool patient = false);
  Expected<CmIdRecord, Error> query_id(CmNumber id);
  /// How many events of the id were handed out until it moved.
  Expected<std::uint32_t, Error> migrate_id(CmNumber id, std::uint32_t channel);

  Expected<CmIdRecord, Error> bind(CmNumber id, const sockaddr_storage& address);
  /// `source` of family 0: the route decides.
  Expected<void, Error> resolve_address(CmNumber id, const sockaddr_storage& source,
                                        const sockaddr_storage& destination, std::uint32_t timeout_ms);
  Expected<void, Error> resolve_route(CmNumber id, std::uint32_t timeout_ms);
  Expected<void, Error> listen(CmNumber id, std::int32_t backlog);
  Expected<void, Error> connect(CmNumber id, const CmConnectionParameters& parameters, const CmEce& ece);
  /// `cookie` is the id's from now on. On an iWARP device the connection's stream, which the program is to
  /// have before has_stream(); token 0: there is none.
  Expected<CmStream, Error> accept(CmNumber id, std::uint64_t cookie,
                                   const CmConnectionParameters& parameters, const CmEce& ece);
  Expected<void, Error> has_stream(CmNumber id);
  /// `private_data`: at most 255 bytes.
  Expected<void, Error> reject(CmNumber id, std::uint8_t reason, std::span<const std::uint8_t> private_data);
  Expected<void, Error> disconnect(CmNumber id);
  /// See CmStreamsEnded; `tokens`: at most CmStreamsEnded::kMost.
  Expected<void, Error> streams_ended(std::span<const std::uint64_t> tokens);
  /// `state`: enum ibv_qp_state.
  Expected<CmQpAttributesReply, Error> qp_attributes(CmNumber id, std::uint32_t state);
  /// `event`: enum ibv_event_type.
  Expected<void, Error> notify(CmNumber id, std::uint32_t event);
  /// `value`: at most kCmOptionSize bytes.
  Expected<void, Error> set_option(CmNumber id, std::uint32_t level, std::uint32_t option,
                                   std::span<const std::uint8_t> value);
  /// The membership's number. `flags`: enum rdma_cm_mc_join_flags.
  Expected<CmNumber, Error> join_multicast(CmNumber id, const sockaddr_storage& group, std::uint32_t flags,
                                           std::uint64_t cookie);
  /// How many events of the membership were handed out.
  Expected<std::uint32_t, Error> leave_multicast(CmNumber id, CmNumber membership);

 private:
  using Commit = std::function<void(CmJournal&)>;
  template <typename Reply>
  using CommitReply = std::function<void(CmJournal&, Reply&)>;

  /// The request with the daemon's numbers in place of ours, and `commit` with the journal's
  /// lock once it was answered.
  template <typename Reply, typename Request>
  Expected<Reply, Error> ask(const Request& request, const CommitReply<Reply>& commit = {}, int fd = -1,
                             UniqueFd* reply_fd = nullptr);
  template <typename Request>
  Expected<void, Error> done(const Request& request, const Commit& commit = {});
  template <typename Request>
  Expected<std::uint32_t, Error> fetched_after(const Request& request, CmNumber id, const Commit& commit);
  /// Waits for another client than `lost`. False: none comes.
  bool comes_back(const std::shared_ptr<Client>& lost);
  /// A request whose outcome is an event: `failure` (rdma_cm_event_type) tells that it
  /// failed. The id has a peer then.
  template <typename Request>
  Expected<void, Error> start(const Request& request, std::uint32_t failure);
  void await(CmNumber id, std::uint32_t failure);
  std::optional<CmEventReply> own_event(std::uint32_t channel);

  const pid_t owner_ = getpid();
  std::atomic<bool> watched_{false};
  std::mutex mutex_;  ///< held while the journal is told, so that nobody sees half of it
  std::condition_variable settled_;
  std::shared_ptr<Client> client_;
  bool given_up_ = false;
  CmJournal journal_;
};

}  // namespace softrnic::control
