#pragma once
#include "store/store.hpp"
#include "zklock/client_options.hpp"

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace zklock::recipes {

/// Makes a lock's path, and what is missing above it, when a create has failed because it is not there.
class parent_maker {
public:
    explicit parent_maker(store::store& store) : store_(store) {}

    /// Answers `ok` when `path` was there or has been made; `no_node` when the chroot itself is missing; otherwise why
    /// it could not be made. One at a time; the maker has to live until the answer.
    void make(std::string path, parent_kind kind, std::function<void(store::outcome)> done);

    /// The containers that the last call has made itself, in order. The servers clear one away once its last child has
    /// gone; one that never had a child would stay for ever.
    [[nodiscard]] std::vector<std::string> take_containers() { return std::exchange(containers_, {}); }

    [[nodiscard]] bool busy() const noexcept { return !missing_.empty(); }

private:
    void create_next();
    void finish(store::outcome);

    store::store& store_;
    store::node_kind kind_ = store::node_kind::persistent;
    std::vector<std::string> missing_; ///< the one to be created next is the last
    std::vector<std::string> containers_;
    std::function<void(store::outcome)> done_;
};

} // namespace zklock::recipes
