#pragma once
#include "store/store.hpp"
#include "zklock/errc.hpp"

#include <cstdint>

namespace zklock::recipes {

class session;

/// Has the server catch up, by syncs, with what was done before: before this epoch, or by locks that were handed over
/// past the servers.
class catch_up {
public:
    explicit catch_up(session& s) : session_(s) {}
    catch_up(const catch_up&) = delete;
    catch_up& operator=(const catch_up&) = delete;

    /// With all that was done before this epoch: one sync serves everybody who asks. A caller that sends a read after
    /// this call asks done() when the answer comes.
    void begin();
    /// The sync of this epoch went well. So what is answered from now on was read after it.
    [[nodiscard]] bool done() const noexcept { return now_ == state::done; }

    /// To be called before something is read for a user: he may hold a lock, and shall see what others wrote who held
    /// it before. The client may know from an event of an earlier connection that they have let go, and the server of
    /// this connection may not have got so far. (Events do not count in the zxid by which the C client keeps away from
    /// such servers.) What the client knows from this connection, this server knows. So the first epoch needs nothing,
    /// and each later one a sync, if somebody reads. After that sync, a write whose outcome is unknown is seen, or will
    /// never be done. A sync goes before it, too, if a lock was handed over past the servers. Gives what that read has
    /// to come after.
    std::uint64_t for_users();
    /// The same for locks handed over past the servers alone.
    std::uint64_t with_handoffs();
    /// Whether an answer to a read that had to come after that may be older: the sync was refused, or its answer lost.
    [[nodiscard]] bool behind_users(std::uint64_t grants) const noexcept;
    [[nodiscard]] bool behind_handoffs(std::uint64_t grants) const noexcept;
    /// The error for users whose reads were answered behind a sync that was refused.
    [[nodiscard]] errc refusal() const noexcept { return refusal_; }

    // --- called by the session ---------------------------------------------------------------------------------------

    /// True if it is not the first connection.
    bool connected() noexcept;
    /// The server has caught up by another request.
    void caught_up() noexcept { now_ = state::done; }
    void contact_lost() noexcept;

private:
    enum class state : std::uint8_t { not_asked, under_way, done };

    /// Sends a sync; `answered` hears whether it was done.
    template <class F> void send(F answered);
    void refused(store::outcome);

    session& session_;
    state now_ = state::not_asked; ///< in this epoch
    errc refusal_{};               ///< the last
    bool refusal_logged_ = false;  ///< in this epoch
    bool connected_before_ = false;
    bool reconnected_ = false; ///< this epoch is not the first
};

} // namespace zklock::recipes
