#include "cli/output.h"

#include <unistd.h>

#include <cstdlib>

#include "base/reason_id.h"
#include "cli/commands.h"

namespace softrnic::cli {

std::string strong(std::string_view text) {
  static const bool colour = isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr;
  return colour ? fmt::format("\x1b[1m{}\x1b[0m", printable(text)) : printable(text);
}

void print_json(const Json& json) { fmt::print("{}\n", json.to_lines()); }

void complain(std::string_view text) { fmt::print(stderr, "softrnic: {}\n", printable(text)); }

std::unique_ptr<control::Client> connect_daemon(bool spawn, bool& failed) {
  control::ConnectOptions options;
  options.spawn = spawn;
  auto client = control::Client::connect(options);
  failed = false;
  if (client) return std::move(*client);
  const Reason& reason = client.error().failure.reason;
  const bool nobody =
      !spawn && reason.id == ReasonId::daemon_unreachable && reason.figures[0] == ECONNREFUSED;
  if (!nobody) {
    failed = true;
    complain(client.error().text);
  }
  return nullptr;
}

int report(const control::Error& error) {
  complain(error.text);
  return kFailed;
}

std::string guid_text(std::uint64_t guid) {
  return fmt::format("{:04x}:{:04x}:{:04x}:{:04x}", guid >> 48, guid >> 32 & 0xffff, guid >> 16 & 0xffff,
                     guid & 0xffff);
}

}  // namespace softrnic::cli
