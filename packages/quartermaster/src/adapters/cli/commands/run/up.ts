import { isIP } from 'node:net'
import { InvalidArgumentError, Option } from 'commander'
import type { AuditEntry, Events, OperationChange, OperationState, Problem } from '../../../../contracts/index.ts'
import { addExamples, type Register } from '../../command.ts'
import { EXIT } from '../../errors.ts'
import type { UpEvent, UpStarted } from '../../host.ts'
import { againWithin, defined, fullName } from '../../options.ts'
import { escapeLine } from '../../output/escape.ts'
import { count, fields } from '../../output/layout.ts'
import { dependencyInWords, problemBlock, problemInWords } from '../../output/problem-text.ts'
import { type Session, within } from '../../session.ts'

interface Listen {
  host: string
  port: number
  background?: true
}

export const registerUp: Register = (program, act) => {
  const command = program
    .command('up')
    .description('Run everything in this process, until Ctrl-C.')
    .addOption(new Option('--host <HOST>', 'the address to listen on').default('127.0.0.1').argParser(toHost))
    .addOption(new Option('--port <PORT>', 'the port to listen on; 0 picks a free one').default(7420).argParser(toPort))
    .addOption(new Option('--background', 'stop when no client is connected').hideHelp())
    .action((options: Listen) => act(session => up(session, options)))
  addExamples(command, [
    ['quartermaster up', 'on http://127.0.0.1:7420'],
    ['quartermaster up --port 0 --json', 'on any free port; the first line of output is one object with its url'],
  ])
}

function toPort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN
  if (!(port <= 65_535)) throw new InvalidArgumentError('It must be a whole number from 0 to 65535.')
  return port
}

function toHost(text: string): string {
  const host = text.replace(/^\[(.*)\]$/, '$1')
  const isName =
    /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/i.test(host) &&
    !/^[\d.]+$/.test(host)
  if (isIP(host) === 0 && !isName)
    throw new InvalidArgumentError(
      'It must be an address such as 127.0.0.1 or ::1, or a host name; the port goes to --port.',
    )
  return host
}

/** A server that was told to stop has this long before the terminal is given back. */
const STOP_WITHIN_MS = 10_000

async function up(session: Session, { host, port, background }: Listen): Promise<number> {
  if (!isLoopback(host)) await session.notices.write(exposureWarning(session, host))
  const stop = new AbortController()
  const log = createUpLog(session)
  const { config, data } = session.options
  const signal = AbortSignal.any([session.host.signal, stop.signal])
  const starting = session.host.up({
    host,
    port,
    json: session.json,
    onEvent: log.add,
    signal,
    ...defined({ config, data, background }),
  })
  try {
    const started = await session.attend('Starting', () => starting)
    await announce(session, started)
    log.open(started.status.problems)
    await started.closed
    return EXIT.done
  } finally {
    stop.abort()
    await within(
      session.host,
      STOP_WITHIN_MS,
      starting.then(started => started.closed),
    )
  }
}

async function announce(session: Session, started: UpStarted): Promise<void> {
  const { url, facts } = started
  // The program that started us reads one line, so this is one line even on a terminal.
  if (session.json)
    return await session.out.write(`${JSON.stringify({ url, version: session.host.version, ...facts })}\n`)
  await session.out.write(announcement(session, started))
}

function announcement({ out, host }: Session, { url, notes = [], status }: UpStarted): string {
  const { tools, agents, problems } = status
  const facts = fields(
    [
      ['Listening', url],
      [
        'Tools',
        `${tools.active} active, ${tools.disabled} disabled${tools.disabled > 0 ? ' (why: quartermaster tools --state disabled)' : ''}`,
      ],
      ['Agents', agents === 0 ? 'none yet (make one: quartermaster grant NAME files --create)' : String(agents)],
    ],
    out,
  )
  return [
    `${out.paint.bold(`Quartermaster ${host.version}`)}\n`,
    facts,
    ...notes.map(note => `${escapeLine(note)}\n`),
    problems.length === 0 ? '' : `${out.paint.bold(count(problems.length, 'problem'))}\n`,
    ...problems.map(problem => problemBlock(problem, out)),
    out.paint.dim('Ctrl-C stops it.\n'),
  ].join('')
}

function isLoopback(host: string): boolean {
  const name = host.toLowerCase()
  return name === 'localhost' || name.startsWith('127.') || name.startsWith('::ffff:127.') || /^(0*:)+0*1$/.test(name)
}

function exposureWarning({ notices }: Session, host: string): string {
  return `${notices.paint.yellow('Warning:')} ${escapeLine(host)} can be reached from other machines. Anyone with a credential can use every tool from there; listen on 127.0.0.1 unless you mean that.\n`
}

interface UpLog {
  add(event: UpEvent): void
  /** From now on lines are written; those of before come first, without the problems that were told already. */
  open(told: readonly Problem[]): void
}

/** Tells the person who watches `up` what happens. A program that reads `--json` is told nothing more. */
function createUpLog({ json, notices, host }: Session): UpLog {
  const early: { time: string; event: UpEvent }[] = []
  let isOpen = false
  const write = (time: string, lines: readonly string[]) => {
    const text = lines.map(line => `${notices.paint.dim(time)} ${escapeLine(line)}\n`).join('')
    if (text !== '') void notices.write(text)
  }
  return {
    add(event) {
      if (json) return
      const time = new Date(host.clock.now()).toTimeString().slice(0, 8)
      if (isOpen) write(time, describe(event))
      else early.push({ time, event })
    },
    open(told) {
      isOpen = true
      const known = new Set(told.map(problemInWords))
      for (const { time, event } of early) write(time, describe(withoutKnown(event, known)))
    },
  }
}

function withoutKnown(happened: UpEvent, known: ReadonlySet<string>): UpEvent {
  if (happened.name !== 'definitions.rejected') return happened
  const problems = happened.event.problems.filter(problem => !known.has(problemInWords(problem)))
  return { name: happened.name, event: { problems } }
}

function describe(happened: UpEvent): readonly string[] {
  switch (happened.name) {
    case 'generation.swapped':
      return [generationLine(happened.event)]
    case 'definitions.rejected':
      return happened.event.problems.map(problemLine)
    case 'dependency.changed':
      return [dependencyInWords({ ...happened.event, state: happened.event.to })]
    case 'tools.disabled':
      return [
        `disabled: ${toolsInWords(happened.event.tools)} (${happened.event.dependency}: ${happened.event.reason})`,
      ]
    case 'tools.restored':
      return [`active again: ${toolsInWords(happened.event.tools)} (${happened.event.dependency} is back)`]
    case 'agents.reloaded':
      return happened.event.isSame ? [] : [`agents read again: ${happened.event.names.join(', ') || 'none'}`]
    case 'call.settled':
      return [callLine(happened.event)]
    case 'operation.changed':
      return operationLines(happened.event)
    case 'operation.dropped':
      return [`${happened.event.tool} of ${whose(happened.event.caller)}: dropped (${happened.event.id})`]
    case 'approval.opened':
      return [askLine(happened.event)]
    case 'approval.answered':
      return [answerLine(happened.event)]
    case 'grants.revoked':
      return [`${count(happened.event.count, 'grant')} taken back by ${happened.event.by}`]
    case 'workspace.changed':
      return happened.event.status === 'archived' ? [`workspace archived: ${whose(happened.event)}`] : []
    case 'delegation.changed':
      return [delegationLine(happened.event)]
    case 'presence.changed':
      return [`${whose(happened.event)} is ${happened.event.to}`]
    case 'notice':
      return [`${happened.event.level === 'warning' ? 'warning: ' : ''}${happened.event.text}`]
  }
}

/** Of another organisation than the first it is said which. */
const whose = ({ organisation, name }: { organisation: string; name: string }) => fullName(organisation, name)

function askLine({ id, tool, organisation, agent }: Events['approval.opened']): string {
  const show = `quartermaster approvals show ${id}${againWithin(organisation)}`
  return `${fullName(organisation, agent)} asks for consent to ${tool}: ${show}`
}

function answerLine({ id, tool, organisation, agent, state, by }: Events['approval.answered']): string {
  return `${tool} of ${fullName(organisation, agent)}: ${state} by ${by.name} (${id})`
}

function delegationLine({ organisation, from, to, state, id }: Events['delegation.changed']): string {
  return `${fullName(organisation, from)} → ${to}: ${state} (${id})`
}

/** As many names as a line can hold. */
const FEW = 6

function toolsInWords(tools: readonly string[]): string {
  return tools.length <= FEW ? tools.join(', ') : count(tools.length, 'tool')
}

function generationLine({ generation, ...changes }: Events['generation.swapped']): string {
  const lists = (['added', 'changed', 'removed'] as const)
    .map(verb => ({ verb, addresses: changes[verb] }))
    .filter(({ addresses }) => addresses.length > 0)
  const total = lists.reduce((sum, { addresses }) => sum + addresses.length, 0)
  const parts = lists.map(({ verb, addresses }) =>
    total <= FEW ? `${verb} ${addresses.join(', ')}` : `${countByKind(addresses)} ${verb}`,
  )
  return `generation ${generation}: ${parts.join('; ') || 'nothing changed'}`
}

/** `12 tools, 3 capabilities`. */
function countByKind(addresses: readonly string[]): string {
  const amounts = new Map<string, number>()
  for (const address of addresses) {
    const kind = address.slice(0, address.indexOf(':'))
    amounts.set(kind, (amounts.get(kind) ?? 0) + 1)
  }
  return [...amounts].map(([kind, amount]) => count(amount, kind)).join(', ')
}

function problemLine(problem: Problem): string {
  return `${problem.severity === 'error' ? 'problem' : 'warning'}: ${problemInWords(problem)}`
}

/** What the line about the call does not say: that it has to wait, or that a person has to decide. */
const AFTER_A_RUN: ReadonlySet<OperationState> = new Set(['queued', 'exhausted', 'expired'])

/** What the line about the question, or about its answer, says already. */
const ASKED_AND_ANSWERED: ReadonlySet<OperationState> = new Set(['waitingForApproval', 'queued', 'denied'])

function isToldOtherwise({ from, to }: OperationChange): boolean {
  if (from === undefined) return to === 'leased' || to === 'waitingForApproval'
  if (from === 'waitingForApproval') return ASKED_AND_ANSWERED.has(to)
  return from === 'leased' && !AFTER_A_RUN.has(to)
}

/** Of a call that runs and ends in one go the line about the call says all there is. */
function operationLines(change: OperationChange): readonly string[] {
  const { id, tool, caller, from, to } = change
  if (isToldOtherwise(change)) return []
  // A call that no person allowed cannot be retried.
  const next =
    GIVEN_UP.has(to) && from !== 'waitingForApproval'
      ? `; to try it again: quartermaster operations retry ${id}${againWithin(caller.organisation)}`
      : ` (${id})`
  return [`${tool} of ${whose(caller)}: ${OPERATION_STATES[to]}${next}`]
}

const GIVEN_UP: ReadonlySet<OperationState> = new Set(['exhausted', 'expired'])

const OPERATION_STATES: Readonly<Record<OperationState, string>> = {
  waitingForApproval: 'waits for approval',
  queued: 'waits to be tried again',
  leased: 'runs',
  succeeded: 'done',
  failed: 'failed',
  denied: 'not allowed',
  exhausted: 'failed after too many attempts',
  expired: 'expired',
  cancelled: 'cancelled',
  unknown: 'outcome unknown',
}

const OUTCOMES = { succeeded: 'done', failed: 'failed', unknown: 'outcome unknown', notRun: 'not run' } as const

function callLine({ caller, tool, outcome, code, durationMs }: AuditEntry): string {
  const end = code === undefined ? OUTCOMES[outcome] : `${OUTCOMES[outcome]}, ${code}`
  return `${whose(caller)} called ${tool}: ${end} (${Math.round(durationMs)} ms)`
}
