# The manual and the completion know all subcommands and options that the program has; and what the manual says is well
# formed. Usage: bash documents.sh ZKLOCK FOLDER, with zklock.1 and completion.bash in the folder.
set -u
zklock=$1
folder=$2
failures=0
fail() {
    echo "FAILED: $1" >&2
    failures=$((failures + 1))
}

# complete_words WORD...: what the completion offers for the last of them.
complete_words() {
    COMP_WORDS=(zklock "$@")
    COMP_CWORD=$#
    COMPREPLY=()
    _zklock
    printf '%s\n' "${COMPREPLY[@]}"
}
# expect TEXT WORD...: that is among them.
expect() {
    local text=$1
    shift
    complete_words "$@" | grep -qxF -- "$text" || fail "completing 'zklock $*' does not offer $text"
}

manual=$(<"$folder/zklock.1")
source "$folder/completion.bash"
subcommands=$("$zklock" --help | sed -n '/^Subcommands:/,$p' | sed -n 's/^  \([a-z][a-z]*\) .*/\1/p')
[[ $(wc -w <<<"$subcommands") == 7 ]] || fail "seven subcommands expected, not: $subcommands"
for sub in $subcommands; do
    grep -Eq "^\.It Cm $sub( |\$)" <<<"$manual" || fail "the manual does not describe $sub"
    expect "$sub" ''
    for option in $("$zklock" "$sub" --help | grep -Eo '(^|[ ,])--?[a-zA-Z][a-z-]*' | tr -d ' ,' | sort -u); do
        case $option in
            --*)
                grep -qF -- "Fl Fl ${option#--}" <<<"$manual" || fail "the manual does not describe $option of $sub"
                expect "$option" "$sub" --
                ;;
            *) grep -Eq -- "^\.It Fl ${option#-} " <<<"$manual" || fail "the manual does not describe $option of $sub" ;;
        esac
    done
done
for status in 120 121 122 123 124 125 126 127; do
    grep -Eq "^\.It $status\$" <<<"$manual" || fail "the manual does not describe the status $status"
done

expect creator run --acl c
expect grep run /path gre
expect grep run -n -w 5 /path -- gre
[[ ! $(complete_words ls /path gre) ]] || fail "ls takes no command"

if type groff >/dev/null 2>&1; then
    warnings=$(groff -mdoc -Tutf8 -ww "$folder/zklock.1" 2>&1 >/dev/null)
    [[ ! $warnings ]] || fail "groff says: $warnings"
    groff -mdoc -Tutf8 "$folder/zklock.1" | grep -q 'locks in ZooKeeper from the command line' || fail "the manual has no name"
fi
# number UNIT KEY, argument UNIT OPTION: what a unit says.
number() { sed -n "s/^$2=\\([0-9]*\\)\$/\\1/p" "$1"; }
argument() { sed -n "s/^ExecStart=.* $2 \\([0-9]*\\) .*/\\1/p" "$1"; }
for unit in billing report; do
    file=$folder/systemd/$unit.service
    (($(number "$file" TimeoutStopSec) > $(argument "$file" --kill-after))) || fail "$unit is killed too early"
    grep -qx KillMode=mixed "$file" || fail "$unit's command has TERM twice"
    # The tool knows the words: no server is there.
    words=$(sed -n 's/^ExecStart=[^ ]* \([a-z]*\) /\1 --servers 127.0.0.1:1 --connect-timeout 0.1 /p' "$file")
    "$zklock" $words 2>/dev/null
    [[ $? == 122 ]] || fail "$unit's arguments cannot be used"
done
if type systemd-analyze >/dev/null 2>&1; then
    copy=$(mktemp -d)
    for unit in "$folder"/systemd/*; do
        sed "s|^ExecStart=/usr/bin/zklock|ExecStart=$zklock|" "$unit" >"$copy/${unit##*/}"
    done
    said=$(SYSTEMD_LOG_LEVEL=warning systemd-analyze verify --man=no "$copy"/* 2>&1) ||
        fail "systemd does not take the units: $said"
    ! grep -F "$copy" <<<"$said" || fail "systemd has something to say of the units"
    rm -r "$copy"
fi
exit $((failures > 0))
