#pragma once
#include "unit/lock_queue_driver.hpp"

namespace zklock::unit {

using queue::contender_kind;

inline std::string node(const std::string& id, const char* mark, int sequence)
{
    char digits[16];
    std::snprintf(digits, sizeof digits, "%010d", sequence);
    return "_c_" + id + "-" + mark + digits;
}
inline std::string reader(int id, int sequence)
{
    return node(std::to_string(id), "__READ__", sequence);
}
inline std::string writer(int id, int sequence)
{
    return node(std::to_string(id), "__WRIT__", sequence);
}
inline std::string foreign_reader(int sequence)
{
    return node("x", "__READ__", sequence);
}
inline std::string foreign_writer(int sequence)
{
    return node("x", "__WRIT__", sequence);
}

/// Contenders that read and write, each create answered at once with the next number.
struct shared_driver : driver {
    void send(contender_id id, contender_kind kind, bool look_once = false)
    {
        join(id, look_once, kind);
        REQUIRE(next_to_create() == id);
        const std::string name =
            kind == contender_kind::reader ? reader(static_cast<int>(id), 0) : writer(static_cast<int>(id), 0);
        create_sent(id, name.substr(0, name.size() - queue::sequence_digits));
    }
    driver& arrive(contender_id id, contender_kind kind, int sequence, bool look_once = false)
    {
        send(id, kind, look_once);
        const int number = static_cast<int>(id);
        const bool reads = kind == contender_kind::reader;
        created(id, reads ? reader(number, sequence) : writer(number, sequence), sequence, czxid_of(sequence));
        return token_known(id, 4095);
    }
    driver& reads(contender_id id, int sequence, bool look_once = false)
    {
        return arrive(id, contender_kind::reader, sequence, look_once);
    }
    driver& writes(contender_id id, int sequence, bool look_once = false)
    {
        return arrive(id, contender_kind::writer, sequence, look_once);
    }

    /// Number 0 belongs to another client's node, which the view shows.
    driver& begin_behind(const std::string& foreign)
    {
        epoch_began();
        reads(1, 1).does("parent");
        parent_watched(2, 2, czxid_of(1)).does("read");
        return children_read({foreign, reader(1, 1)}, 2, true);
    }
    /// Contender 1 holds number 0 as a writer, alone.
    void hold_as_writer()
    {
        epoch_began();
        send(1, contender_kind::writer);
        does("parent");
        created(1, writer(1, 0), 0, czxid_of(0));
        token_known(1, 4095);
        parent_shows_one(1).does("granted 1");
    }
};

} // namespace zklock::unit
