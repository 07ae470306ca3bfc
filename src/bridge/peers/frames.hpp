#pragma once
#include "bridge/peers/node_id.hpp"
#include "store/peers.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace zklock::bridge::peering {

// What two clients say to each other. The one that was connected to greets, and the other is silent until then, lest
// somebody has it speak to a service that takes its bytes for orders. Then it says which nodes it waits for, and hears
// their secrets. All frames that go in one direction have the same size, so nobody can announce a large one.

using bytes = std::span<const std::uint8_t>;

/// Begins with a byte that is in no text, and ends with the version.
inline constexpr std::array<std::uint8_t, 8> greeting{0x9a, 'z', 'k', 'l', 'o', 'c', 'k', 1};

/// Nodes that one end of a connection may wait for at once.
inline constexpr std::size_t most_subscriptions = 1024;

/// What a wish begins with; a node_id follows.
enum class wish : std::uint8_t { subscribe = 1, unsubscribe = 2 };
/// What a certificate begins with; a secret follows.
inline constexpr std::uint8_t certificate_mark = 3;

using wish_frame = std::array<std::uint8_t, 1 + std::tuple_size_v<node_id>>;
using certificate_frame = std::array<std::uint8_t, 1 + std::tuple_size_v<store::node_secret>>;

template <class Frame> void append(std::string& out, const Frame& frame)
{
    out.append(reinterpret_cast<const char*>(frame.data()), frame.size());
}

inline void append_wish(std::string& out, wish what, const node_id& of)
{
    wish_frame frame{static_cast<std::uint8_t>(what)};
    std::ranges::copy(of, frame.begin() + 1);
    append(out, frame);
}
inline void append_certificate(std::string& out, const store::node_secret& of)
{
    certificate_frame frame{certificate_mark};
    std::ranges::copy(of, frame.begin() + 1);
    append(out, frame);
}

struct read_wish {
    wish what;
    node_id of;
};
/// Nothing if the frame is none of these.
[[nodiscard]] inline std::optional<read_wish> wish_in(const wish_frame& frame) noexcept
{
    if (frame[0] != static_cast<std::uint8_t>(wish::subscribe) &&
        frame[0] != static_cast<std::uint8_t>(wish::unsubscribe))
        return std::nullopt;
    read_wish read{static_cast<wish>(frame[0]), {}};
    std::copy(frame.begin() + 1, frame.end(), read.of.begin());
    return read;
}
/// Nothing if the frame is no certificate.
[[nodiscard]] inline std::optional<store::node_secret> secret_in(const certificate_frame& frame) noexcept
{
    if (frame[0] != certificate_mark)
        return std::nullopt;
    store::node_secret read{};
    std::copy(frame.begin() + 1, frame.end(), read.begin());
    return read;
}

/// Puts a stream of bytes together to frames.
template <class Frame> class frame_reader {
public:
    /// The next frame that is complete with what `in` has; takes the bytes of it from `in`. Nothing: all are taken.
    [[nodiscard]] std::optional<Frame> next(bytes& in) noexcept
    {
        const std::size_t taken = std::min(frame_.size() - filled_, in.size());
        std::copy_n(in.begin(), taken, frame_.begin() + static_cast<std::ptrdiff_t>(filled_));
        in = in.subspan(taken);
        filled_ += taken;
        if (filled_ < frame_.size())
            return std::nullopt;
        filled_ = 0;
        return frame_;
    }

private:
    Frame frame_{};
    std::size_t filled_ = 0;
};

/// What is to become of a connection.
enum class verdict { go_on, hang_up };

} // namespace zklock::bridge::peering
