#pragma once
#include <string_view>

namespace demo {

/// What `GET /` answers: page.html, which the build puts into the program.
extern const std::string_view page_html;

} // namespace demo
