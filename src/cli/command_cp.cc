#include <sys/stat.h>
#include <unistd.h>

#include <charconv>

#include "cli/commands.h"
#include "cli/copy_options.h"
#include "cli/copy_progress.h"
#include "cli/output.h"
#include "cli/stop_signal.h"
#include "copy/client.h"

namespace softrnic::cli {
namespace {

struct CpOptions {
  std::vector<std::string> paths, include, exclude;
  std::string token_file, rate, direct = "auto";
  std::uint16_t port = copy::kDefaultPort;
  std::uint32_t queue_pairs = 0;
  std::uint64_t memory = copy::CopyOptions().memory;
  bool archive = false, recursive = false, update = false, resume = false, remove = false, dry_run = false,
       outside_links = false, verify = false, sync = false, quiet = false, progress = false;
};

struct Flag {
  bool CpOptions::*option;
  copy::JobFlag flag;
};
constexpr Flag kFlags[] = {{&CpOptions::recursive, copy::kRecursive}, {&CpOptions::archive, copy::kRecursive},
                           {&CpOptions::archive, copy::kPreserve},    {&CpOptions::update, copy::kUpdate},
                           {&CpOptions::resume, copy::kResume},       {&CpOptions::remove, copy::kDelete},
                           {&CpOptions::dry_run, copy::kDryRun},      {&CpOptions::verify, copy::kVerify},
                           {&CpOptions::sync, copy::kSyncFiles}};

struct DirectChoice {
  const char* word;
  std::uint32_t flags;
};
constexpr DirectChoice kDirectChoices[] = {
    {"auto", 0}, {"always", copy::kDirectAlways}, {"never", copy::kDirectNever}};

/// "host:path" has its colon before any slash; "[v6]:path".
bool split_remote(const std::string& text, std::string& host, std::string& path) {
  const std::size_t bracket = text.starts_with("[") ? text.find(']') : std::string::npos;
  const std::size_t colon = text.find(':', bracket == std::string::npos ? 0 : bracket);
  if (colon == std::string::npos || colon == 0 || text.find('/') < colon) return false;
  host = bracket == std::string::npos ? text.substr(0, colon) : text.substr(1, bracket - 1);
  path = text.substr(colon + 1);
  return !host.empty();
}

/// "800", "10M", "1.5G": bytes a second, powers of 1024.
bool parse_rate(const std::string& text, std::uint64_t& rate) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return false;
  const std::string unit(end, text.data() + text.size());
  const std::size_t power = unit.empty() ? 0 : std::string("KMGT").find(unit[0]) + 1;
  if (unit.size() > 1 || (!unit.empty() && power == 0) || power > 4) return false;
  for (std::size_t i = 0; i < power; ++i) value *= 1024;
  if (value >= 1 && value < 1e18) rate = static_cast<std::uint64_t>(value);
  return value >= 1 && value < 1e18;
}

int usage(const std::string& text) {
  complain(text);
  complain("try --help");
  return kUsage;
}

/// Which side is where. Empty, or what is wrong with it.
std::string split_sides(const CpOptions& options, copy::CopyOptions& wanted) {
  const std::string& last = options.paths.back();
  std::string host, path;
  wanted.upload = split_remote(last, wanted.host, wanted.destination);
  if (!wanted.upload) wanted.destination = last;
  for (std::size_t i = 0; i + 1 < options.paths.size(); ++i) {
    const bool remote = split_remote(options.paths[i], host, path);
    if (remote == wanted.upload)
      return remote ? "both sides are on other hosts: one has to be here"
                    : "no side is on another host (HOST:PATH): cp copies on this one";
    if (remote && i > 0 && host != wanted.host) return "sources are on different hosts";
    if (remote) wanted.host = host;
    wanted.sources.push_back(remote ? path : options.paths[i]);
  }
  return {};
}

/// Patterns in the order in which they stand on the command line.
copy::FilterList filters_of(const grammar::Command& command, const CpOptions& options) {
  copy::FilterList out;
  std::size_t included = 0, excluded = 0;
  for (const std::string& option : command.order()) {
    if (option == "include") out.add({1, options.include[included++]});
    if (option == "exclude") out.add({0, options.exclude[excluded++]});
  }
  return out;
}

std::uint32_t flags_of(const CpOptions& options, const copy::CopyOptions& wanted) {
  std::uint32_t flags = 0;
  for (const Flag& one : kFlags)
    if (options.*one.option) flags |= one.flag;
  for (const DirectChoice& one : kDirectChoices)
    if (options.direct == one.word) flags |= one.flags;
  bool contents = wanted.sources.size() > 1;
  for (const std::string& source : wanted.sources)
    contents = contents || source.empty() || source.ends_with('/') || source == "." ||
               source.ends_with("/.") || source.ends_with("..");
  if (contents || wanted.destination.ends_with('/')) flags |= copy::kIntoDirectory;
  return flags;
}

int run(bool json, const CpOptions& options, const copy::FilterList& filters) {
  copy::CopyOptions wanted;
  wanted.port = options.port;
  wanted.queue_pairs = options.queue_pairs;
  wanted.outside_links = options.outside_links;
  wanted.memory = options.memory;
  if (options.paths.size() < 2) return usage("say what to copy and where to: softrnic cp SRC... DST");
  if (const std::string wrong = split_sides(options, wanted); !wrong.empty()) return usage(wrong);
  wanted.job.flags = flags_of(options, wanted);
  if (!options.rate.empty() && !parse_rate(options.rate, wanted.job.bytes_per_second))
    return usage("'" + options.rate + "' is no rate: bytes a second, with K, M or G");
  const bool stream = wanted.upload ? wanted.sources.front() == "-" : wanted.destination == "-";
  if (stream && (wanted.sources.size() != 1 || (wanted.job.flags & (copy::kRecursive | copy::kResume)) != 0))
    return usage("- stands for one file, without -r, -a and --resume");
  if (stream) wanted.job.flags |= copy::kStream;
  const bool bar = !json && !options.quiet && (options.progress || isatty(STDERR_FILENO) == 1) &&
                   !(stream && !wanted.upload && isatty(STDOUT_FILENO) == 1);
  if (bar && !stream) wanted.job.flags |= copy::kTotals;
  const auto token = find_token(options.token_file);
  if (!token) return report(token.error());
  wanted.token = *token;
  wanted.filters = filters;
  wanted.stop_fd = catch_stop_signals();
  CopyProgress progress(json            ? CopyProgress::Style::json
                        : bar           ? CopyProgress::Style::bar
                        : options.quiet ? CopyProgress::Style::quiet
                                        : CopyProgress::Style::plain);
  const auto done = copy::copy_files(wanted, progress);
  if (!done) return report(done.error());
  progress.finish(*done);
  return done->failures == 0 ? kDone : kFailed;
}

void add_choices(const grammar::Command& command, CpOptions& options) {
  command.flag("-r,--recursive", options.recursive, "directories with all that is in them");
  command.flag("-a,--archive", options.archive,
               "-r, and keep modes, times, symbolic links; owners when root");
  command.flag("--outside-links", options.outside_links,
               "with -a from a server: take symbolic links that lead out of the destination");
  command.flag("-u,--update", options.update, "leave out what is as new at the destination");
  command.flag("--resume", options.resume,
               "go on where an earlier copy ended; keep the part when this one does");
  command.flag("--delete", options.remove, "delete what the directories of the source do not have");
  command.flag("-n,--dry-run", options.dry_run, "say what would be done, and do nothing");
  command.flag("--verify", options.verify, "read back what was written and compare checksums once more");
  command.flag("--fsync", options.sync, "each file is on its disk before it gets its name");
  command.option("--exclude", options.exclude, "leave out what matches: '*.o', 'build/', '/top/**'")
      .one_at_a_time();
  command.option("--include", options.include, "take what matches, though a later --exclude does not want it")
      .one_at_a_time();
  command.option("--bwlimit", options.rate, "bytes a second at most, with K, M or G");
  std::vector<std::string> words;
  for (const DirectChoice& one : kDirectChoices) words.emplace_back(one.word);
  command
      .option("--direct-io", options.direct,
              "files past the page cache, at both ends: auto (those that memory cannot hold), always, never")
      .one_of(words);
}

}  // namespace

void add_cp(const grammar::Command& softrnic, Context& context) {
  auto options = std::make_shared<CpOptions>();
  const grammar::Command command =
      softrnic.command("cp", "Copy files to or from a host that runs `softrnic serve`");
  command.option("paths", options->paths, "SRC... DST; one side is HOST:PATH").required();
  add_choices(command, *options);
  command.option("-p,--port", options->port, "port of the server (18873)");
  command.option("--queue-pairs", options->queue_pairs, "queue pairs of the connection (as many as help)")
      .within(1, int{copy::kMaxQueuePairs});
  command
      .option("--memory", options->memory, "bytes for the names of a copy that this side has to hold (512M)")
      .in_bytes();
  command.option("--token-file", options->token_file, "file with the server's token in its first line");
  command.flag("-q,--quiet", options->quiet, "errors alone");
  command.flag("--progress", options->progress, "the bar, though this is no terminal");
  command.footer(
      "Examples:\n"
      "  softrnic cp disk.img 192.0.2.7:            into the directory that the server serves\n"
      "  softrnic cp -a --delete src/ host:backup   the contents of src, and nothing else, in backup\n"
      "  softrnic cp --resume host:big.iso .        a second time: goes on where the first ended\n"
      "  tar c dir | softrnic cp - host:dir.tar     standard input; as destination standard output\n"
      "A source that ends with '/' stands for its contents. Every chunk is checked by XXH3-128; nothing is "
      "encrypted.\n"
      "Exit codes: 0 all copied, 1 some files failed, 2 usage, 3 no connection, 4 refused, 5 the connection "
      "broke,\n"
      "130 interrupted.");
  command.finally([&context, options, command] {
    context.chosen = [&context, options, filters = filters_of(command, *options)] {
      return run(context.json, *options, filters);
    };
  });
}

}  // namespace softrnic::cli
