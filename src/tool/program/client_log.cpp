#include "tool/program/client_log.hpp"

#include "tool/program/voice.hpp"

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace zklock::tool {

client_log::client_log()
{
    const char* const wish = std::getenv("ZKLOCK_LOG");
    if (wish == nullptr)
        return;
    for (const log_level level : {log_level::error, log_level::warning, log_level::info, log_level::debug})
        if (to_string(level) == wish) {
            most_written_ = level;
            written_ = log_to(stderr, level);
        }
}

client_options client_log::attached_to(client_options options)
{
    options.log = [this](log_level level, std::string_view line) { note(level, line); };
    return options;
}

void client_log::connected()
{
    connected_ = true;
    trouble_.clear();
}

void client_log::note(log_level level, std::string_view line)
{
    if (written_ && level <= most_written_)
        written_(level, line);
    constexpr std::string_view connection = "connected to ";
    const auto name = line.find(": ");
    const std::string_view text = name == line.npos ? line : line.substr(name + 2);
    if (text.starts_with(connection) && text.find(": ") != text.npos)
        session_ = printable(text.substr(text.find(": ") + 2));
    if (level > (connected_ ? log_level::warning : log_level::info))
        return;
    if (!text.starts_with("made for "))
        trouble_ = printable(text, 2'000);
}

} // namespace zklock::tool
