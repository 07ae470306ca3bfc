#pragma once
// What the tests of time-outs and cancellation have in common: where an acquire is suspended.
#include "integration/recipe_scene.hpp"

namespace zklock::test {

struct suspension_point {
    std::string_view name;
    opcode op;
    moment at;
    bool contended;
    std::size_t skip = 0;
};

// What an acquire sends, in its order: the create with the watch of the path behind it; when somebody is before it, the
// read of the children, and the watches on its own node and on its predecessor's.
inline constexpr std::array suspension_points{
    suspension_point{"create, not yet done", opcode::create2, moment::request, false},
    suspension_point{"create, not yet done, behind a holder", opcode::create2, moment::request, true},
    suspension_point{"create, done", opcode::create2, moment::reply, false},
    suspension_point{"create, done, behind a holder", opcode::create2, moment::reply, true},
    suspension_point{"path, not yet watched", opcode::get_data, moment::request, false},
    suspension_point{"path, watched", opcode::get_data, moment::reply, false},
    suspension_point{"path, watched, behind a holder", opcode::get_data, moment::reply, true},
    suspension_point{"children, not yet read, behind a holder", opcode::get_children2, moment::request, true},
    suspension_point{"children, read, behind a holder", opcode::get_children2, moment::reply, true},
    suspension_point{"watch, not yet set", opcode::get_data, moment::request, true, 1},
    suspension_point{"watch, set", opcode::get_data, moment::reply, true, 1},
};

/// The next acquire of the path's lock stays at that point. Tells what the server keeps when it has been given up.
inline std::vector<std::string> hold_up(remote_client& remote, admin_client& admin, const std::string& path,
                                        const suspension_point& point)
{
    std::vector<std::string> stays;
    admin.create_all(path);
    if (point.contended)
        stays.push_back(foreign_contender(admin, path));
    remote.link.on_next(point.op, point.at, fate::hold, point.skip);
    return stays;
}

} // namespace zklock::test
