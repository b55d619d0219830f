# SPDX-License-Identifier: Apache-2.0
# Completes the command rynd in fish. Commands, options and their choices are read from --help, so that there is one list of them.

# A command's help with each option in one line.
function __rynd_help
    $argv[1] $argv[2] --help 2>/dev/null | awk '/^                    / { sub(/^ +/, ""); line = line " " $0; next } { if (NR > 1) print line; line = $0 } END { print line }'
end

function __rynd_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l count (count $words)
    if test $count -eq 1; or test $count -eq 2 -a "$words[2]" = help
        $words[1] --help 2>/dev/null | string replace -rf '^  ([a-z]+) +(.*)' '$1\t$2'
        test $count -eq 1; and printf 'help\texplain a command\n'
        return
    end
    set -l option $words[-1]
    set -l before ''
    if string match -qr '^--[a-z-]+=' -- $current
        set option (string replace -r '=.*' '' -- $current)
        set before $option=
    end
    set -l help (__rynd_help $words[1] $words[2])
    if string match -q -- '-*' $option
        set -l choices (string replace -rf "^  (?:-., )?$option .*\(([a-z0-9_]*\|[a-z0-9_|]*)\)\$" '$1' -- $help)
        if test -n "$choices"
            for choice in (string split '|' $choices)
                echo $before$choice
            end
            return
        end
    end
    if string match -q -- '-*' $current
        string replace -rf '^  (?:-., )?(--[a-z-]+)(?: [^ ]+)?  +(.*)' '$1\t$2' -- $help
        return
    end
    __fish_complete_path $current
end

complete -c rynd -f -a '(__rynd_complete)'
