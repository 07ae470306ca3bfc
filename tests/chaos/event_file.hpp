#pragma once
#include "chaos/history.hpp"
#include "support/unique_fd.hpp"

#include <fcntl.h>

#include <sstream>
#include <system_error>

namespace zklock::chaos {

/// Where a process notes what happens to it, each in a line of its own: `what number time words…`.
class event_file {
public:
    explicit event_file(const std::string& path)
        : fd_(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644))
    {
        if (!fd_)
            throw std::system_error(errno, std::generic_category(), path);
    }

    /// At once: it must be there when the process is killed the moment after.
    template <class... Words> void note(const char* what, unsigned number, instant time, const Words&... words)
    {
        std::ostringstream line;
        line << what << ' ' << number << ' ' << time;
        ((line << ' ' << words), ...);
        line << '\n';
        const auto text = std::move(line).str();
        if (::write(fd_.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
            throw std::system_error(errno, std::generic_category(), "note an event");
    }

private:
    test::unique_fd fd_;
};

} // namespace zklock::chaos
