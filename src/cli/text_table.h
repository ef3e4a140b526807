// Columns of text, each as wide as its longest cell.
#pragma once

#include <string>
#include <vector>

namespace softrnic::cli {

using TableRow = std::vector<std::string>;

/// A line for each row, two spaces between columns, `indent` before them. Cells are printable.
std::string text_table(const std::vector<TableRow>& rows, std::size_t indent = 0);

}  // namespace softrnic::cli
