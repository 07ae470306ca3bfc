#pragma once
#include "recipes/session_core.hpp"
#include "zklock/contender.hpp"

#include <boost/system/error_code.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace zklock::recipes {

using boost::system::error_code;

/// One reading of a lock's queue: the children, then each contender's node. Begins again when the connection ends.
class contender_list : public std::enable_shared_from_this<contender_list> {
public:
    using done = std::function<void(error_code, std::vector<contender>)>;

    /// `gone` is told of each node that turned out not to exist.
    contender_list(session_core&, std::string path, std::function<void(const std::string& node)> gone, done);

    /// Sends the requests; there is a connection.
    void start();
    /// Ends it, unless it has ended.
    void fail(errc);
    /// Ends it without a word. False, and nothing happens, when it has ended.
    bool withdraw();
    [[nodiscard]] bool ended() const noexcept { return !done_; }

private:
    void list(const std::vector<std::string>& names);
    void finish();

    session_core& core_;
    const std::string path_;
    const std::function<void(const std::string&)> gone_;
    done done_;
    std::vector<contender> found_;
    std::size_t answers_due_ = 0;
    bool cut_ = false; ///< the connection ended meanwhile
};

} // namespace zklock::recipes
