#include "witness.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace softrnic::robust {
namespace {

namespace fs = std::filesystem;

void run(std::vector<std::string> words) {
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  words.insert(words.begin(), (here / "../bin/softrnic").string());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  pid_t child = -1;
  if (posix_spawn(&child, arguments[0], &actions, nullptr, arguments.data(), environ) == 0)
    waitpid(child, nullptr, 0);
  posix_spawn_file_actions_destroy(&actions);
}

void show_adapters() {
  run({"resource", "show", "qp"});
  run({"stat"});
  run({"explain", "--all"});
}

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

Exit fail(Exit how, std::string_view expected, std::string_view instead) {
  std::fprintf(stderr, "---- process %d: expected: %s; instead: %s\n", static_cast<int>(getpid()),
               std::string(expected).c_str(), std::string(instead).c_str());
  show_adapters();
  return how;
}

Exit fail(Exit how, std::string_view expected) { return fail(how, expected, std::strerror(errno)); }

void show_threads(pid_t process) {
  std::error_code error;
  for (const auto& task : fs::directory_iterator("/proc/" + std::to_string(process) + "/task", error)) {
    std::fprintf(stderr, "---- process %d thread %s\n%s%swchan %s\n%s\n", static_cast<int>(process),
                 task.path().filename().c_str(), text_of(task.path() / "stat").c_str(),
                 text_of(task.path() / "syscall").c_str(), text_of(task.path() / "wchan").c_str(),
                 text_of(task.path() / "stack").c_str());
  }
}

}  // namespace softrnic::robust
