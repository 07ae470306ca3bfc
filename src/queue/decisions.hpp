#pragma once
#include "queue/known_queue.hpp"
#include "queue/node_reuse.hpp"
#include "queue/parent_emptying.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace zklock::queue {

/// What is to be done next, by what is known of the queue: once for each step.
class decisions {
public:
    /// What is decided goes to `actions`. `lease_renewable`: grants may be given.
    decisions(known_queue& known, node_reuse& reuse, parent_emptying& emptying, std::vector<action>& actions,
              bool lease_renewable)
        : known_(known), own_(known.own()), places_(known.places()), watches_(known.watches()), reads_(known.reads()),
          reuse_(reuse), emptying_(emptying), actions_(actions), lease_renewable_(lease_renewable)
    {
    }
    void take();

private:
    // who is granted, and what has to be known before
    [[nodiscard]] bool decide_first();
    [[nodiscard]] bool queue_behind(contender&, view::iterator predecessor);
    [[nodiscard]] bool grant_first(contender&);
    void seek_coverage(std::uint64_t stamp);
    void wait_for(view::iterator predecessor, contender_kind);
    [[nodiscard]] view::iterator nearest_below(view::iterator, contender_kind);
    [[nodiscard]] bool watches_own(const contender& c) const { return watches_.is_armed(node_of(c)); }
    /// It has waited, and others may have deleted its node meanwhile: it would not hear of that.
    [[nodiscard]] bool has_to_watch_own(const contender& c) const { return c.waited_for_another && !watches_own(c); }
    [[nodiscard]] bool may_pass_over(const contender&);
    void refuse(contender&, bool by_others);
    void refuse_those_behind();

    // nodes and watches that have served
    void decide_lingering(contender&);
    void pass_on(contender&, bool counts);
    void remove_those_left();
    [[nodiscard]] bool only_ours_wait_for(const place&) const;
    void disarm_unneeded();

    void inspect_those_found();
    void send_downgrades();
    void look_after_holders();
    void arm(const std::string& node) { watches_.arm(actions_, node); }
    void read(action::kind how, bool looks_up = false) { reads_.send(actions_, how, looks_up); }

    known_queue& known_;
    own_contenders& own_;
    places& places_;
    watches& watches_;
    readings& reads_;
    node_reuse& reuse_;
    parent_emptying& emptying_;
    std::vector<action>& actions_;
    const bool lease_renewable_;
};

} // namespace zklock::queue
