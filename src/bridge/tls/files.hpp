#pragma once
#include "bridge/tls/secret.hpp"

#include <optional>
#include <string>
#include <utility>

#include <sys/stat.h>
#include <time.h>

namespace zklock::bridge {

/// A file or a folder as it was when it was looked at: so one can tell whether it has changed since.
class tls_file {
public:
    explicit tls_file(std::string path) : path_(std::move(path)) {}

    [[nodiscard]] const std::string& path() const noexcept { return path_; }

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
    struct traits {
        ::dev_t device;
        ::ino_t number;
        ::off_t size;
        ::timespec written, changed;
    };
    void note(const struct ::stat&);

    std::string path_;
    std::optional<traits> traits_; ///< none if it is not there
    bool recent_ = false;          ///< it was written shortly before
};

} // namespace zklock::bridge
