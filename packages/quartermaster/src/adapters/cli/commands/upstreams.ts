import { Argument, type Command } from 'commander'
import { AppError, UpstreamConsent, type UpstreamStatus } from '../../../contracts/index.ts'
import { didYouMean, whichThereAre } from '../../../core/kernel/index.ts'
import { CompletingArgument } from '../completion/kinds.ts'
import { EXIT, EXIT_CODES, UsageError } from '../errors.ts'
import { escapeLine } from '../escape.ts'
import { firstStates } from '../first-states.ts'
import { addExamples, type Register } from '../register.ts'
import type { Session } from '../session.ts'
import { asksText, CONSENT_HELP } from '../upstream-consent.ts'
import { askedBy, type Shown, upstreamDetail, upstreamSentence, upstreamTable } from '../upstream-text.ts'
import { registerDecisions, registerReview } from './upstreams-review.ts'

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
    .description('End its connections and start it anew, at once. Ends with 1 when it is not up then.')
    .addArgument(new CompletingArgument('<NAME>', 'the upstream', 'upstream'))
    .action((name: string) => act(session => restartOne(session, name)))
  addExamples(restart, [['quartermaster upstreams restart github', 'after you fixed it']])
}

const SUBCOMMANDS = ['show', 'review', 'accept', 'reject', 'consent', 'restart']

async function list(session: Session, [unknown]: readonly string[]): Promise<number> {
  if (unknown !== undefined) {
    throw new UsageError(`unknown command 'upstreams ${unknown}'.${didYouMean(unknown, SUBCOMMANDS)}`)
  }
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

/** Whoever did not ask for a lazy one should not wonder. What was never seen says itself how it is started. */
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
