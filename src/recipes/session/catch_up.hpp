#pragma once
#include "recipes/session/session_part.hpp"
#include "store/store.hpp"
#include "zklock/errc.hpp"

#include <cstddef>
#include <cstdint>

namespace zklock::recipes {

/// Has the server catch up, by syncs, with what was done before: before this epoch, or by locks that were handed over
/// past the servers.
class catch_up : session_part {
public:
    using session_part::session_part;

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
    [[nodiscard]] bool behind_handoffs(std::uint64_t grants) const noexcept { return synced_ < grants; }
    /// The error for users whose reads were answered behind a sync that was refused.
    [[nodiscard]] errc refusal() const noexcept { return refusal_; }

    // --- grants over nodes that were let go --------------------------------------------------------------------------
    //
    // A grant by event comes after all that the server of this connection must have done before. One by certificate may
    // come before that server knows what earlier holders have read, or what they knew to be written: so a sync goes
    // before the next read for a user, unless the nodes that were passed over have been seen gone by then.

    /// A contender was granted over nodes that were let go, and may still be there.
    void granted_over_let_go() noexcept { ++certified_grants_; }
    /// So many of those were not seen gone yet at a path, where it was `before`.
    void unseen(std::size_t before, std::size_t now) noexcept;
    /// A path goes away that has so many of them: only a sync makes up for those.
    void unseen_for_ever(std::size_t count) noexcept;
    /// How many of those grants a read for a user has to come after; 0 if a server of this connection is past them all.
    [[nodiscard]] std::uint64_t to_catch_up() const noexcept
    {
        return synced_ == certified_grants_ ? 0 : certified_grants_;
    }

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

    state now_ = state::not_asked; ///< in this epoch
    errc refusal_{};               ///< the last
    bool refusal_logged_ = false;  ///< in this epoch
    bool connected_before_ = false;
    bool reconnected_ = false; ///< this epoch is not the first

    std::uint64_t certified_grants_ = 0; ///< over nodes that were let go
    std::uint64_t asked_ = 0;            ///< those of them that were before the last sync
    std::uint64_t synced_ = 0;           ///< those that this client's reads come after
    std::uint64_t only_by_sync_ = 0;     ///< those whose nodes nobody looks at any more
    std::size_t unseen_ = 0;
};

} // namespace zklock::recipes
