#pragma once
#include <string>
#include <string_view>
#include <utility>

#include <string.h>

namespace zklock::bridge {

/// Overwrites the whole memory of the text, also what it does not use now, and empties it.
inline void wipe(std::string& text) noexcept
{
    text.resize(text.capacity()); // allocates nothing
    ::explicit_bzero(text.data(), text.size());
    text.clear();
}

/// A text that is wiped when it is no longer needed. It can only be moved, so no copy is forgotten.
class secret {
public:
    secret() = default;
    explicit secret(std::string&& text) noexcept : text_(std::move(text)) { wipe(text); }
    ~secret() { wipe(text_); }
    secret(secret&& from) noexcept : text_(std::move(from.text_)) { wipe(from.text_); }

    [[nodiscard]] std::string_view text() const noexcept { return text_; }
    [[nodiscard]] std::string& edit() noexcept { return text_; }

private:
    std::string text_;
};

} // namespace zklock::bridge
