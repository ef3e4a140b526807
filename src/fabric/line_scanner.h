// Lines of a text, and what stands on a line piece by piece. Nothing is copied: views are into the text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace softrnic::fabric {

struct TextLine {
  std::size_t number = 0;  ///< from 1
  std::string_view text;   ///< without the blanks around it; those are spaces, tabs and the CR of CRLF
};

/// Goes through a text line by line; the last line may lack its line feed.
class TextLines {
 public:
  explicit TextLines(std::string_view text) : rest_(text) {}
  std::optional<TextLine> next();

 private:
  std::string_view rest_;
  std::size_t number_ = 0;
};

/// Each take… moves past what it found; when it finds nothing it does not move.
class LineScanner {
 public:
  explicit LineScanner(std::string_view line) : rest_(line) {}

  void skip_blanks();
  bool take(std::string_view literal);
  /// The letters that follow, maybe none.
  std::string_view take_letters();
  /// All up to the next blank, maybe nothing.
  std::string_view take_word();
  /// Decimal, or hexadecimal after 0x; nothing when it exceeds 64 bits.
  std::optional<std::uint64_t> take_number();
  /// Hexadecimal with or without 0x.
  std::optional<std::uint64_t> take_hex();
  /// A number from 0 to `most` between `open` and `close`: "[12]", "[ext 3]".
  std::optional<std::uint32_t> take_enclosed(std::string_view open, std::string_view close,
                                             std::uint32_t most);
  /// What is between the quotes that begin here: up to the next one, or up to the last one of the line.
  std::optional<std::string_view> take_quoted();
  std::optional<std::string_view> take_quoted_to_last();

  bool at_end() const { return rest_.empty(); }
  std::string_view rest() const { return rest_; }

 private:
  std::optional<std::uint64_t> take_digits(int base);
  std::optional<std::string_view> take_up_to(std::size_t closing);

  std::string_view rest_;
};

}  // namespace softrnic::fabric
