# What Doxygen reads of the user's guide, the list of changes and the tables for migration: headings get the anchors
# by which they are linked to, links to headers lead to their pages, and links to files that the reference has not
# become text. All documents share their anchors: those of the tables get a word before them.
function anchor(title) {
    title = tolower(title)
    gsub(/[^a-z0-9 _-]/, "", title)
    gsub(/ /, "-", title)
    return title
}
# Of a path of a page of the guide.
function page(path) {
    sub(/.*\//, "", path)
    sub(/\.md.*/, "", path)
    return path
}
# Links between the guide's pages, and from there to headers.
function within_guide(line,  link) {
    if (FILENAME ~ /zklock\/guide\//) {
        gsub(/\]\(\.\.\/README\.md\)/, "](@ref guide)", line)
        while (match(line, /\]\(\.\.\/[a-z_]+\.hpp\)/))
            line = substr(line, 1, RSTART + 1) substr(line, RSTART + 5)
    }
    while (match(line, /\]\((guide\/)?[a-z]+\.md(#[^)]*)?\)/)) {
        link = substr(line, RSTART + 2, RLENGTH - 3)
        line = substr(line, 1, RSTART + 1) \
            (link ~ /#/ ? substr(link, index(link, "#")) : "@ref guide-" page(link)) substr(line, RSTART + RLENGTH - 1)
    }
    return line
}
FNR == 1 { word = FILENAME ~ /zklock\/MIGRATION\.md$/ ? "migration-" : "" }
/^```/ { code = !code }
code { print; next }
/^# / && FILENAME ~ /zklock\/README\.md$/ { print $0 " {#guide}"; next }
/^# / && FILENAME ~ /zklock\/guide\// { print $0 " {#guide-" page(FILENAME) "}"; next }
/^# / && FILENAME ~ /zklock\/CHANGELOG\.md$/ { print $0 " {#changes}"; next }
/^# / && FILENAME ~ /zklock\/MIGRATION\.md$/ { print $0 " {#migration}"; next }
/^##+ / && FILENAME ~ /zklock\/((README|MIGRATION)\.md$|guide\/)/ {
    title = $0
    sub(/^#+ /, "", title)
    print $0 " {#" word anchor(title) "}"
    next
}
{
    $0 = within_guide($0)
    while (match($0, /\[[^]]*\]\((\.\.|detail)\/[^)]*\)/)) {
        link = substr($0, RSTART, RLENGTH)
        text = link
        sub(/\]\([^)]*\)$/, "", text)
        $0 = substr($0, 1, RSTART - 1) substr(text, 2) substr($0, RSTART + RLENGTH)
    }
    gsub(/\]\(CHANGELOG\.md\)/, "](@ref changes)")
    gsub(/\]\(MIGRATION\.md\)/, "](@ref migration)")
    gsub(/\]\(README\.md\)/, "](@ref guide)")
    gsub(/\]\(#/, "&" word)
    while (match($0, /\]\([a-z_]+\.hpp\)/)) # that header's page
        $0 = substr($0, 1, RSTART + 1) "@ref zklock/" substr($0, RSTART + 2)
    gsub(/<!--[^>]*-->/, "")
    print
}
