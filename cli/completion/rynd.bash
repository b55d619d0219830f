# SPDX-License-Identifier: Apache-2.0
# Completes the command rynd in bash. Commands, options and their choices are read from --help, so that there is one list of them.

# A command's help with each option in one line.
_rynd_help() {
    "$1" "$2" --help 2>/dev/null | awk '/^                    / { sub(/^ +/, ""); line = line " " $0; next } { if (NR > 1) print line; line = $0 } END { print line }'
}

_rynd() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]} program=${COMP_WORDS[0]}
    local help option choices
    COMPREPLY=()

    if ((COMP_CWORD == 1)) || { ((COMP_CWORD == 2)) && [[ $command == help ]]; }; then
        help=$("$program" --help 2>/dev/null | sed -n 's/^  \([a-z]*\) .*/\1/p')
        [[ $command == help ]] || help+=" help --help --version"
        mapfile -t COMPREPLY < <(compgen -W "$help" -- "$current")
        return
    fi

    help=$(_rynd_help "$program" "$command")

    # "--name=value" comes as three words.
    if [[ $current == "=" ]]; then
        option=$previous current=
    elif [[ $previous == "=" ]]; then
        option=${COMP_WORDS[COMP_CWORD - 2]}
    else
        option=$previous
    fi
    if [[ $option == -* ]]; then
        choices=$(sed -n "s/^  \(-., \)\?$option .*(\([a-z0-9_]*|[a-z0-9_|]*\))$/\2/p" <<<"$help")
        if [[ -n $choices ]]; then
            mapfile -t COMPREPLY < <(compgen -W "${choices//|/ }" -- "$current")
            return
        fi
    fi
    if [[ $current == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(sed -n 's/^  \(-., \)\?\(--[a-z-]*\).*/\2/p' <<<"$help")" -- "$current")
        return
    fi
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
    compopt -o filenames 2>/dev/null
}

complete -F _rynd rynd
