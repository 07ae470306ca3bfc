#pragma once
#include "recipes/session/write_source.hpp"
#include "store/store.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
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
/// What waits is, of each source, the nodes to be deleted and the next to be created, by their ids: a write is made of
/// each right before it is sent, and the source fills in what it says. So a write that is not needed any more is not
/// sent, the others say what is known by then, and a source reserves memory and budget for a write only when it goes.
/// And a token counts a node's place among those that its path makes in one transaction, which is known only when that
/// is put together. (nghttp2 asks for the data of an HTTP/2 stream in the same way.) Each source has ids of its own,
/// because no source is to wait for all that another one has, and a source takes back what is its own.
class group_commit {
public:
    explicit group_commit(session& s) : session_(s) {}
    group_commit(const group_commit&) = delete;
    group_commit& operator=(const group_commit&) = delete;

    /// The node of that id is to be deleted. `urgent`: another client may be waiting for that.
    void remove(write_source&, std::uint64_t id, bool urgent);
    /// The node of that id is the next to be created for the source, in place of the one named before; 0: none.
    void name_create(write_source&, std::uint64_t id);
    /// The source takes back what was not sent. `unsent` is told each delete.
    template <class F> void take_back(write_source& source, F unsent)
    {
        source.create_ = 0;
        for (auto* ids : {&source.removes_, &source.urgent_removes_})
            for (std::uint64_t id : std::exchange(*ids, {}))
                unsent(id);
    }
    /// Sends what may go now. Called when a step of a source is complete.
    void proceed();
    /// Nothing is under way any more, and nothing may be sent.
    void epoch_ended();
    void forget(write_source&);

private:
    using writes = std::span<const node_write>;
    /// What is sent together. Its memory, and that of the strings in it, serves what is sent later.
    struct batch {
        std::vector<node_write> room;
        std::size_t count = 0; ///< how many of them are in use

        [[nodiscard]] writes all() const noexcept { return {room.data(), count}; }
    };
    using shared_batch = std::shared_ptr<batch>;

    void join(write_source&, bool urgent);
    void gather_until_the_turn_ends();
    void flush();
    [[nodiscard]] shared_batch take();
    void put_back(const shared_batch&);
    void take_one(std::deque<write_source*>& line, bool urgent, batch& to, std::size_t& bytes);
    [[nodiscard]] static bool next_of(write_source&, bool urgent, node_write&);
    void send();
    void send_alone(const shared_batch& of, const node_write&);
    void alone_answered(const shared_batch& of, write_source&);
    void send_together(const shared_batch&);
    void on_answer(const shared_batch&, const store::batch_reply&);
    void note_done(writes, const store::batch_reply&);
    void on_failure(const shared_batch&, const store::batch_reply&);
    /// All of one transaction have one czxid: a look at one of them tells it.
    void learn_czxid(const shared_batch&, std::string_view one, lease_clock::time_point sent);
    struct all {
        bool operator()(const node_write&) const noexcept { return true; }
    };
    template <class Which = all> static void tell_sources(writes, Which which = {});

    session& session_;
    std::deque<write_source*> line_;        ///< those that have writes, each once
    std::deque<write_source*> urgent_line_; ///< those that have a delete that does not wait, each once
    std::vector<write_source*> served_;     ///< whose writes were prepared for what is being sent
    std::vector<shared_batch> spare_;       ///< answered
    std::vector<store::batch_write> sent_;  ///< what is being sent
    unsigned under_way_ = 0;
    bool gathering_ = false; ///< until the end of the turn
    bool sending_ = false;
};

} // namespace zklock::recipes
