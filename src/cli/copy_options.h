// What cp, serve and ping have in common: tokens, host names, exit codes.
#pragma once

#include <optional>
#include <string>

#include "cli/commands.h"
#include "copy/error.h"

namespace softrnic::cli {

/// The token in `path`, or in the default file when `path` is empty.
copy::Result<std::string> find_token(const std::string& path);

/// "host", "host:port" or "[v6]:port"; the port stays as it is when none is said. False
/// when it is none of them.
bool split_host(const std::string& text, std::string& host, std::uint16_t& port);

/// Exit codes of cp, serve and ping beside those of every command.
enum CopyExitCode : int { kUnreachable = 3, kRefused = 4, kBroken = 5, kInterrupted = 130 };

/// Complains, and gives the exit code.
int report(const copy::Error& error);

}  // namespace softrnic::cli
