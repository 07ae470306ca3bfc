#pragma once
#include "support/unique_fd.hpp"

#include <filesystem>

namespace zklock::test {

/// A new empty directory, in memory if the machine has room there (or where it is told to), deleted with this object.
/// What a killed test left behind is deleted by the next one.
class temporary_directory {
public:
    temporary_directory() : temporary_directory(std::filesystem::path()) {}
    explicit temporary_directory(const std::filesystem::path& parent); ///< empty: in memory
    temporary_directory(temporary_directory&&) = default;
    temporary_directory& operator=(temporary_directory&&) = delete;
    ~temporary_directory();

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

private:
    std::filesystem::path path_;
    unique_fd lock_; // held as long as the directory is in use
};

} // namespace zklock::test
