// Drives a fuzzer without libFuzzer: every file given, or in a folder given, and with --mutations=N also N
// variants of the files, made by a fixed seed so that a failure repeats; stderr tells which one failed.
#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/check.h"

namespace {

namespace fs = std::filesystem;
using Input = std::vector<std::uint8_t>;

// What runs now, told when the process ends by a failed check, a fault or a sanitizer.
struct Current {
  std::string file;
  unsigned mutation = 0;
} current;

void report() { std::fprintf(stderr, "input: %s, mutation %u\n", current.file.c_str(), current.mutation); }

// The process is lost anyway, so the handler may use what is not safe in one. Exits as a plain failure: CTest
// holds a signal to be a failure even where one is expected.
void on_signal(int) {
  report();
  std::_Exit(1);
}

// In a heap block of exactly its size, so that the address sanitizer sees any read beyond it.
void run(const Input& input) {
  const std::unique_ptr<std::uint8_t[]> exact(new std::uint8_t[input.size()]);
  std::copy(input.begin(), input.end(), exact.get());
  LLVMFuzzerTestOneInput(exact.get(), input.size());
}

using Random = std::mt19937;

void flip_bit(Input& input, Random& random) {
  if (!input.empty()) input[random() % input.size()] ^= static_cast<std::uint8_t>(1U << (random() % 8));
}
void set_byte(Input& input, Random& random) {
  constexpr std::uint8_t kValues[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
  if (!input.empty()) input[random() % input.size()] = kValues[random() % std::size(kValues)];
}
void any_byte(Input& input, Random& random) {
  if (!input.empty()) input[random() % input.size()] = static_cast<std::uint8_t>(random());
}
void cut(Input& input, Random& random) { input.resize(random() % (input.size() + 1)); }
void grow(Input& input, Random& random) {
  for (std::size_t n = 1 + random() % 16; n > 0; --n) input.push_back(static_cast<std::uint8_t>(random()));
}
void copy_part(Input& input, Random& random) {
  if (input.size() < 2) return;
  const std::size_t n = 1 + random() % std::min<std::size_t>(input.size() - 1, 16);
  const std::size_t from = random() % (input.size() - n + 1);
  const std::size_t to = random() % (input.size() - n + 1);
  std::memmove(input.data() + to, input.data() + from, n);
}

Input mutated(const Input& original, Random& random) {
  constexpr void (*kWays[])(Input&, Random&) = {flip_bit, set_byte, any_byte, cut, grow, copy_part};
  Input input = original;
  for (std::size_t n = 1 + random() % 5; n > 0; --n) kWays[random() % std::size(kWays)](input, random);
  return input;
}

std::vector<fs::path> files_of(const char* argument) {
  std::vector<fs::path> files;
  std::error_code error;
  if (fs::is_directory(argument, error)) {
    for (const auto& entry : fs::recursive_directory_iterator(argument, error)) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
  } else if (fs::is_regular_file(argument, error)) {
    files.emplace_back(argument);
  }
  return files;
}

}  // namespace

// Defined only when a sanitizer is linked.
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*)());

int main(int argc, char** argv) {
  constexpr std::string_view kMutations = "--mutations=";
  for (const int signal : {SIGILL, SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGTRAP}) std::signal(signal, on_signal);
  if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(report);
  unsigned mutations = 0;
  std::vector<fs::path> files;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with(kMutations)) {
      const std::string_view number = argument.substr(kMutations.size());
      std::from_chars(number.data(), number.data() + number.size(), mutations);
    } else {
      const auto more = files_of(argv[i]);
      files.insert(files.end(), more.begin(), more.end());
    }
  }
  for (const fs::path& file : files) {
    std::ifstream in(file, std::ios::binary);
    const Input original{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    current.file = file.string();
    Random random(1);
    for (current.mutation = 0; current.mutation <= mutations; ++current.mutation) {
      run(current.mutation == 0 ? original : mutated(original, random));
    }
  }
  std::printf("%zu inputs, %u mutations of each\n", files.size(), mutations);
  if (files.empty()) std::fputs("no inputs\n", stderr);
  return files.empty() ? 1 : 0;
}
