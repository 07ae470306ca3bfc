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
#include <type_traits>

namespace zklock::bridge::peering {

// What two clients say to each other. The one that was connected to greets, and the other is silent until then, lest
// somebody has it speak to a service that takes its bytes for orders. Then it says which nodes it waits for, and hears
// their secrets. All frames that go in one direction have the same size, so nobody can announce a large one.

using bytes = std::span<const std::uint8_t>;

/// Begins with a byte that is in no text, and ends with the version.
inline constexpr std::array<std::uint8_t, 8> greeting{0x9a, 'z', 'k', 'l', 'o', 'c', 'k', 1};

/// Nodes that one end of a connection may wait for at once.
inline constexpr std::size_t most_subscriptions = 1024;

enum class wish : std::uint8_t { subscribe = 1, unsubscribe = 2 };
struct wish_frame {
    wish what;
    node_id of;
};
[[nodiscard]] inline bool is_valid(const wish_frame& f) noexcept
{
    return f.what == wish::subscribe || f.what == wish::unsubscribe;
}

inline constexpr std::uint8_t certificate_mark = 3;
struct certificate_frame {
    std::uint8_t mark;
    store::node_secret secret;
};
[[nodiscard]] inline bool is_valid(const certificate_frame& f) noexcept
{
    return f.mark == certificate_mark;
}

/// A frame is sent as it is in memory: all its members are bytes.
template <class Frame> void append(std::string& out, const Frame& frame)
{
    static_assert(std::has_unique_object_representations_v<Frame> && alignof(Frame) == 1);
    out.append(reinterpret_cast<const char*>(&frame), sizeof frame);
}

/// Puts a stream of bytes together to frames.
template <class Frame> class frame_reader {
public:
    /// The next frame that is complete with what `in` has; takes the bytes of it from `in`. Nothing: all are taken.
    [[nodiscard]] std::optional<Frame> next(bytes& in) noexcept
    {
        const std::size_t taken = std::min(sizeof frame_ - filled_, in.size());
        std::copy_n(in.begin(), taken, reinterpret_cast<std::uint8_t*>(&frame_) + filled_);
        in = in.subspan(taken);
        filled_ += taken;
        if (filled_ < sizeof frame_)
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
