// What a person, or a program, sees of a copy while it goes on and when it is over.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "cli/output.h"
#include "copy/observer.h"
#include "copy/records.h"

namespace softrnic::cli {

class CopyProgress final : public copy::Observer {
 public:
  enum class Style { bar, quiet, json, plain };
  explicit CopyProgress(Style style) : style_(style) {}
  ~CopyProgress() override { wipe(); }

  void totals(std::uint64_t files, std::uint64_t bytes) override;
  void file(const std::string& path) override;
  void moved(std::uint64_t bytes) override;
  void trouble(const std::string& path, int error, const std::string& text) override;
  void notice(const std::string& what, const std::string& path) override;

  /// The account at the end.
  void finish(const copy::Finished& finished);

 private:
  using Clock = std::chrono::steady_clock;
  void draw(bool last);
  void wipe();
  double seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

  Style style_;
  Clock::time_point begin_ = Clock::now(), drawn_{};
  std::uint64_t total_ = 0, moved_ = 0;
  std::string path_;
  bool on_screen_ = false;
  void keep(Json& list, const Json& entry);
  Json troubles_ = Json::array(), notices_ = Json::array();
  std::uint64_t kept_ = 0, left_out_ = 0;  ///< in them: bytes; entries
};

/// "1.5 GiB"
std::string size_text(double bytes);

}  // namespace softrnic::cli
