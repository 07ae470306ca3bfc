# Of the public headers, which it reads, each struct's members and each enumeration, as macros for layout.cpp.
BEGIN { print "// Made by members.awk of the public headers." }
function qualified(name) {
    if (inner != "")
        return inner "::" name
    return outer == "" ? name : outer "::" name
}
/^(template <.*> )?(class|struct) .*\{$/ {
    outer = $0 ~ /^(class|struct) (\[\[nodiscard\]\] )?[a-z_]+( : [a-z_]+)? \{$/ ? $0 : ""
    gsub(/^(class|struct) (\[\[nodiscard\]\] )?| .*$/, "", outer)
    open = outer != "" && /^struct /
}
/^};/ { outer = inner = ""; open = 0 }
/^    struct [a-z_]+ \{$/ { inner = qualified($2) }
/^    };/ { inner = "" }
/^ *enum class [a-z_]+( : .*)? \{$/ {
    print "ENUM(" qualified($3) ")"
}
{
    type = inner
    if (inner == "" && open)
        type = outer
    if (type == "" || $0 !~ (inner == "" ? "^    [a-z]" : "^        [a-z]"))
        next
    sub(/ *\/\/.*/, "")
    while (gsub(/<[^<>]*>/, ""))
        ;
    sub(/\{.*\};/, ";")
    sub(/ = .*;/, ";")
    if ($0 ~ /^ +[a-z][A-Za-z0-9_:]* [a-z_]+;$/ && $1 !~ /^(using|friend|return)$/)
        print "MEMBER(" type ", " substr($2, 1, length($2) - 1) ")"
}
