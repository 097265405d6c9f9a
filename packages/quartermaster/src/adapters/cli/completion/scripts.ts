/** The shells we can complete in. */
export const SHELLS = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof SHELLS)[number]

/** What a shell must run so that it completes `quartermaster`. It asks us for every word, so it never goes stale. */
export function completionScript(shell: Shell): string {
  return SCRIPTS[shell]
}

// Bash breaks words at `=` and `:`, so the line is split anew at blanks, and what bash holds to be typed already is taken
// off the answers. Nothing newer than bash 3.2 is needed, which macOS ships: it has no compopt, and does without.
const bash = `# bash completion for quartermaster
# Put this in ~/.bashrc:  source <(quartermaster completion bash)
_quartermaster() {
  local line="\${COMP_LINE:0:COMP_POINT}" current typed answer
  local -a words
  read -r -a words <<< "$line"
  case "$line" in *[[:space:]]) words+=('') ;; esac
  current="\${words[\${#words[@]}-1]}"
  typed="\${current%"\${current##*[:=]}"}"
  COMPREPLY=()
  while IFS= read -r answer; do
    answer="\${answer%%$'\\t'*}"
    case "$answer" in
      :files) compopt -o filenames 2>/dev/null; while IFS= read -r answer; do COMPREPLY+=("$answer"); done < <(compgen -f -- "\${current#"$typed"}") ;;
      :dirs) compopt -o filenames 2>/dev/null; while IFS= read -r answer; do COMPREPLY+=("$answer"); done < <(compgen -d -- "\${current#"$typed"}") ;;
      *[![:alnum:]_.,:=/@%+-]*) printf -v answer %q "\${answer#"$typed"}"; COMPREPLY+=("$answer") ;;
      ?*) COMPREPLY+=("\${answer#"$typed"}") ;;
    esac
  done < <("$1" __complete -- "\${words[@]:1}" 2>/dev/null)
}
complete -F _quartermaster quartermaster
`

const zsh = `#compdef quartermaster
# zsh completion for quartermaster
# Put this in ~/.zshrc, after compinit:  source <(quartermaster completion zsh)
_quartermaster() {
  local answer value
  local -a candidates
  while IFS= read -r answer; do
    case "$answer" in
      :files) _files ;;
      :dirs) _files -/ ;;
      ?*)
        value="\${answer%%$'\\t'*}"
        if [[ "$answer" == *$'\\t'* ]]; then
          candidates+=("\${value//:/\\\\:}:\${answer#*$'\\t'}")
        else
          candidates+=("\${value//:/\\\\:}")
        fi
        ;;
    esac
  done < <("\${words[1]}" __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)
  (( \${#candidates} )) && _describe quartermaster candidates
}
compdef _quartermaster quartermaster
`

const fish = `# fish completion for quartermaster
# Write it to ~/.config/fish/completions/quartermaster.fish
function __quartermaster_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    for answer in ($words[1] __complete -- $words[2..-1] "$current" 2>/dev/null)
        switch $answer
            case ':files'
                __fish_complete_path "$current"
            case ':dirs'
                __fish_complete_directories "$current"
            case '*'
                echo $answer
        end
    end
end
complete -c quartermaster -f -a '(__quartermaster_complete)'
`

const SCRIPTS = { bash, zsh, fish } as const satisfies Record<Shell, string>
