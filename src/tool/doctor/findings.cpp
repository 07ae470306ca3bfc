#include "tool/doctor/findings.hpp"

#include "tool/program/voice.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <utility>

namespace zklock::tool {

void findings::add(const char* verdict, const std::string& about, const std::string& text, boost::json::object details)
{
    if (json_) {
        boost::json::object line{{"verdict", verdict}, {"about", about}, {"text", text}};
        for (auto& [key, value] : details)
            line.emplace(key, std::move(value));
        fmt::print("{}", json_line(line));
    } else {
        fmt::print("{:<8} {:<8} {}\n", verdict, about, printable(text, text.size()));
    }
    static_cast<void>(std::fflush(stdout)); // whether all was written is looked at in the end
}

} // namespace zklock::tool
