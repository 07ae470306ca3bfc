#pragma once
#include "recipes/semaphore/permit_node.hpp"
#include "recipes/semaphore/semaphore_part.hpp"
#include "store/store.hpp"
#include "zklock/errc.hpp"
#include "zklock/events.hpp"

#include <boost/system/error_code.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace zklock::recipes {

class semaphore_acquisition;

/// The nodes that stand for the permits of one client at one semaphore: made, looked for when it is not known whether
/// they were, watched, and deleted.
class permit_nodes final : private semaphore_part {
public:
    permit_nodes(semaphore_path&, session&, const semaphore_layout&);

    /// What each takes in the node budget.
    [[nodiscard]] std::size_t cost() const noexcept { return cost_; }
    [[nodiscard]] bool none() const noexcept { return nodes_.empty() && to_remove_.empty(); }
    /// How many are not gone.
    [[nodiscard]] std::size_t size() const noexcept { return nodes_.size(); }
    /// All creates were sent, and none of them is lost.
    [[nodiscard]] bool all_sent() const noexcept
    {
        return to_create_.empty() && unknown_.empty() && look_up_ == look_up::none;
    }
    [[nodiscard]] bool know(const std::string& name) const { return by_name_.contains(name); }
    /// The node by that name; null if none of them has it.
    [[nodiscard]] permit_ptr find(std::string_view name) const;
    /// That node is of one who still waits.
    [[nodiscard]] bool of_a_waiter(std::string_view name) const;
    /// The full path of a node; without its number as long as that is not known.
    [[nodiscard]] std::string path_of(const permit_node&) const;

    /// The head of the line wants a node for each of its permits, for which there is room in the budget.
    void want(semaphore_acquisition& head);
    /// That node has no owner any more: it is deleted.
    void drop(const permit_ptr&);
    /// Watches the holder's nodes from now on: others may delete them, or ask their holder to let go. `again`: those
    /// that are watched are looked at once more.
    void watch(const semaphore_acquisition& holder, bool again);
    /// Others have deleted it, or the session has taken it along.
    void lost_to_others(const permit_ptr&);
    /// An answer says that their parent is gone: so are all that were there.
    void parent_gone();
    /// Sends what is due. `creates`: the path is there, as far as is known.
    void send(bool creates);
    /// Sends the deletes that are due, before anything else is sent.
    void flush();

    // --- called by its path ------------------------------------------------------------------------------------------

    void epoch_began();
    void epoch_ended() noexcept { look_up_ = look_up::none; }
    void session_ended();
    void session_overdue();
    void stop(errc why);
    /// False if that is none of them.
    bool on_event(store::event_kind, std::string_view child);
    [[nodiscard]] bool is_watched(std::string_view child) const;
    [[nodiscard]] bool owns(std::string_view child) const;
    [[nodiscard]] bool misses_one(const std::set<std::string_view>& names) const;

private:
    enum class look_up : std::uint8_t { none, due, under_way }; ///< of nodes whose creates are lost

    [[nodiscard]] std::vector<permit_ptr> take_batch(std::vector<permit_ptr>&) const;
    template <class Answered> void send_together(std::vector<permit_ptr>, store::batch_write form, Answered answered);
    void send_creates();
    void send_create(const permit_ptr&);
    void on_created(const permit_ptr&, store::outcome, std::string_view path, std::int64_t czxid = 0);
    void take_name(const permit_ptr&, std::string_view name);
    void send_look_up();
    void on_look_up(const std::vector<std::string>& names, std::int64_t changed);
    void send_removes();
    void send_remove(const permit_ptr&);
    void on_removed(const permit_ptr&, store::outcome);
    void send_watches();
    void gone(const permit_ptr&, boost::system::error_code = {});
    void gone_already(const permit_ptr&);
    [[nodiscard]] lock_loss loss_of(const permit_node&, const semaphore_acquisition&) const noexcept;

    const std::size_t cost_;
    std::uint64_t last_id_ = 0;
    std::map<std::uint64_t, permit_ptr> nodes_; ///< all that are not gone, by their ids
    std::unordered_map<std::string, permit_ptr> by_name_;
    std::vector<permit_ptr> to_create_;
    std::vector<permit_ptr> to_remove_;
    std::vector<permit_ptr> unknown_;
    look_up look_up_ = look_up::none;
    std::vector<permit_ptr> to_watch_; ///< or once more: a watch is used up, or gone with its epoch
};

} // namespace zklock::recipes
