import { resolve } from 'node:path'
import { type Command, type CommanderError, Option } from 'commander'
import type { AddedUpstream, UpstreamConsent } from '../../../../contracts/index.ts'
import { emptyHeaderReason } from '../../../../core/kernel/index.ts'
import { doubtfulArguments, separateSecrets } from '../../../../core/secrets/index.ts'
import { withShellVariables } from '../../../../core/shell/index.ts'
import { command, printAnswer, type Register } from '../../command.ts'
import { CompletingOption } from '../../completion/command-line.ts'
import { EXIT, EXIT_CODES, UsageError } from '../../errors.ts'
import { defined, repeated } from '../../options.ts'
import { unwrapped } from '../../output/layout.ts'
import { problemBlocks } from '../../output/problem-text.ts'
import { escapeLine } from '../../output/terminal.ts'
import type { Session } from '../../session.ts'
import {
  asksText,
  chooseConsent,
  commonLines,
  consentOptions,
  DEFAULT_CONSENT,
  type GrantChoice,
  grantLine,
  grantOptions,
  keptLines,
  planOf,
  releasedLines,
  targetLines,
  toGrant,
  type UpstreamPlan,
} from './add-plan.ts'
import { argumentNotes, notesBut, pinEntry } from './pinning.ts'
import { rejudgedText, watchReview } from './review-text.ts'
import { firstStates, upstreamSentence } from './upstream-status.ts'

interface AddCommand extends GrantChoice {
  name: string
  words: string[]
  env?: string[]
  header?: string[]
  cwd?: string
  lazy?: boolean
  perAgent?: boolean
  pin?: boolean
  replace?: boolean
  consent?: UpstreamConsent
  yes?: boolean
}

export const registerAdd: Register = (program, act) => {
  addCommand(program, act)
  const added = program.commands.find(one => one.name() === 'add')
  added?.exitOverride(error => {
    throw withSeparator(error, added)
  })
}

const addCommand = command<AddCommand>({
  name: 'add',
  description: 'Add an MCP server: a program, or an address. It is written to the configuration.',
  usage: 'NAME [options] -- COMMAND [ARGUMENTS...]\n       quartermaster add NAME URL [options]',
  arguments: [
    ['<NAME>', 'what it is called here; its tools begin with it', 'name'],
    ['[COMMAND...]', 'the program and its arguments behind --, or the address', 'words'],
  ],
  options: [
    new Option('--env <NAME=VALUE>', 'a variable for the program; repeat for more').argParser(repeated),
    new Option('--header <NAME=VALUE>', 'a header for the address; repeat for more').argParser(repeated),
    new CompletingOption('--cwd <DIR>', 'the working folder of the program (default: the project)', 'dirs'),
    new Option('--lazy', 'start it with the first call'),
    new Option('--per-agent', 'a connection for each agent instead of one for all'),
    new Option('--pin', 'write the present version of an npx package into the command'),
    new Option('--replace', 'replace another one of that name'),
    ...grantOptions(),
    ...consentOptions(),
  ],
  examples: [
    [
      'quartermaster add graph --pin -- npx -y @modelcontextprotocol/server-memory',
      'a program, in its present version',
    ],
    ['quartermaster add search https://mcp.example.com/mcp --header Authorization="Bearer $TOKEN"', 'an address'],
    [
      'quartermaster add db --env DB_PASSWORD=hush --agent analyst -- db-server',
      'for one agent; the secret goes to its file',
    ],
  ],
  run: add,
})

/** An unknown option most likely belongs to the program, whose separator is missing. */
function withSeparator(error: CommanderError, { args }: Command): Error {
  const isUnknown = error.code === 'commander.unknownOption' && !error.message.includes('(Did you mean')
  const meant = isUnknown ? beforeProgram(args) : undefined
  if (meant === undefined) return error
  const message = error.message.replace(/^error: /, '')
  return new UsageError(`${message}\nWrite -- before the program: quartermaster add ${meant} …`)
}

/** The line up to the program, where it is clear which of the words is the program. */
function beforeProgram(args: readonly string[]): string | undefined {
  const [first = '-', second = '-'] = args
  if (first.startsWith('-') || args.includes('--') || args.some(isAddress)) return undefined
  if (!second.startsWith('-')) return `${first} -- ${second}`
  return LAUNCHERS.has(first) && args.length > 2 ? `NAME -- ${first}` : undefined
}

/** Programs that start servers, and that no server is named after. */
const LAUNCHERS: ReadonlySet<string> = new Set(['npx', 'bunx', 'uvx', 'pipx', 'node', 'python', 'python3', 'docker'])

async function add(session: Session, { name, words, ...options }: AddCommand): Promise<number> {
  session.hints = { upstream: name }
  const { host, json, notices } = session
  const { pin = false, replace } = options
  refuseNameless(session.line, words)
  // Secrets are separated first, so that nothing printed later contains one.
  const { entry: open, secrets, note } = separateSecrets(name, toEntry(words, options, host.cwd), { isToRun: true })
  const pinned = await session.attend('Looking for the version', () => pinEntry(open, { pin, host }))
  const { entry } = pinned
  const request = {
    name,
    entry,
    secrets,
    wait: false,
    ...toGrant(options),
    ...defined({ replace }),
    consent: DEFAULT_CONSENT,
  }
  const added = await session.connect(async control => {
    const dryRun = { ...request, dryRun: { beside: [] } }
    const planned = await session.attend('Looking', on => control.addUpstream(dryRun, on))
    const plan = planOf(entry, planned, { secrets })
    // A person sees the plan before anything of it runs. An entry that exists already was shown when it was added.
    if (!json && planned.outcome !== 'unchanged') await notices.write(planText(planned, plan))
    const rejudged = await watchReview(session, control)
    const written = await session.attend(`Adding ${name}`, on => control.addUpstream(request, on))
    const isStarting = written.status?.state === 'starting'
    const states = await firstStates(session, control, isStarting ? [name] : [])
    const judgedAgain = await rejudged([name])
    const seen = { ...written, ...defined({ status: states.get(name) ?? written.status }) }
    const [chosen = seen] = await chooseConsent(session, control, [seen], options)
    return { ...chosen, plan, judgedAgain }
  })
  const notes = [
    ...notesBut(pinned, added.keptVersions),
    ...(note === undefined ? [] : [note]),
    ...doubtfulArguments(entry),
    ...argumentNotes(entry),
  ]
  return printAnswer(
    session,
    { ...added, notes },
    {
      text: `${addedText(added, notes, session)}${rejudgedText(added.judgedAgain, session.out)}`,
      code: host.signal.aborted ? EXIT_CODES.cancelled : EXIT.done,
    },
  )
}

function planText({ name, outcome, ...given }: AddedUpstream, plan: UpstreamPlan): string {
  const lines = [
    ...targetLines(plan),
    grantLine(name, given, { isDryRun: true }),
    ...keptLines(given, { isDryRun: true }),
    ...commonLines([plan]),
  ]
  return `"${escapeLine(name)}" would be ${outcome}:\n${lines.map(line => unwrapped(escapeLine(line), '  ')).join('')}`
}

/** Commander takes the first word for the name, also behind the separator, where it is the program. */
function refuseNameless(line: readonly string[], words: readonly string[]): void {
  const separator = line.indexOf('--')
  if (separator >= 0 && line.length - separator - 1 > words.length)
    throw new UsageError('say what it is called, before the --: NAME -- COMMAND ARGUMENTS.')
}

const isAddress = (word: string) => /^https?:\/\//i.test(word)

function toEntry(
  words: readonly string[],
  options: Omit<AddCommand, 'name' | 'words'>,
  cwd: string,
): Record<string, unknown> {
  const [first, ...args] = words
  if (first === undefined) throw new UsageError('say how to reach it: -- COMMAND ARGUMENTS, or an address.')
  if (first.startsWith('-')) throw new UsageError(`say which program "${first}" is for: -- COMMAND ARGUMENTS.`)
  const { env = [], header = [], lazy, perAgent, consent } = options
  const common = {
    ...(lazy && { start: 'lazy' }),
    ...(perAgent && { connection: 'perAgent' }),
    ...defined({ consent }),
  }
  if (isAddress(first)) {
    if (args.length > 0) throw new UsageError('an address takes no arguments.')
    if (env.length > 0 || options.cwd !== undefined)
      throw new UsageError('--env and --cwd are for programs. For an address there is --header.')
    const headers = pairs(header, '--header')
    for (const [name, value] of Object.entries(headers)) refuseEmpty(name, value)
    return { type: 'http', url: first, ...(header.length > 0 && { headers }), ...common }
  }
  const [, scheme] = /^([a-z][\w+.-]*:)\/\//i.exec(first) ?? []
  if (scheme !== undefined) {
    // Without the rest of the address, which may contain a secret.
    throw new UsageError(
      `"${scheme}" is not spoken here. Give an address that begins with http:// or https://, or a program: -- COMMAND`,
    )
  }
  const [, host] = (args.length === 0 && BARE_ADDRESS.exec(first)) || []
  if (host !== undefined) {
    const scheme = /^(?:localhost|\d)/i.test(host) ? 'http' : 'https'
    throw new UsageError(
      `"${host}" is an address without its beginning. Write ${scheme}://${host}…, or a program as ./${host}…`,
    )
  }
  if (header.length > 0) throw new UsageError('--header is for an address. For a program there is --env.')
  return {
    command: first,
    ...(args.length > 0 && { args: withShellVariables(first, args, isOfShell) }),
    ...(env.length > 0 && { env: pairs(env, '--env') }),
    ...(options.cwd !== undefined && { cwd: resolve(cwd, options.cwd) }),
    ...common,
  }
}

/** A header is most often empty because a variable of the shell is not set. */
function refuseEmpty(header: string, value: string): void {
  const what = emptyHeaderReason(header, value)
  if (what === undefined) return
  throw new UsageError(`the header "${header}" has ${what}. If a variable of your shell belongs there, set it first.`)
}

/** A host with its port or with a path: `mcp.example.com/mcp`, `localhost:3000`. */
const BARE_ADDRESS = /^((?:localhost|(?:[a-z\d-]+\.)+[a-z]{2,}|\d+(?:\.\d+){3})(?::\d+)?)(?:(?<=:\d+)$|\/)/i

/** Whether a `${…}` is for the shell of the script; ours are references. The shell it was typed into left it alone. */
function isOfShell(body: string | undefined): boolean {
  return body === undefined || !/^(?:env|secret):[\w.]/.test(body)
}

function pairs(words: readonly string[], option: string): Record<string, string> {
  // Headers are often copied as `Name: value`.
  const form = option === '--header' ? /^([\w-]+)\s*[:=]\s*(.*)$/s : /^([A-Za-z_]\w*)=(.*)$/s
  return Object.fromEntries(
    words.map(word => {
      const [, name, value] = form.exec(word) ?? []
      if (name !== undefined && value !== undefined) return [name, value]
      // Without the word itself, which may be a secret in the wrong place.
      throw new UsageError(`${option} takes NAME=VALUE.`)
    }),
  )
}

const OUTCOMES = {
  added: 'is added',
  replaced: 'is replaced',
  unchanged: 'was there already',
} as const satisfies Record<AddedUpstream['outcome'], string>

function addedText(added: AddedUpstream, notes: readonly string[], session: Session): string {
  const { out } = session
  const { name, outcome, status, secrets, problems, file } = added
  const isFine = (status?.state === 'up' || status?.state === 'idle') && status.unlisted === undefined
  const mark = isFine ? out.paint.green('✓') : out.paint.yellow('!')
  const state = status ? `; ${upstreamSentence(status, session)}` : ''
  const lines = [
    grantLine(name, added),
    escapeLine(asksText(status)),
    secrets.length > 0 ? `Kept in the secrets file: ${secrets.join(', ')}.` : '',
    ...releasedLines(added),
    ...keptLines(added),
    ...notes,
  ]
  return [
    `${mark} ${unwrapped(`"${name}" ${OUTCOMES[outcome]}${state}. (${file})`)}`,
    ...lines.filter(line => line !== '').map(line => unwrapped(line, '  ')),
    problemBlocks(problems, out),
  ].join('')
}
