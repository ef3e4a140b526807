// A stream rsocket: rdma_cm connects it, RDMA WRITEs with immediate data carry it (see messages.h).
#pragma once

#include <sys/uio.h>

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "rsocket/endpoint.h"
#include "rsocket/mapped_regions.h"
#include "rsocket/receive_ring.h"
#include "rsocket/send_window.h"
#include "rsocket/socket.h"
#include "rsocket/socket_options.h"

namespace softrnic::rsocket {

class StreamSocket final : public Socket {
 public:
  static Result<std::shared_ptr<StreamSocket>> make(int family, int flags);
  ~StreamSocket() override;

  /// Of the event channel.
  int fd() const override { return channel_->fd; }
  int type() const override { return SOCK_STREAM; }

  Result<void> bind(const sockaddr* address, socklen_t length) override;
  Result<void> listen(int backlog) override;
  Result<SocketPtr> accept() override;
  Result<void> connect(const sockaddr* address, socklen_t length) override;
  Result<void> shutdown(int how) override;
  void close() override;
  Result<void> local_name(sockaddr* address, socklen_t* length) override;
  Result<void> peer_name(sockaddr* address, socklen_t* length) override;

  Result<std::size_t> receive(msghdr& message, int flags) override;
  Result<std::size_t> send(const msghdr& message, int flags) override;

  Result<off_t> map(void* address, std::size_t length, int protection, off_t offset) override;
  Result<void> unmap(void* address, std::size_t length) override;
  Result<std::size_t> write_mapped(Bytes from, off_t offset, int flags) override;

  Result<void> set_option(int level, int name, const void* value, socklen_t length) override;
  Result<void> get_option(int level, int name, void* value, socklen_t* length) override;
  Result<int> control(int command, long argument) override;

  short ready(short events) override;
  short prepare(short events, std::vector<pollfd>& descriptors, Waker& waker) override;
  void after_sleep(Waker& waker) override;

 private:
  enum class Stage : std::uint8_t {
    fresh,
    bound,
    listening,
    resolving_address,
    resolving_route,
    connecting,
    accepting,
    connected,
    disconnected,
    failed
  };
  using Test = bool (StreamSocket::*)() const;
  StreamSocket(ChannelPtr channel, IdPtr id, const Sizes& sizes);

  bool opening() const { return stage_ >= Stage::resolving_address && stage_ <= Stage::accepting; }
  bool not_opening() const { return !opening(); }
  bool connected() const { return stage_ == Stage::connected; }
  bool can_send() const;
  bool can_send_or_never() const { return can_send() || !connected() || !writable_; }
  bool can_receive_or_never() const { return (ring_ && !ring_->empty()) || !connected() || !readable_; }
  bool can_control() const { return controls_ < kControlMessages; }
  bool can_control_or_never() const { return can_control() || !connected(); }
  bool all_sent_or_never() const { return (sends_ == 0 && controls_ == 0) || !connected(); }
  bool nonblocking(int flags) const { return options_.nonblocking() || (flags & MSG_DONTWAIT) != 0; }

  void fail_with(int error);
  void take_requests();
  Result<std::shared_ptr<StreamSocket>> take_request(EventPtr event);
  /// `early`: rpoll has accepted it.
  static Result<SocketPtr> give(Result<std::shared_ptr<StreamSocket>> accepted, bool early);
  Result<void> change_channel();
  short listener_events(short events);
  void take_cm_events();
  void take_cm_event(const rdma_cm_event& event);
  Result<void> resolve_address();
  Result<void> resolve_route();
  Result<void> start_connect();
  void finish_connect(const rdma_conn_param& parameters);
  Result<void> make_endpoint();
  void meet(const Offer& peer);
  Result<void> answer(const rdma_conn_param& request);

  void progress() override;
  void look_closer() override;
  bool polls() const override { return ring_.has_value(); }
  bool arm() override;
  void add_descriptors(std::vector<pollfd>& descriptors) const override;
  bool take_completions();
  void take_message(const ibv_wc& completion);
  void take_sent(const ibv_wc& completion);
  void update_peer();
  void refill_window();
  short state_events(short events) const;
  Result<void> wait(Lock& lock, bool nonblock, Test test) {
    return Socket::wait(lock, nonblock, [&] { return (this->*test)(); });
  }
  Result<std::size_t> receive(std::span<const iovec> to, int flags);
  Result<void> wait_connected(Lock& lock, bool nonblock);
  Result<void> send_control(Lock& lock, Work work, Control control);
  Result<void> tell_mappings(Lock& lock, bool nonblock);
  Result<std::size_t> send_all(Lock& lock, std::span<const iovec> from, bool nonblock);
  SocketOptions::Stage option_stage() const;

  ChannelPtr channel_;
  IdPtr id_;
  Endpoint endpoint_;
  MappedRegions mapped_;
  SocketOptions options_;

  Stage stage_ = Stage::fresh;
  bool readable_ = false;
  bool writable_ = false;
  bool closed_ = false;
  int error_ = 0;  ///< for SO_ERROR
  int retries_ = 0;
  sockaddr_storage destination_{};

  /// Of a listener: what the next accept() gives. Only what is here makes it readable: a request may be over
  /// before it is answered.
  std::optional<Result<std::shared_ptr<StreamSocket>>> accepted_;
  std::optional<ReceiveRing> ring_;
  SendWindow window_;
  SendRing send_ring_;
  std::uint32_t sends_ = 0;     ///< under way
  std::uint32_t controls_ = 0;  ///< under way
};

}  // namespace softrnic::rsocket
