#include <mutex>

#include "cli/commands.h"
#include "cli/copy_options.h"
#include "cli/output.h"
#include "cli/stop_signal.h"
#include "copy/server.h"
#include "copy/token.h"

namespace softrnic::cli {
namespace {

struct ServeOptions {
  copy::ServerOptions server;
  std::string token_file;
  double greeting_time = 10;
  bool quiet = false;
};

/// The token of the file, of the usual file, or a new one, which is told.
copy::Result<std::string> token_for(const ServeOptions& options) {
  auto token = find_token(options.token_file);
  if (token || !options.token_file.empty()) return token;
  auto fresh = copy::fresh_token();
  if (fresh) print_line("token: {}", *fresh);
  return fresh;
}

int run(ServeOptions options) {
  const auto token = token_for(options);
  if (!token) return report(token.error());
  options.server.token = *token;
  options.server.greeting_time =
      std::chrono::milliseconds(static_cast<std::int64_t>(options.greeting_time * 1e3));
  options.server.stop_fd = catch_stop_signals();
  auto lock = std::make_shared<std::mutex>();
  options.server.log = [quiet = options.quiet, lock](const std::string& line) {
    const std::lock_guard guard(*lock);
    if (!quiet) fmt::print(stderr, "{}\n", printable(line));
  };
  const auto server = copy::Server::open(options.server);
  if (!server) return report(server.error());
  print_line("listening on port {}; what is copied is not encrypted", (*server)->port());
  std::fflush(stdout);
  const auto ran = (*server)->run();
  return ran ? kDone : report(ran.error());
}

}  // namespace

void add_serve(const grammar::Command& softrnic, Context& context) {
  auto options = std::make_shared<ServeOptions>();
  const grammar::Command command =
      softrnic.command("serve", "Let other hosts copy files to and from a directory, and ping");
  command.option("root,--root", options->server.root,
                 "the directory that clients see; without it pings alone");
  const grammar::Option read_only =
      command.flag("--read-only", options->server.read_only, "clients may not write");
  command.flag("--write-only", options->server.write_only, "clients may not read").excludes(read_only);
  command.option("-a,--address", options->server.address, "listen on this address alone");
  command.option("-p,--port", options->server.port, "port of rdma_cm (18873); 0: any, which is told");
  command.option("--token-file", options->token_file,
                 "file with the token in its first line; without it one is made and told");
  command.flag("--outside-links", options->server.outside_links,
               "take symbolic links that lead out of the directory that they are copied to");
  command.flag("--once", options->server.once, "end after one client, with its outcome as exit code");
  command.option("--max-clients", options->server.max_clients, "clients at a time (16)").within(1, 1000);
  command
      .option("--max-half-open", options->server.max_half_open,
              "connections at a time that have not proved themselves; the oldest makes room (64)")
      .within(1, 1000);
  command
      .option("--client-memory", options->server.client_memory,
              "bytes for the names that one client makes the server hold (128M)")
      .in_bytes();
  command.option("--memory", options->server.memory, "the same for all clients together (512M)").in_bytes();
  command.option("--greeting-time", options->greeting_time, "seconds that a client has to prove itself (10)")
      .within(0.1, 600.0);
  command.flag("-q,--quiet", options->quiet, "no lines about clients");
  command.footer(
      "Examples:\n"
      "  softrnic serve /srv/files                            tells the token that clients need\n"
      "  softrnic serve --root . --write-only --once          takes one upload, for a script\n"
      "  softrnic serve --read-only --token-file secret /srv  the first line of the file is the token\n"
      "Nothing that is copied is encrypted: use a network that you trust.");
  command.finally([&context, options] { context.chosen = [options] { return run(*options); }; });
}

}  // namespace softrnic::cli
