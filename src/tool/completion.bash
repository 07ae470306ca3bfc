# bash completion for zklock(1)

_zklock()
{
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} i sub='' at=0
    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; ++i)); do
        case ${COMP_WORDS[i]} in
            run | lead | ls | top | revoke | break | doctor)
                sub=${COMP_WORDS[i]}
                at=$i
                break
                ;;
        esac
    done
    if [[ ! $sub ]]; then
        mapfile -t COMPREPLY < <(compgen -W 'run lead ls top revoke break doctor --help --version' -- "$word")
        return
    fi

    # A command is completed as if it stood alone: behind a --, or behind the path.
    if [[ $sub == run || $sub == lead ]]; then
        local value='' paths=0
        for ((i = at + 1; i < COMP_CWORD; ++i)); do
            if [[ $value ]]; then
                value=''
                continue
            fi
            case ${COMP_WORDS[i]} in
                --) paths=1 ;;
                -w | -E | --timeout | --conflict-exit-code | --limit | --hold-at-least | --kill-after | --name | \
                    --servers | --session-timeout | --server-tick | --connect-timeout | --auth | --acl | --tls-ca | \
                    --tls-cert | --tls-key | --sasl | --sasl-user | --sasl-password-file | --sasl-service | \
                    --sasl-keytab | --handoff | --handoff-advertise | --handoff-peers) value=yes ;;
                -*) ;;
                *) paths=1 ;;
            esac
            if ((paths)) && [[ $word != -* || ${COMP_WORDS[i]} == -- ]]; then
                [[ ${COMP_WORDS[i + 1]} == -- ]] && ((i + 1 < COMP_CWORD)) && ((++i))
                if declare -F _command_offset >/dev/null; then
                    _command_offset $((i + 1))
                elif ((i + 1 == COMP_CWORD)); then
                    mapfile -t COMPREPLY < <(compgen -c -- "$word")
                else
                    mapfile -t COMPREPLY < <(compgen -f -- "$word")
                fi
                return
            fi
        done
    fi

    case $before in
        --tls-ca | --tls-cert | --tls-key | --sasl-password-file | --sasl-keytab)
            mapfile -t COMPREPLY < <(compgen -f -- "$word")
            return
            ;;
        --acl)
            mapfile -t COMPREPLY < <(compgen -W 'open creator creator-or-read' -- "$word")
            return
            ;;
    esac
    if [[ $before == --sasl ]]; then
        mapfile -t COMPREPLY < <(compgen -W 'gssapi digest-md5' -- "$word")
        return
    fi
    local options='--servers --session-timeout --server-tick --connect-timeout --auth --acl --name --tls --tls-ca
        --tls-cert --tls-key --sasl --sasl-user --sasl-password-file --sasl-service --sasl-keytab --json --help'
    case $sub in
        run) options+=' --nonblock --timeout --conflict-exit-code --shared --exclusive --limit --hold-at-least --command
            --kill-after --revocable --verbose --handoff --handoff-advertise --handoff-peers' ;;
        lead) options+=' --command --kill-after --revocable --verbose --handoff --handoff-advertise --handoff-peers' ;;
        ls) options+=' --recursive --held' ;;
        break) options+=' --yes' ;;
    esac
    [[ $word != -* ]] || mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
}

complete -F _zklock zklock
