#pragma once
#include "recipes/contender_list.hpp"
#include "recipes/request_for.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace zklock::recipes {

/// A request to let go of a lock: to one contender, or to whoever holds it. Nobody is forced.
///
/// It is repeated, to the same contenders, when the connection ends before the answer: to be asked twice is no harm.
/// The answer is how many were asked: those that were still there.
class revocation final : public request_for<std::size_t> {
public:
    /// Asks the contender of that node.
    revocation(session_core&, std::string node, done);
    /// Asks those who hold the lock of a path, as of one look at its children.
    revocation(session_core&, std::string path, listed, done);

private:
    void send() override;
    void look();
    void ask();
    void ask(const std::string& node);

    const std::string path_; ///< whose children are to be looked at, if they are
    const listed what_;
    std::vector<std::string> nodes_;
    bool looked_;
    std::size_t answers_due_ = 0;
    std::size_t asked_ = 0;
    bool cut_ = false; ///< the connection ended meanwhile
};

} // namespace zklock::recipes
