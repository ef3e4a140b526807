#include "cli/fabric_cable.h"

#include <fcntl.h>

#include <cstdint>
#include <cstring>

#include "cli/copy_options.h"
#include "cli/output.h"
#include "control/fabric_commands.h"
#include "copy/token.h"

namespace softrnic::cli {
namespace {

/// The token of the file, of the usual file, or a new one for who listens, which is told.
copy::Result<std::string> token_for(const FabricCableOptions& options) {
  auto token = find_token(options.token_file);
  if (token || !options.token_file.empty() || !options.join.empty()) return token;
  auto fresh = copy::fresh_token();
  if (fresh) print_line("token: {}", *fresh);
  return fresh;
}

}  // namespace

Expected<FabricCable, int> prepare_cable(const FabricCableOptions& options) {
  FabricCable cable;
  const bool joins = !options.join.empty();
  const std::string& text = joins ? options.join : options.listen;
  if (text.empty()) return cable;
  std::string host;
  std::uint16_t port = control::kFabricPort;
  if (!split_host(text, host, port)) {
    complain(fmt::format("{} is no ADDRESS or ADDRESS:PORT", text));
    return Unexpected{int{kUsage}};
  }
  const auto token = token_for(options);
  if (!token) return Unexpected{report(token.error())};
  auto descriptor = control::text_descriptor(*token);
  if (!descriptor) {
    complain(std::strerror(descriptor.error()));
    return Unexpected{int{kFailed}};
  }
  cable.token = std::move(*descriptor);
  fcntl(cable.token.get(), F_SETFD, 0);
  cable.words = {joins ? "--join" : "--listen", host,         "--port",
                 std::to_string(port),          "--token-fd", std::to_string(cable.token.get())};
  return cable;
}

}  // namespace softrnic::cli
