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

struct path_hash { // looks up without a std::string, and so without memory
    using is_transparent = void;
    std::size_t operator()(std::string_view path) const noexcept { return std::hash<std::string_view>{}(path); }
};

/// The watches of a connection: noted when a request for one is answered, until they have fired, so that none outlives
/// it.
class server_watches {
public:
    void answered(request&, store::outcome);
    void fired(std::string_view path, store::event_kind) noexcept;
    /// The connection has ended: `take_back` is called with the path of each that may be left.
    template <class F> void forget(F take_back)
    {
        for (const auto& each : nodes_)
            take_back(each.first);
        nodes_.clear();
    }

private:
    std::unordered_map<std::string, std::uint8_t, path_hash, std::equal_to<>> nodes_; // bits, by the path on the server
};

} // namespace zklock::bridge
