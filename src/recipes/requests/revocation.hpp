#pragma once
#include "recipes/requests/contender_list.hpp"
#include "recipes/session/request_for.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace zklock::recipes {

/// A request to let go of a lock, which goes to one contender or to all holders. Nobody is forced.
///
/// It is repeated, to the same contenders, when the connection ends before the answer: to be asked twice is no harm.
/// The answer is how many were asked: those that were still there.
class revocation final : public request_of_several<std::size_t> {
public:
    /// Asks the contender of that node.
    revocation(session&, std::string node, done_function);
    /// Asks those who hold the lock of a path, as of one look at its children.
    revocation(session&, std::string path, list_kind, done_function);

    [[nodiscard]] bool has_more() const noexcept override { return !ended() && !unseen_ && next_ != nodes_.size(); }

private:
    void restart() override;
    void send() override;
    /// Only a revocation that has to look for the holders tells its user something that others have written.
    [[nodiscard]] bool reads() const noexcept override { return unseen_.has_value(); }
    void look();
    void ask();
    void finish() override;

    struct holders {
        std::string path;
        list_kind what;
    };
    std::optional<holders> unseen_; ///< they have to be looked for
    std::vector<std::string> nodes_;
    std::size_t next_ = 0; ///< of them
    std::size_t asked_ = 0;
};

} // namespace zklock::recipes
