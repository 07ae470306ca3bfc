#pragma once
#include "recipes/session/request_for.hpp"
#include "recipes/session/session.hpp"
#include "store/store.hpp"
#include "zklock/node.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>

namespace zklock::recipes {

class node_watches;
class watched_path;

/// One who waits until a node is as he says. He is told once, and later.
class node_wait final : public withdrawable, public std::enable_shared_from_this<node_wait> {
public:
    enum class goal : std::uint8_t {
        created,         ///< there is such a node
        deleted,         ///< there is none, or another one than was seen
        changed,         ///< its data have been set since it was seen, or it is gone, or another one
        children_changed ///< a child has come or gone since it was seen, or it is gone, or another one
    };
    /// The node as it is then, if it is there; nothing for `deleted`.
    using done_function = std::function<void(error_code, const std::optional<node_stat>&)>;

    /// Where `seen` is missing, it is what the first look finds. It means nothing for `created`.
    node_wait(session&, goal, std::optional<node_stat> seen, done_function);

    withdrawal withdraw() override;
    /// Nobody will be told anything any more.
    void forget_caller() noexcept { done_ = nullptr; }

private:
    friend class watched_path;
    friend class node_watches;

    /// Whether a look that found `now` ends the wait.
    [[nodiscard]] bool is_met_by(const std::optional<node_stat>& now);
    /// Whether the deletion of the node that a look had found as `before` ends the wait.
    [[nodiscard]] bool is_met_by_end_of(const std::optional<node_stat>& before) const noexcept;
    void end(error_code, const std::optional<node_stat>& = {});

    session& session_;
    const goal for_;
    std::optional<node_stat> seen_;
    done_function done_;
    bool ended_ = false;
    watched_path* where_ = nullptr; ///< as long as it waits
    std::list<std::shared_ptr<node_wait>>::iterator place_;
};

/// What the users of a client wait for at one path. All who wait for the node share one look and one watch; all who
/// wait for its children share another of each.
///
/// **State, not events.** A wait ends because a look has found what it waits for, or because the node has been deleted.
/// Any other event only says that it is time to look. So it does no harm if several changes are told as one, or if they
/// happen while there is no connection: the first look of each connection finds out.
/// **Nothing between look and watch.** A look arms the watch. A wait that begins while the look is under way, or while
/// the watch is armed, is judged by what that look finds: the watch tells what happens after it.
/// **Later, not other.** What a look finds counts only if it is later than what was seen, by the node's zxids, because
/// what was seen may come from a server that knows more than this one: another client's, say.
class watched_path {
public:
    watched_path(session&, node_watches& all, std::string path);
    ~watched_path();
    watched_path& operator=(watched_path&&) = delete;

    [[nodiscard]] const std::string& path() const noexcept { return path_; }
    /// It has a watch on the server.
    [[nodiscard]] bool armed() const noexcept { return data_.armed || children_.armed; }
    /// That watch was armed when there was no such node.
    [[nodiscard]] bool armed_for_creation() const noexcept { return data_.armed && !data_.found; }
    [[nodiscard]] bool in_use() const noexcept { return data_.in_use() || children_.in_use(); }

    void add(const std::shared_ptr<node_wait>&);

    // --- what the session tells --------------------------------------------------------------------------------------

    void epoch_began();
    void epoch_ended();
    void on_event(store::event_kind);
    void end_all(errc why);

    /// To be called at the end of a step: it may destroy this object.
    void leave_if_idle();

private:
    friend class node_wait;

    enum class side : std::uint8_t { data, children };
    using waits = std::list<std::shared_ptr<node_wait>>;

    /// One look: with `watch`, what happens afterwards is told.
    class look final : public request_for<> {
    public:
        look(session&, watched_path& where, side, bool watch);

        [[nodiscard]] bool watches() const noexcept { return watch_; }
        [[nodiscard]] bool under_way() const noexcept { return under_way_; }
        void epoch_ended() noexcept { under_way_ = false; }

    private:
        void send() override;
        [[nodiscard]] bool reads() const noexcept override { return true; }
        void answer_came(store::outcome, const node_stat&);
        [[nodiscard]] std::size_t weight() const noexcept;

        watched_path& where_;
        const side what_;
        const bool watch_;
        bool under_way_ = false;
    };

    /// Those who wait for the same kind of event, and the watch that tells them of it.
    struct watch_of {
        watched_path::waits waits;
        std::shared_ptr<look> looking; ///< under way or in line, or its failure is being told
        bool look_again = false;       ///< what it finds may be older than one who waits may see
        bool armed = false;
        std::optional<node_stat> found; ///< by the look that has armed it; nothing if there was no such node

        [[nodiscard]] bool in_use() const noexcept { return !waits.empty() || looking; }
    };

    [[nodiscard]] watch_of& of(side s) noexcept { return s == side::data ? data_ : children_; }
    [[nodiscard]] static side side_of(node_wait::goal what) noexcept
    {
        return what == node_wait::goal::children_changed ? side::children : side::data;
    }
    void remove(node_wait&);
    void begin_look(side, bool watch);
    void looked(side, bool watched, store::outcome, const node_stat&);
    void look_failed(side, error_code);
    void drop_look(side);
    [[nodiscard]] static bool all_end_by(const watch_of&, store::event_kind) noexcept;
    static void fail(watch_of&, error_code why);
    template <class Ends>
    static void end_those(watch_of&, Ends, error_code = {}, const std::optional<node_stat>& now = {});

    session& session_;
    node_watches& all_;
    const std::string path_;
    watch_of data_;
    watch_of children_;
};

} // namespace zklock::recipes
