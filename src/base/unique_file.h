// An open stdio file and an open directory, each with one owner.
#pragma once

#include <dirent.h>

#include <cstdio>
#include <memory>

namespace softrnic {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using UniqueFile = std::unique_ptr<std::FILE, CloseFile>;

struct CloseDirectory {
  void operator()(DIR* directory) const { closedir(directory); }
};
using UniqueDirectory = std::unique_ptr<DIR, CloseDirectory>;

}  // namespace softrnic
