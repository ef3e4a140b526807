// A fabric as a picture: SVG without scripts and without anything from elsewhere.
#pragma once

#include <string>
#include <string_view>

#include "cli/fabric_answer.h"

namespace softrnic::cli {

/// `fabric` is what `show` answers. Names in it are foreign text.
std::string fabric_picture(const Json& fabric);

/// Text of others for XML: printable, and without markup.
std::string xml_text(std::string_view text);

}  // namespace softrnic::cli
