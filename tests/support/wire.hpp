#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace zklock::test {

/// The request types of ZooKeeper's protocol that a client of ours may send, and some of our own for frames that
/// have no type on the wire.
enum class opcode : std::int32_t {
    any = -1000,         ///< matches every request but connect and ping
    connect = -1001,     ///< the first frame of each direction
    watch_event = -1002, ///< sent by the server on its own
    tls_record = -1003,  ///< of either direction, where a proxy sees nothing but those
    close_session = -11,
    notification = 0,
    create = 1,
    remove = 2,
    exists = 3,
    get_data = 4,
    set_data = 5,
    get_acl = 6,
    set_acl = 7,
    get_children = 8,
    sync = 9,
    ping = 11,
    get_children2 = 12,
    check = 13,
    multi = 14,
    create2 = 15,
    check_watches = 17,
    remove_watches = 18,
    create_container = 19,
    create_ttl = 21,
    auth = 100,
    set_watches = 101,
    sasl = 102
};

/// Lays out values as ZooKeeper's protocol wants them: big-endian, strings after their length.
class wire_writer {
public:
    wire_writer& int32(std::int32_t value) { return bytes(static_cast<std::uint32_t>(value), 4); }
    wire_writer& int64(std::int64_t value) { return bytes(static_cast<std::uint64_t>(value), 8); }
    wire_writer& boolean(bool value) { return bytes(value ? 1 : 0, 1); }
    wire_writer& text(std::string_view value)
    {
        int32(static_cast<std::int32_t>(value.size()));
        out_.append(value);
        return *this;
    }

    wire_writer& operator<<(const wire_writer& more)
    {
        out_ += more.out_;
        return *this;
    }

    /// What was written, after its length, as it goes on the wire.
    [[nodiscard]] std::string frame() const
    {
        return wire_writer{}.int32(static_cast<std::int32_t>(out_.size())).out_ + out_;
    }

private:
    wire_writer& bytes(std::uint64_t value, int count)
    {
        for (int i = count - 1; i >= 0; --i)
            out_.push_back(static_cast<char>(value >> (8 * i)));
        return *this;
    }

    std::string out_;
};

/// Takes such values out of a frame again; throws when it ends too early.
class wire_reader {
public:
    explicit wire_reader(std::string_view bytes) : rest_(bytes) {}

    std::int32_t int32() { return static_cast<std::int32_t>(number(4)); }
    std::int64_t int64() { return static_cast<std::int64_t>(number(8)); }
    bool boolean() { return number(1) != 0; }
    std::string_view text()
    {
        const auto length = int32();
        return length <= 0 ? std::string_view{} : take(static_cast<std::size_t>(length));
    }
    [[nodiscard]] std::string_view rest() const noexcept { return rest_; }

private:
    std::string_view take(std::size_t count)
    {
        if (rest_.size() < count)
            throw std::runtime_error("a ZooKeeper frame ends too early");
        const auto taken = rest_.substr(0, count);
        rest_.remove_prefix(count);
        return taken;
    }
    std::uint64_t number(std::size_t count)
    {
        std::uint64_t value = 0;
        for (const char c : take(count))
            value = value << 8 | static_cast<unsigned char>(c);
        return value;
    }

    std::string_view rest_;
};

} // namespace zklock::test
