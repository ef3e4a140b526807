// From the type of a message to the member function that answers it: a table for each
// class that serves messages.
#pragma once

#include <optional>
#include <span>

#include "base/bytes.h"
#include "base/unique_fd.h"
#include "control/messages.h"
#include "daemon/answer.h"
#include "daemon/connection.h"

namespace softrnic::daemon {

template <typename Server>
struct DispatchRow {
  control::MessageType type;
  std::optional<Answer> (*call)(Server& server, Connection& from, Bytes datagram, UniqueFd& fd);
};

namespace detail {

template <typename Handler>
struct HandlerTraits;
template <typename S, typename M>
struct HandlerTraits<Answer (S::*)(Connection&, const M&, UniqueFd)> {
  using Server = S;
  using Message = M;
};

}  // namespace detail

/// The row of `handler`, an Answer (Server::*)(Connection&, const Message&, UniqueFd).
template <auto handler>
constexpr auto dispatch_row() {
  using Traits = detail::HandlerTraits<decltype(handler)>;
  using Server = typename Traits::Server;
  using Message = typename Traits::Message;
  constexpr auto call = [](Server& server, Connection& from, Bytes datagram,
                           UniqueFd& fd) -> std::optional<Answer> {
    const std::optional<Message> message = control::parse_message<Message>(datagram);
    if (!message) return std::nullopt;
    return (server.*handler)(from, *message, std::move(fd));
  };
  return DispatchRow<Server>{Message::kType, call};
}

/// Nothing: no row takes such a message, or it is malformed. Hello comes first, and only once.
template <typename Server>
std::optional<Answer> dispatch(std::span<const DispatchRow<Server>> rows, Server& server, Connection& from,
                               Bytes datagram, UniqueFd& fd) {
  const auto header = control::peek_header(datagram);
  if (!header || from.greeted == (header->type == control::Hello::kType)) return std::nullopt;
  for (const DispatchRow<Server>& row : rows)
    if (row.type == header->type) return row.call(server, from, datagram, fd);
  return std::nullopt;
}

}  // namespace softrnic::daemon
