#pragma once
#include "bridge/tls/secret.hpp"

#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include <sys/stat.h>
#include <time.h>

namespace zklock::bridge {

/// A file or a folder as it was when it was looked at: so one can tell whether it has changed since.
class tls_file {
public:
    explicit tls_file(std::string path) : path_(std::move(path)) {}

    /// Notes how the file is, and gives what is in it, which may be a key; or nothing, if it cannot be read. Then `why`
    /// says so, in words.
    [[nodiscard]] std::optional<secret> read(std::string& why);
    /// Notes how it is. A folder changes when a name comes into it or goes out of it.
    void look();
    /// Says whether it is as it was noted: nobody has written it, replaced it, made it or taken it away. A file that
    /// was written shortly before it was read may have changed without a trace, since file systems count time in large
    /// steps: of such a file, it says false.
    [[nodiscard]] bool unchanged() const;

private:
    /// Device, number, size; when it was written, and changed otherwise: seconds and nanoseconds.
    using traits = std::tuple<::dev_t, ::ino_t, ::off_t, ::time_t, long, ::time_t, long>;
    void note(const struct ::stat&);

    std::string path_;
    std::optional<traits> traits_; ///< none if it is not there
    bool recent_ = false;          ///< it was written shortly before
};

} // namespace zklock::bridge
