// What shells complete of `softrnic …`, made from the grammar that --help is made from.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace softrnic::cli {

/// Files to be sourced, each in the language of its shell.
std::string bash_completion(const CLI::App& softrnic);
std::string zsh_completion(const CLI::App& softrnic);
std::string fish_completion(const CLI::App& softrnic);

}  // namespace softrnic::cli
