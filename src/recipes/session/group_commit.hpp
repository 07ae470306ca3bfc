#pragma once
#include "recipes/session/write_source.hpp"
#include "store/store.hpp"

#include <cstddef>
#include <deque>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace zklock::recipes {

class session;

inline constexpr std::size_t most_bytes_of_a_batch = 256 * 1024; ///< of paths and data: a quarter of what servers read

/// Sends the creates and deletes of all sources of a client. A lone write leaves at once; while others are under way,
/// the next ones gather, and go together as one transaction: one write of each source, in the order in which the
/// sources came, then the next of each. Only a delete that another client may be waiting for does not wait for those
/// under way: it goes at the end of the turn, and takes along what has gathered.
///
/// The idea is the group commit of databases: the price of a transaction is shared, and the busier a client is, the
/// less each of its locks costs.
///
/// Sources stand in line, and not finished writes: a source is asked when its write may be sent. So a write that is not
/// needed any more is not sent, the others say what is known by then, and a source reserves memory and budget for a
/// write only when it goes. And a token counts a node's place among those that its path makes in one transaction, which
/// is known only when that is put together.
class group_commit {
public:
    explicit group_commit(session& s) : session_(s) {}
    group_commit(const group_commit&) = delete;
    group_commit& operator=(const group_commit&) = delete;

    /// The source has something to write. It is asked what, by next_write(), when it comes up.
    void join(write_source&, bool urgent);
    /// Sends what may go now. Called when a step of a source is complete.
    void proceed();
    /// Nothing is under way any more, and nothing may be sent.
    void epoch_ended();
    void forget(write_source&);

private:
    using writes = std::span<const node_write>;
    /// What is sent together. Its memory, and that of the strings in it, serves what is sent later.
    struct transaction {
        std::vector<node_write> room;
        std::size_t count = 0; ///< how many of them are in use

        [[nodiscard]] writes all() const noexcept { return {room.data(), count}; }
    };
    using shared_transaction = std::shared_ptr<transaction>;

    void gather_until_the_turn_ends();
    void flush();
    [[nodiscard]] shared_transaction take();
    void put_back(const shared_transaction&);
    void take_one(std::deque<write_source*>& line, bool urgent, transaction& to, std::size_t& bytes);
    void send();
    void send_alone(const node_write&);
    void alone_answered(write_source&);
    void send_together(const shared_transaction&);
    void on_answer(const shared_transaction&, const store::batch_reply&);
    void on_failure(writes, const store::batch_reply&);
    static void give(const node_write&, const store::create_reply&);
    /// All of one transaction have one czxid: a look at one of them tells it.
    void learn_czxid(const shared_transaction&, std::string_view one);
    struct all {
        bool operator()(const node_write&) const noexcept { return true; }
    };
    template <class Which = all> static void tell_sources(writes, Which which = {});

    session& session_;
    std::deque<write_source*> line_;         ///< with something to write, each once
    std::deque<write_source*> urgent_line_;  ///< with a delete that does not wait, each once
    std::vector<write_source*> asked_;       ///< what they have to write, while a transaction is gathered
    std::vector<shared_transaction> spare_; ///< answered
    std::vector<store::batch_write> batch_; ///< what is being sent
    unsigned under_way_ = 0;
    bool gathering_ = false; ///< until the end of the turn
    bool sending_ = false;
};

} // namespace zklock::recipes
