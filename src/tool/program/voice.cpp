#include "tool/program/voice.hpp"

#include "tool/program/standard_error.hpp"

#include <boost/json/serialize.hpp>
#include <boost/locale/utf.hpp>

#include <fmt/format.h>

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace zklock::tool {
namespace {

const char* const erase_line = "\r\033[K";

/// How many bytes of text at `at` are one character in UTF-8; 0 if they are none.
std::size_t length_of_character(std::string_view text, std::size_t at)
{
    namespace utf = boost::locale::utf;
    const auto begin = text.begin() + static_cast<std::ptrdiff_t>(at);
    auto end = begin;
    const auto character = utf::utf_traits<char>::decode(end, text.end());
    return utf::is_valid_codepoint(character) ? static_cast<std::size_t>(end - begin) : 0;
}

/// What is no UTF-8 is replaced, byte by byte.
std::string utf8(std::string_view text)
{
    std::string made;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t length = length_of_character(text, at);
        if (length == 0)
            made += "\xEF\xBF\xBD"; // U+FFFD
        else
            made += text.substr(at, length);
        at += length == 0 ? 1 : length;
    }
    return made;
}

/// How many bytes of text at `at`, where a character begins, are a control character; 0 if they are none. Those beyond
/// 0x7F have two, the first of them 0xC2.
std::size_t length_of_control(std::string_view text, std::size_t at)
{
    const auto first = static_cast<unsigned char>(text[at]);
    if (first < 0x20 || first == 0x7F)
        return 1;
    return first == 0xC2 && at + 1 < text.size() && static_cast<unsigned char>(text[at + 1]) < 0xA0 ? 2 : 0;
}

/// Tells how wide the terminal on stderr is; 80 if it does not say so.
std::size_t columns()
{
    winsize size{};
    const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col != 0;
    return std::max<std::size_t>(known ? size.ws_col : 80, 20);
}

} // namespace

voice::voice(bool verbose, bool json) : verbose_(verbose), json_(json), terminal_(::isatty(STDERR_FILENO) == 1) {}

voice::~voice()
{
    if (terminal_ && !json_ && !shown_.empty())
        write({});
}

void voice::tell(std::string_view event, boost::json::object details, const std::string& text)
{
    if (json_)
        write_json(event, std::move(details));
    else if (verbose_)
        write_line(text);
}

void voice::warn(std::string_view event, boost::json::object details, const std::string& text)
{
    if (json_)
        write_json(event, std::move(details));
    else
        write_line(text);
}

void voice::show(boost::json::object details, const std::string& text)
{
    if (json_) {
        std::string now = boost::json::serialize(details);
        if (now != shown_)
            write_json("waiting", std::move(details));
        shown_ = std::move(now);
    } else if (verbose_ && terminal_) {
        write("zklock: " + printable(text, columns() - 10)); // a line that wraps could not be erased
        shown_ = text;
    } else if (verbose_ && text != shown_) {
        write_line(text);
        shown_ = text;
    }
}

void voice::write(std::string text)
{
    if (terminal_ && !json_ && !shown_.empty())
        text.insert(0, erase_line);
    if (terminal_)
        shown_.clear();
    write_to_stderr(std::move(text));
}

void voice::write_line(const std::string& text)
{
    write(as_message(text));
}

void voice::write_json(std::string_view event, boost::json::object details)
{
    const std::chrono::duration<double> after = std::chrono::steady_clock::now() - began_;
    boost::json::object line{{"event", event}, {"after", after.count()}};
    for (auto& [key, value] : details)
        line.emplace(key, std::move(value));
    write(json_line(line));
}

std::string as_message(std::string_view text)
{
    return "zklock: " + printable(text, text.size()) + '\n';
}

std::string json_line(const boost::json::object& line)
{
    std::string made;
    const std::string text = utf8(boost::json::serialize(line)); // which has no controls below 0x20
    for (std::size_t at = 0; at < text.size(); ++at) {
        const std::size_t length = length_of_control(text, at);
        if (length == 0) {
            made += text[at];
            continue;
        }
        at += length - 1;
        made += fmt::format("\\u{:04x}", static_cast<unsigned char>(text[at])); // whose last byte is its number
    }
    return made + '\n';
}

std::string printable(std::string_view text, std::size_t longest)
{
    std::string made;
    for (std::size_t at = 0; at < text.size();) {
        if (made.size() >= longest)
            return made + "…";
        const std::size_t length = length_of_character(text, at);
        if (length == 0 || length_of_control(text, at) != 0)
            made += '?';
        else
            made += text.substr(at, length);
        at += length == 0 ? 1 : length;
    }
    return made;
}

} // namespace zklock::tool
