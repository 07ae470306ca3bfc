#pragma once
#include <boost/json/object.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace zklock::tool {

/// What a subcommand says of what it does, on stderr: stdout is the command's. Nothing waits for a reader: a line that
/// cannot be written at once is dropped, because a process that waits for a terminal sends no heartbeats.
class voice {
public:
    /// @param verbose Say everything, and not only what went wrong.
    /// @param json Say everything as JSON, one object a line: `{"event":"acquired","after":0.012,…}`, with the seconds
    /// since this object was made.
    voice(bool verbose, bool json);
    ~voice(); ///< what show() shows goes
    voice(const voice&) = delete;
    voice& operator=(const voice&) = delete;

    /// Something that is as it should be.
    void tell(std::string_view event, boost::json::object details, const std::string& text);
    /// Something that somebody has to know.
    void warn(std::string_view event, boost::json::object details, const std::string& text);
    /// How things stand: one line of a terminal, in the place of the last one. Elsewhere it is said when it changes.
    void show(boost::json::object details, const std::string& text);

    /// Whether show() shows anything.
    [[nodiscard]] bool shows() const { return verbose_ || json_; }

private:
    void write(std::string text);
    void write_line(const std::string& text);
    void write_json(std::string_view event, boost::json::object details);

    const bool verbose_;
    const bool json_;
    const bool terminal_;
    std::string shown_;
    const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

/// What others wrote, for people: control characters are replaced, and what is long is cut.
[[nodiscard]] std::string printable(std::string_view text, std::size_t longest = 200);
/// A line of the tool's own, of such a text.
[[nodiscard]] std::string as_message(std::string_view text);
/// A line of JSON, of whatever others wrote. Bytes that are not UTF-8 are replaced, and no control character is left
/// that a terminal would obey.
[[nodiscard]] std::string json_line(const boost::json::object& line);

} // namespace zklock::tool
