#pragma once
#include "store/store.hpp"

#include <boost/intrusive/list.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace zklock::recipes {

class resting_member;
class session_core;

using line_of_members =
    boost::intrusive::list<resting_member, boost::intrusive::base_hook<boost::intrusive::list_base_hook<>>>;

/// Deletes the containers that members have made and nobody uses any more: many in one transaction, and one transaction
/// at a time, so that no lock's write waits for more than that. One that cannot be deleted, for somebody else has a
/// node in it, makes the servers refuse its company: so after a refusal fewer go together, and more again as long as it
/// goes well.
class idle_containers {
public:
    explicit idle_containers(session_core&);
    ~idle_containers();
    idle_containers(const idle_containers&) = delete;
    idle_containers& operator=(const idle_containers&) = delete;

    /// It is idle, and has made some. It is asked which one, by resting_member::next_container(), when it is its turn.
    void enter(resting_member&);
    void forget(resting_member&) noexcept;
    /// There is a connection.
    void proceed();

private:
    static constexpr std::size_t most_together = 64;

    struct removal {
        resting_member* member = nullptr;
        std::string node;
    };

    void send();
    void on_answer(const store::reply&, std::size_t failed);

    session_core& core_;
    line_of_members waiting_;
    std::vector<removal> under_way_;
    std::size_t together_ = most_together;
    bool gathering_ = false; ///< until the end of the turn
};

} // namespace zklock::recipes
