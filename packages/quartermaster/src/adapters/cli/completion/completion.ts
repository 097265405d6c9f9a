import type { Argument, Command, Option } from 'commander'
import type { AgentControl, Control } from '../../../contracts/index.ts'
import { command, printAnswer, type Register } from '../command.ts'
import { escapeLine } from '../output/terminal.ts'
import { createSession, type Session } from '../session.ts'
import {
  CompletingArgument,
  CompletingOption,
  type CompletionKind,
  type Cursor,
  DynamicCommand,
  findCursor,
  findOption,
} from './command-line.ts'

/** The shells we can complete in. */
export const SHELLS = ['bash', 'zsh', 'fish'] as const
type Shell = (typeof SHELLS)[number]

export const registerCompletion = command<{ shell: Shell }>({
  name: 'completion',
  description: 'Print the script that makes a shell complete commands, options and names.',
  arguments: [['<SHELL>', 'the shell', 'shell', SHELLS]],
  examples: [
    ['source <(quartermaster completion bash)', 'complete in this bash; put it in ~/.bashrc to keep it'],
    ['quartermaster completion fish > ~/.config/fish/completions/quartermaster.fish', 'complete in fish from now on'],
  ],
  run: (session, { shell }) => {
    const script = completionScript(shell)
    return printAnswer(session, { shell, script }, { text: script })
  },
})

/** A shell that hangs at a Tab is worse than one that does not complete. */
const ANSWER_WITHIN_MS = 1_000

/** `__complete -- WORDS…`: called by the scripts of `completion`. The last word is the one under the cursor. */
export const registerComplete: Register = (program, act) => {
  program
    .command('__complete', { hidden: true })
    .argument('[WORDS...]')
    .action((words: string[]) => act(session => complete(session, program, words)))
}

async function complete(session: Session, program: Command, words: readonly string[]): Promise<number> {
  const candidates =
    (await inTime(session, candidatesFor(session, program, words))) ??
    // No answer in time: what the program knows without a server can still be completed.
    (await findCandidates(findCursor(program, words), pathsAlone))
  await session.out.write(candidates.filter(isVisible).map(line).join(''))
  return 0
}

async function candidatesFor(session: Session, program: Command, words: readonly string[]): Promise<Candidate[]> {
  const cursor = findCursor(program, words)
  const { command, config, data, agent, given } = cursor
  // A progress line at a Tab would only disturb, and a session for JSON has none.
  const { connectAsAgent: connect } = createSession(session.host, { config, data, json: true })
  if (!(command instanceof DynamicCommand)) return await findCandidates(cursor, createLookup(connect))
  await connect(control => command.addSubcommands(command, control, { words, agent, given }))
  return await findCandidates(findCursor(program, words), createLookup(connect))
}

function inTime<T>(session: Session, work: Promise<T>): Promise<T | undefined> {
  return new Promise(resolve => {
    const cancel = session.host.clock.after(ANSWER_WITHIN_MS, () => resolve(undefined))
    // The command reports an error when it runs; a completion cannot show one.
    work.then(resolve, () => resolve(undefined)).finally(cancel)
  })
}

/** Names come from servers. One that could steer the terminal is not completed. */
function isVisible({ value }: Candidate): boolean {
  return escapeLine(value) === value
}

function line({ value, about }: Candidate): string {
  return about ? `${value}\t${escapeLine(about)}\n` : `${value}\n`
}

/** What a shell must run so that it completes `quartermaster`. It asks us for every word, so it never goes stale. */
export function completionScript(shell: Shell): string {
  return SCRIPTS[shell]
}

// Bash breaks words at `=` and `:`, so the line is split again at blanks, and the part before the last break is taken off
// the answers. It needs nothing newer than bash 3.2, which macOS ships and which has no compopt.
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

/** A word that can stand at the cursor, and what it is. */
export interface Candidate {
  value: string
  about?: string | undefined
}

type Lookup = (kind: CompletionKind) => Promise<Candidate[]>

/** Everything that can stand at the cursor and begins with what was written there. */
export async function findCandidates(cursor: Cursor, lookup: Lookup): Promise<Candidate[]> {
  const all = await allCandidates(cursor, lookup)
  return all.filter(({ value }) => value.startsWith(cursor.current) || value.startsWith(':'))
}

async function allCandidates(
  { command, current, option, argument, literal, takesCommand }: Cursor,
  lookup: Lookup,
): Promise<Candidate[]> {
  if (option && !(option.variadic && current.startsWith('-'))) return await values(option, lookup)
  const [flag = '', value] = current.split(/=(.*)/s)
  const assigned = literal || value === undefined ? undefined : findOption(command, flag)
  if (assigned) {
    const found = await values(assigned, lookup)
    return found.map(({ value, about }) => ({ value: value.startsWith(':') ? value : `${flag}=${value}`, about }))
  }
  if (current.startsWith('-') && !literal) return optionNames(command)
  return [...(takesCommand ? commandNames(command) : []), ...(argument ? await values(argument, lookup) : [])]
}

async function values(target: Option | Argument, lookup: Lookup): Promise<Candidate[]> {
  if (target.argChoices) return target.argChoices.map(value => ({ value }))
  const isKnown = target instanceof CompletingArgument || target instanceof CompletingOption
  return isKnown ? await lookup(target.completes) : []
}

function optionNames(command: Command): Candidate[] {
  const help = command.createHelp()
  const options = [...help.visibleGlobalOptions(command), ...help.visibleOptions(command)]
  // An option of the command replaces one of the program that has the same name.
  const byName = new Map(options.map(({ long, short = '', description }) => [long ?? short, description]))
  return [...byName].map(([value, about]) => ({ value, about }))
}

function commandNames(command: Command): Candidate[] {
  const visible = command.createHelp().visibleCommands(command)
  return visible.map(each => ({ value: each.name(), about: each.summary() || each.description() }))
}

/** Finds no names. Paths are completed by the shell: `:files` and `:dirs` tell it so. */
export const pathsAlone: Lookup = async kind => (kind === 'files' || kind === 'dirs' ? [{ value: `:${kind}` }] : [])

/** Finds names through `Control`; an agent is shown its own. */
export function createLookup(connect: Session['connectAsAgent']): Lookup {
  return async kind => {
    if (kind === 'files' || kind === 'dirs') return await pathsAlone(kind)
    return await connect(async (control, owner) => {
      if (kind === 'tool' || kind === 'section') return NAMES[kind](control)
      return owner ? NAMES[kind](owner) : []
    })
  }
}

type Tools = Pick<AgentControl, 'tools'>

const NAMES = {
  tool: async (control: Tools) => (await control.tools({})).map(({ name, short }) => ({ value: name, about: short })),
  section: async (control: Tools) =>
    [...new Set((await control.tools({})).map(tool => tool.section))].map(value => ({ value })),
  agent: async (control: Control) =>
    (await control.agents({})).map(({ name, title }) => ({ value: name, about: title })),
  capability: async (control: Control) =>
    (await control.capabilities({})).map(({ key, short }) => ({ value: key, about: short })),
  upstream: async (control: Control) =>
    (await control.upstreams({})).map(({ name, state }) => ({ value: name, about: state })),
  /** Every name alone, and with its kind for where two are the same. */
  anything: async (control: Control): Promise<Candidate[]> => {
    const { dependencies } = await control.status({})
    const byKind = {
      tool: await NAMES.tool(control),
      dependency: dependencies.map(({ name, state }) => ({ value: name, about: state })),
      capability: await NAMES.capability(control),
    }
    const plain = new Map(Object.values(byKind).flatMap(list => list.map(one => [one.value, one])))
    const exact = Object.entries(byKind).flatMap(([kind, list]) =>
      list.map(({ value, about }) => ({ value: `${kind}:${value}`, about })),
    )
    return [...plain.values(), ...exact]
  },
}
