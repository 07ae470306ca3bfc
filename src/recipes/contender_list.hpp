#pragma once
#include "queue/node_name.hpp"
#include "recipes/request_for.hpp"
#include "zklock/contender.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zklock::recipes {

/// Which children are listed, and in which order; and which of them hold what the list is of.
struct listed {
    /// What a child's name tells; nothing when it is not meant.
    std::optional<queue::contender_name> (*read)(std::string_view child) noexcept;
    bool (*before)(const contender&, const contender&);
    /// Of all children.
    std::vector<std::string> (*holders)(const std::vector<std::string>& children);

    /// The contenders of a lock, by their numbers.
    static const listed queue;
    /// All children, which are the leases of a semaphore.
    static const listed leases;
};

/// One reading of a lock's queue: the children, then each contender's node.
class contender_list final : public request_of_several<std::vector<contender>> {
public:
    /// `gone` is told of each node that turned out not to exist.
    contender_list(session_core&, std::string path, std::function<void(const std::string& node)> gone, done,
                   listed what);

private:
    void send() override;
    void list(const std::vector<std::string>& names);
    void finish() override;

    const std::string path_;
    const std::function<void(const std::string&)> gone_;
    const listed what_;
    std::vector<contender> found_;
};

} // namespace zklock::recipes
