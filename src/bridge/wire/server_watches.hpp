#pragma once
#include "store/store.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace zklock::bridge {

struct request;

/// Bits: a node may have both.
enum class watch_kind : std::uint8_t { none = 0, data = 1, children = 2 };

/// A node that is watched, or is to be: made before the library is asked.
struct watch_state {
    std::uint8_t kinds = 0;  ///< bits of watch_kind
    std::uint32_t asked = 0; ///< by so many requests that were not answered yet
};

struct path_hash { // looks up without a std::string, and so without memory
    using is_transparent = void;
    std::size_t operator()(std::string_view path) const noexcept { return std::hash<std::string_view>{}(path); }
};
using watches = std::unordered_map<std::string, watch_state, path_hash, std::equal_to<>>; ///< by the path on the server

/// The watches of a connection: noted when they are asked for, until they have fired, so that none outlives it.
class server_watches {
public:
    /// A request that is about to be sent asks for one.
    void asked(request&, const std::string& path, watch_kind);
    void answered(const request&, store::outcome) noexcept;
    void fired(std::string_view path, store::event_kind) noexcept;
    /// The connection has ended: `take_back` is called with the path of each that may be left.
    template <class F> void forget(F take_back)
    {
        for (const auto& each : nodes_)
            take_back(each.first);
        nodes_.clear();
    }

private:
    void forget_if_idle(watches::iterator) noexcept;

    watches nodes_;
};

} // namespace zklock::bridge
