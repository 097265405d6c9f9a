import { Argument, type Command } from 'commander'
import { AppError, type RemovedUpstream, UpstreamConsent, type UpstreamStatus } from '../../../../contracts/index.ts'
import { whichThereAre } from '../../../../core/kernel/index.ts'
import { addExamples, type Register, refuseUnknown } from '../../command.ts'
import { CompletingArgument } from '../../completion/command-line.ts'
import { EXIT, EXIT_CODES } from '../../errors.ts'
import { defined } from '../../options.ts'
import { escapeLine, toVisibleJsonText } from '../../output/escape.ts'
import { count, paragraph } from '../../output/layout.ts'
import type { Printer } from '../../output/printer.ts'
import { problemBlock } from '../../output/problem-text.ts'
import type { Session } from '../../session.ts'
import { asksText, CONSENT_HELP } from './add-choices.ts'
import { releasedLines } from './add-plan.ts'
import { registerDecisions, registerReview } from './review.ts'
import { askedBy, firstStates, type Shown, upstreamDetail, upstreamSentence, upstreamTable } from './upstream-status.ts'

export const registerUpstreams: Register = (program, act) => {
  const upstreams = program
    .command('upstreams')
    .description('List the MCP servers of others: state, tools, restarts, latency, last error.')
    .usage('[show | review | accept | reject | consent | restart] [options]')
    // Otherwise a mistyped subcommand would be told to be "too many arguments".
    .allowExcessArguments()
    .action((_options: object, command: Command) => act(session => list(session, command.args)))
  addExamples(upstreams, [
    ['quartermaster upstreams', 'all of them'],
    ['quartermaster upstreams --json | jq \'.[] | select(.state == "down")\'', 'what does not work, for a program'],
  ])
  registerShow(upstreams, act)
  registerReview(upstreams, act)
  registerDecisions(upstreams, act)
  registerConsent(upstreams, act)
  registerRestart(upstreams, act)
}

const registerShow: Register = (upstreams, act) => {
  const show = upstreams
    .command('show')
    .description('Show everything about one.')
    .addArgument(new CompletingArgument('<NAME>', 'the upstream', 'upstream'))
    .action((name: string) => act(session => showOne(session, name)))
  addExamples(show, [['quartermaster upstreams show github', 'where it is, how it is and what it brings']])
}

const registerConsent: Register = (upstreams, act) => {
  const consent = upstreams
    .command('consent')
    .description('Say which of its tools ask a person before they run.')
    .addArgument(new CompletingArgument('<NAME>', 'the upstream', 'upstream'))
    .addArgument(new Argument('<CHOICE>', CONSENT_HELP).choices(UpstreamConsent.options))
    .action((name: string, choice: UpstreamConsent) => act(session => setConsent(session, name, choice)))
  addExamples(consent, [['quartermaster upstreams consent github changing', 'all but what it says only reads']])
}

async function setConsent(session: Session, name: string, consent: UpstreamConsent): Promise<number> {
  session.hints = { upstream: name }
  const input = { names: [name], consent }
  const [status] = await session.connect(control =>
    session.attend('Writing', options => control.setUpstreamConsent(input, options)),
  )
  if (session.json) await session.printJson(status)
  else await session.out.write(`"consent": "${consent}" stands in the entry of "${name}" now. ${asksText(status)}\n`)
  return EXIT.done
}

const registerRestart: Register = (upstreams, act) => {
  const restart = upstreams
    .command('restart')
    .description('End its connections and start it again, at once. Ends with 1 when it is not up then.')
    .addArgument(new CompletingArgument('<NAME>', 'the upstream', 'upstream'))
    .action((name: string) => act(session => restartOne(session, name)))
  addExamples(restart, [['quartermaster upstreams restart github', 'after you fixed it']])
}

const SUBCOMMANDS = ['show', 'review', 'accept', 'reject', 'consent', 'restart']

async function list(session: Session, words: readonly string[]): Promise<number> {
  refuseUnknown('upstreams', words, SUBCOMMANDS)
  const statuses = await lookAt(session)
  if (session.json) await session.printJson(statuses)
  else if (statuses.length > 0) await session.out.write(upstreamTable(statuses, shownIn(session)))
  else {
    await session.notices.write(
      'No upstreams yet. Add one: quartermaster add NAME -- COMMAND, or: quartermaster import\n',
    )
  }
  if (!session.json) await session.notices.write(idleText(statuses, session))
  return EXIT.done
}

/** Explains idle servers that were not configured as lazy. A server that was never connected says how it is started. */
function idleText(statuses: readonly UpstreamStatus[], { from }: Session): string {
  const isAnyIdle = statuses.some(({ state, unseen }) => state === 'idle' && unseen === undefined)
  return from === 'process' && isAnyIdle
    ? 'No `quartermaster up` runs here to keep servers running: what is idle starts when it is needed.\n'
    : ''
}

function shownIn({ out: printer, from }: Session): Shown {
  return { printer, from }
}

function lookAt(session: Session): Promise<UpstreamStatus[]> {
  return session.connect(control => session.attend('Looking', options => control.upstreams({}, options)))
}

async function showOne(session: Session, name: string): Promise<number> {
  session.hints = { upstream: name }
  const statuses = await lookAt(session)
  const found = statuses.find(status => status.name === name)
  if (!found) {
    const names = statuses.map(status => status.name)
    const hint = whichThereAre(name, names)
    throw new AppError('NAME_UNKNOWN', `No upstream is named "${name}".${hint}`)
  }
  await (session.json
    ? session.printJson(found)
    : session.out.write(upstreamDetail(found, { now: session.host.clock.now(), ...shownIn(session) })))
  return EXIT.done
}

async function restartOne(session: Session, name: string): Promise<number> {
  session.hints = { upstream: name }
  const status = await session.connect(async control => {
    const begun = await session.attend(`Restarting ${name}`, options => control.restartUpstream({ name }, options))
    const isCutOff = session.from === 'process' && begun.state === 'starting' && begun.isFetching === true
    const states = await firstStates(session, control, isCutOff ? [name] : [], { isLate: true })
    return states.get(name) ?? begun
  })
  const isUp = status.state === 'up' || status.state === 'idle'
  if (session.json) await session.printJson(status)
  else {
    const mark = isUp ? session.out.paint.green('✓') : session.out.paint.red('✗')
    await session.out.write(`${mark} ${escapeLine(restartedText(status, session))}\n`)
  }
  if (session.host.signal.aborted) return EXIT_CODES.cancelled
  return isUp ? EXIT.done : EXIT.no
}

/** Whatever this process starts ends with it. */
function restartedText(status: UpstreamStatus, session: Session): string {
  if (status.state === 'off') return `"${status.name}" was not started: ${status.reason}`
  const how = upstreamSentence(status, askedBy(session))
  if (session.from === 'up') return `"${status.name}" was restarted; ${how}.`
  const was = how.replace(/^it is /, 'it was ')
  return `"${status.name}" was only tried, because no \`quartermaster up\` runs here to keep it; ${was}.`
}

export const registerRemove: Register = (program, act) => {
  const command = program
    .command('remove')
    .description('Remove an upstream from the configuration, and from the agents that have it.')
    .addArgument(new CompletingArgument('<NAME>', 'the upstream', 'upstream'))
    .option('--keep-secrets', 'leave its secrets in the secrets file, also those that nothing else names')
    .action((name: string, options: RemoveOptions) => act(session => remove(session, name, options)))
  addExamples(command, [
    ['quartermaster remove github', 'it is stopped and forgotten, and so are secrets that only it had'],
    ['quartermaster remove github --keep-secrets', 'to add it again later'],
  ])
}

interface RemoveOptions {
  keepSecrets?: boolean
}

async function remove(session: Session, name: string, { keepSecrets }: RemoveOptions): Promise<number> {
  session.hints = { upstream: name }
  const removed = await session.connect(control =>
    session.attend(`Removing ${name}`, options =>
      control.removeUpstream({ name, ...defined({ keepSecrets }) }, options),
    ),
  )
  if (session.json) await session.printJson(removed)
  else await session.out.write(removedText(name, removed, session.out))
  return removed.stillNamedBy.length > 0 ? EXIT.no : EXIT.done
}

function removedText(name: string, removed: RemovedUpstream, out: Printer): string {
  const wide = { ...out, width: undefined }
  const { forgotten, file } = removed
  const what = forgotten ? `There was no entry of "${name}".` : `"${name}" is removed.`
  const lines = [...forgottenLines(forgotten), ...takenLines(name, removed), ...releasedLines(removed)]
  return [
    `${out.paint.green('✓')} ${escapeLine(`${what} (${file})`)}\n`,
    ...lines.map(line => paragraph(line, wide, '  ')),
    ...removed.problems.map(problem => problemBlock(problem, out)),
  ].join('')
}

function forgottenLines(forgotten: RemovedUpstream['forgotten']): string[] {
  if (!forgotten) return []
  const { pins, logins } = forgotten
  const parts = [pins > 0 ? count(pins, 'pin') : '', logins > 0 ? count(logins, 'login') : '']
  const named = parts.filter(part => part !== '').join(' and ')
  return [`Forgotten: ${named === '' ? 'that it was ever seen' : named}.`]
}

/** A list of tools that a person wrote for an agent has no other copy, so it is shown as it was. */
function takenLines(name: string, { taken }: RemovedUpstream): string[] {
  const all = Object.entries(taken)
  const whole = all.flatMap(([agent, had]) => (Object.keys(had).length === 0 ? [agent] : []))
  const narrowed = all.filter(([agent]) => !whole.includes(agent))
  return [
    ...(whole.length > 0 ? [`Taken from: ${whole.join(', ')}.`] : []),
    ...narrowed.map(
      ([agent, had]) => `Taken from ${agent}, whose file had "${name}": ${toVisibleJsonText(had, { pretty: false })}`,
    ),
  ]
}
