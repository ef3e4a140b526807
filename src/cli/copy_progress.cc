#include "cli/copy_progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace softrnic::cli {
namespace {

constexpr auto kRedraw = std::chrono::milliseconds(100);
constexpr std::size_t kBar = 24;
constexpr std::uint64_t kMostKept = 64U << 20;  // bytes of troubles and notices, for JSON
constexpr std::uint64_t kEntry = 512;           // what one costs beside its texts

std::size_t terminal_width() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

std::string time_text(double seconds) {
  const auto whole = static_cast<std::uint64_t>(seconds);
  return whole >= 3600 ? fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60)
                       : fmt::format("{}:{:02}", whole / 60, whole % 60);
}

/// What fits into `room` (not 0) bytes, begun with "…" where it was cut.
std::string end_of(const std::string& text, std::size_t room) {
  if (text.size() <= room) return text;
  std::size_t at = text.size() - room + 1;
  while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80)
    ++at;  // within a character
  return "…" + text.substr(at);
}

}  // namespace

std::string size_text(double bytes) {
  static constexpr std::array<const char*, 6> kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < kUnits.size(); ++unit) bytes /= 1024;
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.1f} {}", bytes, kUnits[unit]);
}

void CopyProgress::totals(std::uint64_t, std::uint64_t bytes) { total_ = bytes; }

void CopyProgress::file(const std::string& path) {
  if (style_ == Style::bar) path_ = path;
}

void CopyProgress::moved(std::uint64_t bytes) {
  moved_ += bytes;
  if (style_ == Style::bar && Clock::now() - drawn_ >= kRedraw) draw(false);
}

/// The peer chooses how many there are, so they are kept up to a limit.
void CopyProgress::keep(Json& list, const Json& entry) {
  std::uint64_t bytes = kEntry;
  for (const Json::Member& member : entry.members()) bytes += member.value.string().size();
  if (kept_ + bytes > kMostKept) {
    ++left_out_;
    return;
  }
  kept_ += bytes;
  list.push_back(entry);
}

void CopyProgress::trouble(const std::string& path, int error, const std::string& text) {
  if (style_ == Style::json) {
    keep(troubles_, {{"path", path}, {"errno", error}, {"text", text}});
    return;
  }
  wipe();
  complain(path + ": " + text);
}

void CopyProgress::notice(const std::string& what, const std::string& path) {
  if (style_ == Style::json) keep(notices_, {{"what", what}, {"path", path}});
  if (style_ == Style::json || style_ == Style::quiet) return;
  wipe();
  print_line("{} {}", printable(what), printable(path));
}

void CopyProgress::wipe() {
  if (on_screen_) fmt::print(stderr, "\r\x1b[K");
  on_screen_ = false;
}

void CopyProgress::draw(bool last) {
  drawn_ = Clock::now();
  const double rate = static_cast<double>(moved_) / std::max(seconds(), 1e-3);
  std::string line;
  if (total_ > 0) {
    const double part = std::min(1.0, static_cast<double>(moved_) / static_cast<double>(total_));
    const auto filled = static_cast<std::size_t>(part * kBar);
    line = fmt::format("[{}{}] {:3.0f}%  ", std::string(filled, '#'), std::string(kBar - filled, '.'),
                       part * 100);
  }
  line += fmt::format("{}  {}/s", size_text(static_cast<double>(moved_)), size_text(rate));
  if (last)
    line += "  " + time_text(seconds());
  else if (total_ > moved_ && rate > 0)
    line += "  ETA " + time_text(static_cast<double>(total_ - moved_) / rate);
  const std::size_t width = terminal_width() - 1;
  if (line.size() + 3 < width) {
    line += "  " + end_of(printable(path_), width - line.size() - 2);
  }
  fmt::print(stderr, "\r\x1b[K{}", line);
  on_screen_ = true;
}

void CopyProgress::finish(const copy::Finished& done) {
  if (style_ == Style::json) {
    print_json({{"files", done.files},
                {"bytes", done.bytes},
                {"reused_bytes", done.reused},
                {"skipped", done.skipped},
                {"deleted", done.deleted},
                {"failures", done.failures},
                {"seconds", seconds()},
                {"checksum", "xxh3-128"},
                {"left_out", left_out_},
                {"notices", notices_},
                {"troubles", troubles_}});
    return;
  }
  if (style_ == Style::bar) {
    path_ = "checksums right";
    draw(true);
    fmt::print(stderr, "\n");
    on_screen_ = false;
  }
}

}  // namespace softrnic::cli
