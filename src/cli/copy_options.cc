#include "cli/copy_options.h"

#include <unistd.h>

#include <charconv>

#include "cli/output.h"
#include "copy/token.h"

namespace softrnic::cli {

copy::Result<std::string> find_token(const std::string& path) {
  if (!path.empty()) return copy::read_token(path);
  const std::string usual = copy::default_token_path();
  if (access(usual.c_str(), F_OK) != 0)
    return copy::fail(copy::Trouble::usage,
                      "no token: name its file with --token-file, or put it into " + usual);
  return copy::read_token(usual);
}

bool split_host(const std::string& text, std::string& host, std::uint16_t& port) {
  std::string number;
  if (text.starts_with("[")) {
    const std::size_t end = text.find(']');
    if (end == std::string::npos || (end + 1 < text.size() && text[end + 1] != ':')) return false;
    host = text.substr(1, end - 1);
    number = end + 1 < text.size() ? text.substr(end + 2) : "";
  } else {
    const std::size_t colon = text.find(':');
    const bool is_v6 = colon != std::string::npos && text.find(':', colon + 1) != std::string::npos;
    host = is_v6 ? text : text.substr(0, colon);
    number = is_v6 || colon == std::string::npos ? "" : text.substr(colon + 1);
  }
  if (number.empty()) return !host.empty();
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), port);
  return error == std::errc() && end == number.data() + number.size() && port != 0 && !host.empty();
}

int report(const copy::Error& error) {
  using copy::Trouble;
  complain(error.text);
  switch (error.trouble) {
    case Trouble::usage:
      return kUsage;
    case Trouble::unreachable:
      return kUnreachable;
    case Trouble::refused:
      return kRefused;
    case Trouble::broken:
    case Trouble::protocol:
      return kBroken;
    case Trouble::interrupted:
      return kInterrupted;
    case Trouble::system:
      break;
  }
  return kFailed;
}

}  // namespace softrnic::cli
