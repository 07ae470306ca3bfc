#pragma once
#include "stage.hpp"

namespace zklock::simulator {

/// What users of a lock do with it, where clients have peers: each path has a register in the simulated ZooKeeper, and
/// whoever holds the path's lock reads it, and may write it, waiting for the answer or not. A holder has to see all
/// that was written under the lock before, and all that holders before it have seen; and nothing that a holder has
/// sent is written once another client has the lock.
class held_registers {
public:
    explicit held_registers(stage& s);

    /// Somebody who holds a path's lock.
    struct holder {
        std::string tag;
        client* where = nullptr;
        unsigned path = 0;
        std::string node;
        std::uint32_t choice = 0;
        std::chrono::milliseconds hold{0};
        std::function<bool()> believes; ///< that it holds
        std::function<bool()> excused;  ///< what was done to it excuses what it sees
        std::function<bool()> shares;   ///< it reads, together with others
    };
    /// It has been granted just now.
    void granted(holder h);
    /// The owner of the node of that uuid has said that it never serves anybody again: it may not if a holder has
    /// written, for the next could come before what it wrote.
    void let_go(std::string_view uuid);
    /// The ensemble: registers are as they were, and what holders knew may be gone.
    void set_back();

private:
    using zxid = std::int64_t;
    struct hold {
        holder who;
        zxid must_see = 0;
        std::size_t number = 0; ///< among those of its path
        bool wrote = false;     ///< or may have
        bool before_set_back = false;
    };
    struct write_under_way {
        const hold* of = nullptr;
        bool sent = false; ///< while its writer held, and not after it had waited for others or for a connection
    };
    /// What holders of a path know.
    struct knowledge {
        zxid of_writers = 0;
        zxid of_readers = 0; ///< which readers need not have from each other
    };

    void make(const std::string& path);
    void read(hold& h);
    void write(hold& h);
    void learn(const hold& h, zxid seen);
    void sent(const std::string& data);
    void executed(const hold& h, const std::string& data, zxid when);
    [[nodiscard]] bool may_act(const hold& h) const;
    void say(const hold& h, const std::string& what);
    void violate(const hold& h, const std::string& what);

    stage& stage_;
    std::deque<hold> holds_;
    std::map<unsigned, std::vector<const hold*>> of_path_; ///< in the order of their grants
    std::map<unsigned, knowledge> known_;
    std::unordered_map<std::string, write_under_way> writes_; ///< by what they write
};

/// Where the register of a path is.
[[nodiscard]] std::string held_register(unsigned path);

} // namespace zklock::simulator
