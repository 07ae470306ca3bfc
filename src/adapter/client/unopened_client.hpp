#pragma once
#include "zklock/client_options.hpp"
#include "zklock/result.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace zklock::detail {

/// A client's options, until it opens; and what the log and the listener are told of one that does not come so far.
class unopened_client {
public:
    explicit unopened_client(client_options);

    /// What is wrong with the options, if anything: the client will never open.
    [[nodiscard]] error_code fault() const noexcept
    {
        return fault_ ? make_error_code(errc::invalid_option) : error_code();
    }
    void tell_made() const;
    /// Once: the client ends with that fault.
    void tell_fault();
    /// It has failed. Does nothing if that was told, or it has opened.
    void tell_failure(std::string_view words, const error_code& why) noexcept;

    /// With who the client is, and the log of all its parts. `session` gives the present one, or 0.
    [[nodiscard]] client_options to_open_with(std::function<std::int64_t()> session) const;
    void opened() noexcept { options_.reset(); }

private:
    void tell(std::string_view what, std::string_view words, const error_code& why) noexcept;

    const std::optional<option_fault> fault_;
    std::optional<client_options> options_;
};

} // namespace zklock::detail
