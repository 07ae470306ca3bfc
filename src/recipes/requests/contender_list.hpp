#pragma once
#include "queue/node_name.hpp"
#include "recipes/requests/children_in_order.hpp"
#include "recipes/session/request_for.hpp"
#include "zklock/contender.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace zklock::recipes {

/// Which children are listed, and in which order; and which of them hold what the list is of.
struct listed {
    children_in_order::reader read;
    bool (*before)(const contender&, const contender&);
    /// Which of all the children hold what the list is of.
    std::vector<std::string> (*holders)(const std::vector<std::string>& children);

    /// The contenders of a lock, by their numbers.
    static const listed queue;
    /// All children, which are the leases of a semaphore.
    static const listed leases;
};

/// The number at the end of the name of a semaphore's lease; 0 for one that has none.
[[nodiscard]] std::int32_t lease_sequence(std::string_view child) noexcept;

/// One reading of a lock's queue: the children, then each contender's node; or those of the first, up to a number.
class contender_list final : public request_of_several<std::vector<contender>> {
public:
    static constexpr std::size_t all = std::numeric_limits<std::size_t>::max();

    /// `gone` is told of each node that turned out not to exist.
    contender_list(session&, std::string path, std::function<void(const std::string& node)> gone, done,
                   listed what, std::size_t most = all);

    [[nodiscard]] bool has_more() const noexcept override;

private:
    void restart() override;
    void send() override;
    [[nodiscard]] bool reads() const noexcept override { return true; }
    void read();
    void finish() override;

    const std::string path_;
    const std::function<void(const std::string&)> gone_;
    const listed what_;
    const std::size_t most_;
    bool listing_ = false;      ///< the children have been asked for
    children_in_order to_read_;
    std::vector<contender> found_;
};

} // namespace zklock::recipes
