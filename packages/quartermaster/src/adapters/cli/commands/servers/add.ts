import { resolve } from 'node:path'
import { type Command, type CommanderError, Option } from 'commander'
import type { AddedUpstream, UpstreamConsent } from '../../../../contracts/index.ts'
import { emptyHeader } from '../../../../core/kernel/index.ts'
import { doubtfulArguments, separateSecrets } from '../../../../core/secrets/index.ts'
import { withShellVariables } from '../../../../core/shell/index.ts'
import { addExamples, type Register } from '../../command.ts'
import { CompletingOption } from '../../completion/command-line.ts'
import { EXIT, EXIT_CODES, UsageError } from '../../errors.ts'
import { defined, repeated } from '../../options.ts'
import { escapeLine } from '../../output/escape.ts'
import { paragraph } from '../../output/layout.ts'
import type { Printer } from '../../output/printer.ts'
import { problemBlock } from '../../output/problem-text.ts'
import type { Session } from '../../session.ts'
import {
  addConsentOptions,
  addGrantOptions,
  asksText,
  chooseConsent,
  DEFAULT_CONSENT,
  type GrantChoice,
  toGrant,
} from './add-choices.ts'
import {
  commonLines,
  givenLine,
  keptLines,
  planOf,
  releasedLines,
  targetLines,
  type UpstreamPlan,
  wouldGiveLine,
} from './add-plan.ts'
import { argumentNotes, notesBut, pinEntry } from './pinning.ts'
import { type JudgedAgain, judgedText, watchReview } from './review-text.ts'
import { askedBy, firstStates, upstreamSentence } from './upstream-status.ts'

interface AddOptions extends GrantChoice {
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
  const command = program
    .command('add')
    .description('Add an MCP server: a program, or an address. It is written to the configuration.')
    .usage('NAME [options] -- COMMAND [ARGUMENTS...]\n       quartermaster add NAME URL [options]')
    .argument('<NAME>', 'what it is called here; its tools begin with it')
    .argument('[COMMAND...]', 'the program and its arguments behind --, or the address')
    .addOption(new Option('--env <NAME=VALUE>', 'a variable for the program; repeat for more').argParser(repeated))
    .addOption(new Option('--header <NAME=VALUE>', 'a header for the address; repeat for more').argParser(repeated))
    .addOption(new CompletingOption('--cwd <DIR>', 'the working folder of the program (default: the project)', 'dirs'))
    .option('--lazy', 'start it with the first call')
    .option('--per-agent', 'a connection for each agent instead of one for all')
    .option('--pin', 'write the present version of an npx package into the command')
    .option('--replace', 'take the place of another one of that name')
  command.exitOverride(error => {
    throw withSeparator(error, command)
  })
  addConsentOptions(addGrantOptions(command)).action((name: string, words: string[], options: AddOptions) =>
    act(session => add(session, name, words, options)),
  )
  addExamples(command, [
    [
      'quartermaster add graph --pin -- npx -y @modelcontextprotocol/server-memory',
      'a program, in its present version',
    ],
    ['quartermaster add search https://mcp.example.com/mcp --header Authorization="Bearer $TOKEN"', 'an address'],
    [
      'quartermaster add db --env DB_PASSWORD=hush --agent analyst -- db-server',
      'for one agent; the secret goes to its file',
    ],
  ])
}

/** An option that is not ours is most likely the program's, and stands before the separator for want of one. */
function withSeparator(error: CommanderError, { args }: Command): Error {
  const isUnknown = error.code === 'commander.unknownOption' && !error.message.includes('(Did you mean')
  const meant = isUnknown ? meantBy(args) : undefined
  if (meant === undefined) return error
  const message = error.message.replace(/^error: /, '')
  return new UsageError(`${message}\nWrite -- before the program: quartermaster add ${meant} …`)
}

/** Where it is clear which of the words is the program. */
function meantBy(args: readonly string[]): string | undefined {
  const [first = '-', second = '-'] = args
  if (first.startsWith('-') || args.includes('--') || args.some(isAddress)) return undefined
  if (!second.startsWith('-')) return `${first} -- ${second}`
  return LAUNCHERS.has(first) && args.length > 2 ? `NAME -- ${first}` : undefined
}

/** What servers are started with, and hardly ever called. */
const LAUNCHERS: ReadonlySet<string> = new Set(['npx', 'bunx', 'uvx', 'pipx', 'node', 'python', 'python3', 'docker'])

async function add(session: Session, name: string, words: readonly string[], options: AddOptions): Promise<number> {
  session.hints = { upstream: name }
  const { pin = false, replace } = options
  refuseNameless(session.line, words)
  const written = toEntry(words, options, session.host.cwd)
  // First of all, so that nothing which is said later holds one.
  const { entry: open, secrets, note } = separateSecrets(name, written, { isToRun: true })
  const pinned = await session.attend('Looking for the version', () => pinEntry(open, { pin, host: session.host }))
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
    const look = { ...request, dryRun: { beside: [] } }
    const planned = await session.attend('Looking', on => control.addUpstream(look, on))
    const plan = planOf(entry, planned, { secrets })
    if (!session.json) await session.notices.write(planText(planned, plan, session.notices))
    const judged = await watchReview(session, control)
    const written = await session.attend(`Adding ${name}`, on => control.addUpstream(request, on))
    const isStarting = written.status?.state === 'starting'
    const states = await firstStates(session, control, isStarting ? [name] : [])
    const judgedAgain = await judged([name])
    const seen = { ...written, ...defined({ status: states.get(name) ?? written.status }) }
    const [chosen = seen] = await chooseConsent(session, control, [seen], options)
    return { ...chosen, plan, judgedAgain }
  })
  const notes = notesBut(pinned, added.keptVersions)
  const left = note === undefined ? [] : [note]
  await print(session, added, [...notes, ...left, ...doubtfulArguments(entry), ...argumentNotes(entry)])
  return session.host.signal.aborted ? EXIT_CODES.cancelled : EXIT.done
}

interface Added extends AddedUpstream {
  readonly plan: UpstreamPlan
  readonly judgedAgain: readonly JudgedAgain[]
}

async function print(session: Session, added: Added, notes: readonly string[]): Promise<void> {
  if (session.json) await session.printJson({ ...added, notes })
  else await session.out.write(`${addedText(added, notes, session)}${judgedText(added.judgedAgain, session.out)}`)
}

/** Shown before anything of it runs. What is there already was looked at when it came. */
function planText({ name, outcome, ...given }: AddedUpstream, plan: UpstreamPlan, printer: Printer): string {
  if (outcome === 'unchanged') return ''
  const kept = keptLines(given, { isDryRun: true })
  const lines = [...targetLines(plan), wouldGiveLine(given), ...kept, ...commonLines([plan])]
  const wide = { ...printer, width: undefined }
  return `"${escapeLine(name)}" would be ${outcome}:\n${lines.map(line => paragraph(escapeLine(line), wide, '  ')).join('')}`
}

/** The first word is taken for the name wherever it stands. Behind the separator it is the program. */
function refuseNameless(line: readonly string[], words: readonly string[]): void {
  const separator = line.indexOf('--')
  if (separator >= 0 && line.length - separator - 1 > words.length)
    throw new UsageError('say what it is called, before the --: NAME -- COMMAND ARGUMENTS.')
}

const isAddress = (word: string) => /^https?:\/\//i.test(word)

function toEntry(words: readonly string[], options: AddOptions, cwd: string): Record<string, unknown> {
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
    // Without the rest of it: there may be a secret in it.
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

/** Most often a variable of the shell is not set. */
function refuseEmpty(header: string, value: string): void {
  const what = emptyHeader(header, value)
  if (what === undefined) return
  throw new UsageError(`the header "${header}" has ${what}. If a variable of your shell belongs there, set it first.`)
}

/** A host with its port, or with a path behind it: `mcp.example.com/mcp`, `localhost:3000`. */
const BARE_ADDRESS = /^((?:localhost|(?:[a-z\d-]+\.)+[a-z]{2,}|\d+(?:\.\d+){3})(?::\d+)?)(?:(?<=:\d+)$|\/)/i

/** The shell that it was typed into has left it alone, so it is for the one of the script, unless no shell has such a thing. */
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
      // Without the word itself: it may be a secret that was put in the wrong place.
      throw new UsageError(`${option} takes NAME=VALUE.`)
    }),
  )
}

const OUTCOMES = {
  added: 'is added',
  replaced: 'is replaced',
  unchanged: 'was there already',
} as const satisfies Record<AddedUpstream['outcome'], string>

/** What became of an upstream that was added, and what to know about it. */
function addedText(
  added: AddedUpstream,
  notes: readonly string[],
  session: Pick<Session, 'out' | 'from' | 'host'>,
): string {
  const { out: printer } = session
  const { name, outcome, status, secrets, problems, file } = added
  const isFine = (status?.state === 'up' || status?.state === 'idle') && status.unlisted === undefined
  const mark = isFine ? printer.paint.green('✓') : printer.paint.yellow('!')
  const how = status ? `; ${upstreamSentence(status, askedBy(session))}` : ''
  const lines = [
    givenLine(name, added),
    escapeLine(asksText(status)),
    secrets.length > 0 ? `Kept in the secrets file: ${secrets.join(', ')}.` : '',
    ...releasedLines(added),
    ...keptLines(added),
    ...notes,
  ]
  const wide = { ...printer, width: undefined }
  return [
    `${mark} ${paragraph(`"${name}" ${OUTCOMES[outcome]}${how}. (${file})`, wide)}`,
    ...lines.filter(line => line !== '').map(line => paragraph(line, wide, '  ')),
    ...problems.map(problem => problemBlock(problem, printer)),
  ].join('')
}
