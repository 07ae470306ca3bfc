# Fails, naming them, if links of the HTML pages that it reads lead to no page, or to nothing in it: Doxygen is silent on
# links of documents that it does not know.
FNR == 1 {
    page = FILENAME
    sub(/.*\//, "", page)
    there[page] = 1
}
{
    line = $0
    while (match(line, /(href|id|name)="[^"]*"/)) {
        what = substr(line, RSTART, RLENGTH)
        line = substr(line, RSTART + RLENGTH)
        value = what
        sub(/^[a-z]*="/, "", value)
        sub(/"$/, "", value)
        if (what !~ /^href/)
            there[page "#" value] = 1
        else if (value !~ /^(https?|javascript|mailto):/ && value !~ /\.(css|png|ico)$/)
            links[(value ~ /^#/ ? page value : value)] = page
    }
}
END {
    for (link in links)
        if (!(link in there)) {
            print links[link] ": there is no " link > "/dev/stderr"
            failed = 1
        }
    exit failed
}
