#pragma once
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <string>

namespace zklock::tool {

/// What `doctor` finds, one line for each: it is printed as it is found.
class findings {
public:
    explicit findings(bool json) : json_(json) {}

    void good(const std::string& about, const std::string& text, boost::json::object details = {})
    {
        add("ok", about, text, std::move(details));
    }
    /// Something that somebody should know, and that works.
    void doubtful(const std::string& about, const std::string& text, boost::json::object details = {})
    {
        add("warning", about, text, std::move(details));
    }
    void bad(const std::string& about, const std::string& text, boost::json::object details = {})
    {
        all_well_ = false;
        add("bad", about, text, std::move(details));
    }

    [[nodiscard]] bool all_well() const { return all_well_; }

private:
    void add(const char* verdict, const std::string& about, const std::string& text, boost::json::object details);

    const bool json_;
    bool all_well_ = true;
};

} // namespace zklock::tool
