#include "link/kernel_drops.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "base/unique_fd.h"

namespace softrnic::link {
namespace {

/// These files are shorter, unless a kernel has many more counters: the last ones are not seen then.
constexpr std::size_t kMostText = 8 << 10;

/// Takes what stands before the next `end` from the text.
std::string_view take(std::string_view& text, char end) {
  const std::size_t length = std::min(text.find(end), text.size());
  const std::string_view found = text.substr(0, length);
  text.remove_prefix(std::min(length + 1, text.size()));
  return found;
}

std::string_view take_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  const std::size_t length = std::min(line.find_first_of(" \t"), line.size());
  const std::string_view word = line.substr(0, length);
  line.remove_prefix(length);
  return word;
}

/// `section` and `name` make up the counter's name.
void note(KernelDropCounts& counts, std::string_view section, std::string_view name,
          std::string_view figure) {
  const auto* const row = std::ranges::find_if(kKernelDrops, [&](const KernelDropText& drop) {
    return drop.counter.size() == section.size() + name.size() && drop.counter.starts_with(section) &&
           drop.counter.ends_with(name);
  });
  if (row == kKernelDrops.end()) return;
  std::uint64_t count = 0;
  std::from_chars(figure.data(), figure.data() + figure.size(), count);
  counts[static_cast<std::size_t>(row - kKernelDrops.begin())] = count;
}

void note_pairs_of_lines(KernelDropCounts& counts, std::string_view text) {
  while (!text.empty()) {  // a line of names, then one of figures: "Udp: InDatagrams …", "Udp: 940 …"
    std::string_view names = take(text, '\n'), figures = take(text, '\n');
    const std::string_view section = take(names, ':');
    if (take(figures, ':') != section) break;
    for (std::string_view name = take_word(names); !name.empty(); name = take_word(names))
      note(counts, section, name, take_word(figures));
  }
}

void note_lines(KernelDropCounts& counts, std::string_view text) {
  while (!text.empty()) {
    std::string_view line = take(text, '\n');
    const std::string_view name = take_word(line);
    note(counts, {}, name, take_word(line));
  }
}

using NoteText = void(KernelDropCounts&, std::string_view);

void note_file(KernelDropCounts& counts, const char* path, NoteText* note_text) {
  char text[kMostText];
  const UniqueFd fd(open(path, O_RDONLY | O_CLOEXEC));
  std::size_t length = 0;
  while (fd && length < sizeof text) {
    const ssize_t got = read(fd.get(), text + length, sizeof text - length);
    if (got <= 0) break;
    length += static_cast<std::size_t>(got);
  }
  note_text(counts, {text, length});
}

}  // namespace

KernelDropCounts parse_kernel_drops(std::string_view snmp, std::string_view netstat, std::string_view snmp6) {
  KernelDropCounts counts{};
  note_pairs_of_lines(counts, snmp);
  note_pairs_of_lines(counts, netstat);
  note_lines(counts, snmp6);
  return counts;
}

KernelDropCounts kernel_drops() {
  KernelDropCounts counts{};
  note_file(counts, "/proc/thread-self/net/snmp", note_pairs_of_lines);
  note_file(counts, "/proc/thread-self/net/netstat", note_pairs_of_lines);
  note_file(counts, "/proc/thread-self/net/snmp6", note_lines);
  return counts;
}

}  // namespace softrnic::link
