#include "cli/commands.h"
#include "cli/copy_options.h"
#include "cli/output.h"
#include "cli/stop_signal.h"
#include "copy/ping.h"

namespace softrnic::cli {
namespace {

struct PingOptions {
  std::string host, token_file;
  std::uint64_t count = 0;
  double interval = 1;
  std::size_t size = 56;
  std::uint16_t port = copy::kDefaultPort;
  bool flood = false, spin = false, quiet = false;
};

double microseconds(copy::Nanoseconds time) { return static_cast<double>(time.count()) / 1e3; }

std::vector<copy::Nanoseconds> column(const copy::PingReport& report,
                                      copy::Nanoseconds copy::PingSample::*which) {
  std::vector<copy::Nanoseconds> out;
  for (const copy::PingSample& sample : report.samples) out.push_back(sample.*which);
  return out;
}

constexpr std::pair<const char*, copy::Nanoseconds copy::Spread::*> kColumns[] = {
    {"min", &copy::Spread::min},   {"avg", &copy::Spread::average}, {"max", &copy::Spread::max},
    {"p50", &copy::Spread::p50},   {"p90", &copy::Spread::p90},     {"p99", &copy::Spread::p99},
    {"p99.9", &copy::Spread::p999}};

constexpr std::pair<const char*, copy::Nanoseconds copy::PingSample::*> kRows[] = {
    {"send/recv", &copy::PingSample::message}, {"read", &copy::PingSample::read}};

void print_report(const PingOptions& options, const copy::PingReport& report) {
  print_line("--- {} ---", printable(options.host));
  print_line("{} exchanges begun, {} answered", report.sent, report.samples.size());
  std::string head = fmt::format("{:<12}", "us");
  for (const auto& [name, member] : kColumns) head += fmt::format("{:>10}", name);
  print_line("{}", head);
  for (const auto& [name, which] : kRows) {
    const copy::Spread spread = copy::spread_of(column(report, which));
    std::string line = fmt::format("{:<12}", name);
    for (const auto& [unused, member] : kColumns)
      line += fmt::format("{:>10.1f}", microseconds(spread.*member));
    print_line("{}", line);
  }
}

Json report_json(const copy::PingReport& report) {
  Json out{{"peer", report.peer}, {"sent", report.sent}, {"answered", report.samples.size()}};
  for (const auto& [name, which] : kRows) {
    if (report.samples.empty()) continue;
    const copy::Spread spread = copy::spread_of(column(report, which));
    for (const auto& [column_name, member] : kColumns) out[name][column_name] = microseconds(spread.*member);
  }
  return out;
}

int run(bool json, const PingOptions& options) {
  copy::PingOptions wanted;
  wanted.port = options.port;
  if (!split_host(options.host, wanted.host, wanted.port)) {
    complain("'" + options.host + "' is no host, host:port or [address]:port");
    return kUsage;
  }
  const auto token = find_token(options.token_file);
  if (!token) return report(token.error());
  wanted.token = *token;
  wanted.count = options.count;
  wanted.interval =
      std::chrono::nanoseconds(options.flood ? 0 : static_cast<std::int64_t>(options.interval * 1e9));
  wanted.size = options.size;
  wanted.spin = options.spin;
  wanted.stop_fd = catch_stop_signals();
  const bool tell = !json && !options.quiet && !options.flood;
  const auto result = copy::ping(wanted, [&](const copy::PingSample& sample) {
    if (!tell) return;
    print_line("seq={} send/recv={:.1f} us read={:.1f} us", sample.serial, microseconds(sample.message),
               microseconds(sample.read));
    std::fflush(stdout);
  });
  if (!result) return report(result.error());
  if (json)
    print_json(report_json(*result));
  else if (!result->samples.empty())
    print_report(options, *result);
  return result->samples.empty() ? kFailed : kDone;
}

}  // namespace

void add_ping(const grammar::Command& softrnic, Context& context) {
  auto options = std::make_shared<PingOptions>();
  const grammar::Command command =
      softrnic.command("ping", "Round trips to a host that runs `softrnic serve`: SEND and READ");
  command.option("host", options->host, "HOST, HOST:PORT or [ADDRESS]:PORT").required();
  command.option("-c,--count", options->count, "exchanges; without it until Ctrl-C");
  command.option("-i,--interval", options->interval, "seconds between them (1)").within(0.0, 3600.0);
  command.option("-s,--size", options->size, "bytes of payload (56)").within(std::size_t{1}, copy::kMaxPing);
  command.option("-p,--port", options->port, "port of the server (18873)");
  command.option("--token-file", options->token_file, "file with the server's token in its first line");
  command.flag("-f,--flood", options->flood, "no pause between exchanges, no line for each");
  command.flag("--spin", options->spin, "look for the answer all the time: faster, and a core of its own");
  command.flag("-q,--quiet", options->quiet, "the summary alone");
  command.footer(
      "Examples:\n"
      "  softrnic ping -c 5 192.0.2.7\n"
      "  softrnic ping --flood --spin -c 10000 --json 192.0.2.7");
  command.finally(
      [&context, options] { context.chosen = [&context, options] { return run(context.json, *options); }; });
}

}  // namespace softrnic::cli
