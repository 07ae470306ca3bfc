#include "support/four_letter_words.hpp"

#include "support/tcp_socket.hpp"

#include <sstream>
#include <stdexcept>

namespace zklock::test {

namespace {

std::int64_t session_id(const std::string& text)
{
    return static_cast<std::int64_t>(std::stoull(text, nullptr, 16));
}

template <class F> void for_each_line(const std::string& text, F&& f)
{
    std::istringstream lines{text};
    for (std::string line; std::getline(lines, line);)
        f(line);
}

} // namespace

std::string four_letter_word(std::uint16_t port, const std::string& word, milliseconds limit)
{
    tcp_socket socket{port, limit};
    socket.send(word);
    return socket.receive_to_end();
}

std::string server_mode(std::uint16_t port)
try {
    std::string mode;
    for_each_line(four_letter_word(port, "srvr", milliseconds{1'000}), [&](const std::string& line) {
        if (line.starts_with("Mode: "))
            mode = line.substr(6);
    });
    return mode;
} catch (const std::runtime_error&) { // refused, closed or silent: it does not serve
    return {};
}

std::size_t watch_count(std::uint16_t port)
{
    const auto told = monitor(port);
    const auto count = told.find("zk_watch_count");
    if (count == told.end())
        throw std::runtime_error("mntr: the server does not serve");
    return std::stoul(count->second);
}

std::map<std::string, std::vector<std::int64_t>> watches(std::uint16_t port)
{
    std::map<std::string, std::vector<std::int64_t>> found;
    std::string path;
    for_each_line(four_letter_word(port, "wchp"), [&](const std::string& line) {
        if (line.starts_with('/'))
            path = line;
        else if (line.starts_with("\t0x"))
            found[path].push_back(session_id(line.substr(1)));
    });
    return found;
}

std::map<std::int64_t, std::vector<std::string>> ephemerals(std::uint16_t port)
{
    std::map<std::int64_t, std::vector<std::string>> found;
    std::int64_t session = 0;
    bool inside = false, any_header = false;
    for_each_line(four_letter_word(port, "dump", default_limit), [&](const std::string& line) {
        if (line.starts_with("ephemeral nodes dump"))
            inside = any_header = true;
        else if (line.starts_with("Connections dump"))
            inside = false;
        else if (inside && line.starts_with("0x"))
            session = session_id(line);
        else if (inside && line.starts_with("\t/"))
            found[session].push_back(line.substr(1));
    });
    if (!any_header)
        throw std::runtime_error("dump: the server does not serve");
    return found;
}

std::size_t ephemeral_count(std::uint16_t port)
{
    std::size_t count = 0;
    for (const auto& [session, paths] : ephemerals(port))
        count += paths.size();
    return count;
}

std::vector<std::int64_t> connected_sessions(std::uint16_t port)
{
    std::vector<std::int64_t> sessions;
    for_each_line(four_letter_word(port, "cons"), [&](const std::string& line) {
        if (const auto at = line.find("sid="); at != line.npos) // not the one that asks
            sessions.push_back(session_id(line.substr(at + 4)));
    });
    return sessions;
}

std::map<std::string, std::string> monitor(std::uint16_t port)
{
    std::map<std::string, std::string> values;
    for_each_line(four_letter_word(port, "mntr"), [&](const std::string& line) {
        if (const auto tab = line.find('\t'); tab != std::string::npos)
            values[line.substr(0, tab)] = line.substr(tab + 1);
    });
    return values;
}

} // namespace zklock::test
