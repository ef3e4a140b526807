// A tree as real files in a folder. A program reads them there as it would read those of Linux: it is led
// there by the preload library or by a mount.
//
// Several processes keep one folder up to date at once. A file gets a new text by rename(2), so a reader
// finds the old text or the new one; what one process takes away because it knows an older state, the next
// one brings back.
#pragma once

#include <string>
#include <string_view>

#include "base/expected.h"
#include "base/unique_fd.h"
#include "sysfs/tree.h"

namespace softrnic::sysfs {

/// Makes the folder if it is missing and opens it. Fails with a positive errno; EPERM when another user
/// could write there, or owns it.
Expected<UniqueFd, int> open_folder(const std::string& path);

/// Where the files of this user for this network namespace lie, or for the emulated host that the process is
/// on. `device`: of this device alone.
/// Empty when no place for them is to be had.
std::string folder_path(const std::string& device);

/// Whether the folder has the nodes of this tree, whatever their texts are.
bool has_shape(int folder, const Tree& tree);

/// Brings all of the folder into line with the tree. 0 or a positive errno.
int write_all(int folder, const Tree& tree);

/// Brings the file `path` into line, and the rest if the tree has other nodes than the folder. 0 or a
/// positive errno.
int write_one(int folder, const Tree& tree, std::string_view path);

/// The text of a file there; nothing when it cannot be read.
std::optional<std::string> read_file(int folder, const std::string& path);

}  // namespace softrnic::sysfs
