// How the command speaks: plain text for people and pipes, JSON for programs, trouble on stderr.
#pragma once

#include <fmt/core.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/printable.h"
#include "control/client.h"
#include "text/json.h"

namespace softrnic::cli {

/// `text`, printable, with emphasis on a terminal unless NO_COLOR is set.
std::string strong(std::string_view text);

/// One line to stdout. Text of others - peers, processes, files - has to go through printable() or strong().
template <typename... Args>
void print_line(fmt::format_string<Args...> format, Args&&... args) {
  fmt::print("{}\n", fmt::format(format, std::forward<Args>(args)...));
}
void print_json(const Json& json);

/// "softrnic: …" to stderr, printable, whoever said it.
void complain(std::string_view text);

/// A connection to the daemon, which is started when `spawn`. Nothing and a complaint when it fails; nothing
/// without a complaint when none runs and `spawn` is false.
std::unique_ptr<control::Client> connect_daemon(bool spawn, bool& failed);

/// Prints the failure. Always kFailed.
int report(const control::Error& error);

/// "0a1b:2c3d:4e5f:6071", the form of iproute2's rdma and of sysfs.
std::string guid_text(std::uint64_t guid);

}  // namespace softrnic::cli
