// What a stranger may send to a client, in pieces and after a time as the input says: to one that listens, and to one
// that has connected. A second reading of the whole says what may come of it.
#include "bridge/peers/inbound.hpp"
#include "bridge/peers/outbound.hpp"
#include "input.hpp"

using namespace zklock;
using namespace zklock::bridge::peering;
using fuzz::require;

namespace {

constexpr unsigned nodes = 4;

lease_clock::time_point after(std::chrono::milliseconds time)
{
    return lease_clock::time_point(std::chrono::hours(1)) + time;
}

node_id numbered(unsigned number)
{
    node_id id{};
    id[0] = static_cast<std::uint8_t>(number);
    return id;
}

node_id commit(const store::node_secret& s)
{
    node_id id{};
    std::copy_n(s.begin(), id.size(), id.begin());
    return id;
}

/// Gives what is left of the input to `take`, piece by piece, until that hangs up. Returns what it was given.
template <class Take> std::string in_pieces(fuzz::input& in, Take take)
{
    std::string given;
    std::chrono::milliseconds time{0};
    while (!in.empty()) {
        std::string piece;
        for (auto left = in.below(64) + 1; left != 0 && !in.empty(); --left)
            piece += static_cast<char>(in.byte());
        time += std::chrono::milliseconds(in.below(4));
        given += piece;
        if (take(bytes(reinterpret_cast<const std::uint8_t*>(piece.data()), piece.size()), after(time)) ==
            verdict::hang_up)
            break;
    }
    return given;
}

void to_a_listener(fuzz::input& in)
{
    counters::counter told;
    offers all(told);
    offers::place last = 0;
    for (unsigned i = 0; i < nodes; ++i)
        last = all.offer(numbered(i));
    store::node_secret secret{};
    secret[0] = nodes - 1;
    all.publish(last, secret, {}, after(std::chrono::milliseconds(0)));
    std::string out;
    std::vector<node_id> awaited;
    inbound peer(all, 1, after(std::chrono::milliseconds(0)), out);
    require(out.size() == greeting.size(), "it is greeted");
    out.clear();
    const auto given = in_pieces(in, [&](bytes piece, auto now) { return peer.receive(piece, now, out, awaited); });
    require(out.empty() || out.size() == sizeof(certificate_frame), "a node that is gone is told once");
    require(told.read() == out.size() / sizeof(certificate_frame), "what is told is counted");
    require(awaited.size() <= given.size() / sizeof(wish_frame), "a node is awaited because somebody has said so");
    for (const node_id& each : awaited)
        require(each[0] < 3 && each == numbered(each[0]), "only nodes of ours are awaited");
    for (unsigned i = 0; i < 256; ++i)
        require(!all.awaited(numbered(i)) || i < 3, "no other name is stored");
    all.forget(1);
    for (unsigned i = 0; i < nodes; ++i)
        require(!all.awaited(numbered(i)), "nothing of it is left");
}

void to_a_caller(fuzz::input& in)
{
    outbound peer(commit, after(std::chrono::milliseconds(0)));
    std::string out;
    std::vector<outbound::proof> heard;
    for (unsigned i = 0; i < nodes; ++i)
        peer.want(numbered(i), after(std::chrono::milliseconds(0)), out);
    std::size_t reads = 0;
    const auto given = in_pieces(in, [&](bytes piece, auto now) {
        ++reads;
        return peer.receive(piece, now, out, heard);
    });
    std::string hello;
    append(hello, greeting);
    if (!given.starts_with(hello)) {
        require(out.empty() && heard.empty(), "who has not greeted hears nothing, and is not listened to");
        return;
    }
    require(out.size() == nodes * sizeof(wish_frame), "after the greeting it hears what is waited for, once");
    // The whole read again: certificates up to the first byte that begins none.
    std::vector<store::node_secret> expected;
    for (std::size_t at = hello.size(); at + sizeof(certificate_frame) <= given.size();
         at += sizeof(certificate_frame)) {
        if (given[at] != static_cast<char>(certificate_mark))
            break;
        store::node_secret each{};
        std::copy_n(given.begin() + static_cast<std::ptrdiff_t>(at) + 1, each.size(), each.begin());
        expected.push_back(each);
    }
    require(heard.size() <= expected.size(), "nothing is heard that was not said");
    for (std::size_t i = 0; i < heard.size(); ++i)
        require(heard[i].secret == expected[i], "what is heard is what was said");
    require(heard.size() == expected.size() || heard.size() + reads >= outbound::most_unasked,
            "all is heard, up to the bound");
    for (unsigned i = 0; i < nodes; ++i) {
        const bool proved = std::ranges::any_of(heard, [&](const auto& each) { return each.of == numbered(i); });
        out.clear();
        peer.want_no_more(numbered(i), after(std::chrono::milliseconds(0)), out);
        require(out.empty() == proved, "what is proved is waited for no more");
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    fuzz::input in(data, size);
    if (in.byte() % 2 == 0)
        to_a_listener(in);
    else
        to_a_caller(in);
    return 0;
}
