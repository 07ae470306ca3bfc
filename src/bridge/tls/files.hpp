#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <sys/stat.h>
#include <time.h>

namespace zklock::bridge {

/// What was read from a file. It is wiped when it is no longer needed, since it may be a key.
class file_contents {
public:
    file_contents() = default;
    ~file_contents() { wipe(); }
    file_contents(const file_contents&) = delete;
    file_contents& operator=(const file_contents&) = delete;
    file_contents(file_contents&& from) noexcept : text_(std::move(from.text_)) { from.wipe(); }
    file_contents& operator=(file_contents&&) = delete;

    [[nodiscard]] std::string_view text() const noexcept { return text_; }

private:
    friend class tls_file;
    void wipe() noexcept;
    std::string text_;
};

/// A file or a folder as it was when it was looked at: so one can tell whether it has changed since.
class tls_file {
public:
    explicit tls_file(std::string path) : path_(std::move(path)) {}

    [[nodiscard]] const std::string& path() const noexcept { return path_; }

    /// Notes how the file is, and gives what is in it; or nothing, if it cannot be read. Then `why` says so, in words.
    [[nodiscard]] std::optional<file_contents> read(std::string& why);
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
