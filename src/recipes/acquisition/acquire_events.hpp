#pragma once
#include "zklock/events.hpp"

#include <boost/system/error_code.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace zklock::recipes {

class session;

/// Tells the listener of a lock what happens to one acquire: each thing once, in the order that `lock_event` states. An
/// acquire has one only if it has a listener.
class acquire_events {
public:
    acquire_events(lock_listener, session&, std::uint64_t id, const std::string& path);

    /// It has that node, with that number. Nothing happens when that is known, or when it does not wait any more. It is
    /// told with whom it waits behind, or else with what happens next.
    void queued(std::string_view node, std::int32_t sequence) noexcept;
    /// That was not told yet.
    [[nodiscard]] bool place_untold() const noexcept { return place_untold_; }
    void waits_behind(std::shared_ptr<const contender>) noexcept;
    /// It holds by that node, after queued().
    void acquired(std::string_view node, std::int64_t fencing_token) noexcept;
    void lost(const lock_loss&) noexcept;
    void failed(boost::system::error_code) noexcept;
    /// Nothing happens unless it holds.
    void released(boost::system::error_code) noexcept;
    /// What was granted is given back, and nobody has looked at it.
    void note_unseen() noexcept { event_.unseen = true; }

private:
    void tell(lock_event::kind, boost::system::error_code = {}) noexcept;
    void tell_place() noexcept;

    session& session_;
    const lock_listener listener_;
    lock_event event_; ///< the last
    bool place_untold_ = false;
};

} // namespace zklock::recipes
