import { isIP } from 'node:net'
import { InvalidArgumentError, Option } from 'commander'
import type { AuditEntry, Events, OperationChange, OperationState, Problem } from '../../../../contracts/index.ts'
import { command } from '../../command.ts'
import { EXIT } from '../../errors.ts'
import type { UpEvent, UpStarted } from '../../host.ts'
import { defined, fullName, organisationFlag } from '../../options.ts'
import { count, fields } from '../../output/layout.ts'
import { dependencyInWords, problemInWords } from '../../output/problem-text.ts'
import { escapeLine } from '../../output/terminal.ts'
import { type Session, within } from '../../session.ts'
import { amountFields, problemsText } from './status.ts'

interface Listen {
  host: string
  port: number
  background?: true
}

export const registerUp = command<Listen>({
  name: 'up',
  description: 'Run everything in this process, until Ctrl-C.',
  options: [
    new Option('--host <HOST>', 'the address to listen on').default('127.0.0.1').argParser(toHost),
    new Option('--port <PORT>', 'the port to listen on; 0 picks a free one').default(7420).argParser(toPort),
    new Option('--background', 'stop when no client is connected').hideHelp(),
  ],
  examples: [
    ['quartermaster up', 'on http://127.0.0.1:7420'],
    ['quartermaster up --port 0 --json', 'on any free port; the first line of output is one object with its url'],
  ],
  run: up,
})

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

/** A server that was asked to stop has this long before the command ends. */
const STOP_WITHIN_MS = 10_000

async function up(session: Session, { host, ...options }: Listen): Promise<number> {
  if (!isLoopback(host)) await session.notices.write(exposureWarning(session, host))
  const stop = new AbortController()
  const log = createUpLog(session)
  const { config, data } = session.options
  const starting = session.host.up({
    host,
    ...options,
    json: session.json,
    onEvent: log.add,
    signal: AbortSignal.any([session.host.signal, stop.signal]),
    ...defined({ config, data }),
  })
  try {
    const started = await session.attend('Starting', () => starting)
    await session.out.write(session.json ? firstLine(session, started) : announcement(session, started))
    log.open(started.status.problems)
    await started.closed
    return EXIT.done
  } finally {
    stop.abort()
    const stopped = starting.then(started => started.closed)
    await within(session.host, STOP_WITHIN_MS, stopped)
  }
}

/** One line even on a terminal: the program that started us reads one. */
function firstLine({ host }: Session, { url, facts }: UpStarted): string {
  return `${JSON.stringify({ url, version: host.version, ...facts })}\n`
}

function announcement({ out, host }: Session, { url, notes = [], status }: UpStarted): string {
  return [
    `${out.paint.bold(`Quartermaster ${host.version}`)}\n`,
    fields([['Listening', url], ...amountFields(status)], out),
    ...notes.map(note => `${escapeLine(note)}\n`),
    problemsText(status, out),
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

/** Reports to the person who watches `up` what happens. A program that reads `--json` gets nothing more. */
function createUpLog({ json, notices, host }: Session) {
  const early: { time: string; event: UpEvent }[] = []
  let isOpen = false
  const write = (time: string, lines: readonly string[]) => {
    const text = lines.map(line => `${notices.paint.dim(time)} ${escapeLine(line)}\n`).join('')
    if (text !== '') void notices.write(text)
  }
  return {
    add(event: UpEvent): void {
      if (json) return
      const time = new Date(host.clock.now()).toTimeString().slice(0, 8)
      if (isOpen) write(time, describe(event))
      else early.push({ time, event })
    },
    /** Writes lines from now on, first those of earlier events, without the problems that were printed already. */
    open(printed: readonly Problem[]): void {
      isOpen = true
      const known = new Set(printed.map(problemInWords))
      for (const { time, event } of early) write(time, describe(event, known))
    },
  }
}

function describe(happened: UpEvent, known: ReadonlySet<string> = new Set()): readonly string[] {
  switch (happened.name) {
    case 'generation.swapped':
      return [generationLine(happened.event)]
    case 'definitions.rejected':
      return happened.event.problems.filter(problem => !known.has(problemInWords(problem))).map(problemLine)
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
      return [`${happened.event.tool} of ${nameOf(happened.event.caller)}: dropped (${happened.event.id})`]
    case 'approval.opened':
      return [askLine(happened.event)]
    case 'approval.answered':
      return [answerLine(happened.event)]
    case 'grants.revoked':
      return [`${count(happened.event.count, 'grant')} taken back by ${happened.event.by}`]
    case 'workspace.changed':
      return happened.event.status === 'archived' ? [`workspace archived: ${nameOf(happened.event)}`] : []
    case 'delegation.changed':
      return [delegationLine(happened.event)]
    case 'presence.changed':
      return [`${nameOf(happened.event)} is ${happened.event.to}`]
    case 'notice':
      return [`${happened.event.level === 'warning' ? 'warning: ' : ''}${happened.event.text}`]
  }
}

const nameOf = ({ organisation, name }: { organisation: string; name: string }) => fullName(organisation, name)

function askLine({ id, tool, organisation, agent }: Events['approval.opened']): string {
  const show = `quartermaster approvals show ${id}${organisationFlag(organisation)}`
  return `${fullName(organisation, agent)} asks for consent to ${tool}: ${show}`
}

function answerLine({ id, tool, organisation, agent, state, by }: Events['approval.answered']): string {
  return `${tool} of ${fullName(organisation, agent)}: ${state} by ${by.name} (${id})`
}

function delegationLine({ organisation, from, to, state, id }: Events['delegation.changed']): string {
  return `${fullName(organisation, from)} → ${to}: ${state} (${id})`
}

/** How many names a line can hold. */
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

/** Changes after a run that the line about the call does not report. */
const AFTER_A_RUN: ReadonlySet<OperationState> = new Set(['queued', 'exhausted', 'expired'])

/** Changes that the line about the approval, or about its answer, reports already. */
const AFTER_AN_ANSWER: ReadonlySet<OperationState> = new Set(['waitingForApproval', 'queued', 'denied'])

function isReportedElsewhere({ from, to }: OperationChange): boolean {
  if (from === undefined) return to === 'leased' || to === 'waitingForApproval'
  if (from === 'waitingForApproval') return AFTER_AN_ANSWER.has(to)
  return from === 'leased' && !AFTER_A_RUN.has(to)
}

function operationLines(change: OperationChange): readonly string[] {
  const { id, tool, caller, from, to } = change
  if (isReportedElsewhere(change)) return []
  // A call that no person allowed cannot be retried.
  const canRetry = (to === 'exhausted' || to === 'expired') && from !== 'waitingForApproval'
  const next = canRetry
    ? `; to try it again: quartermaster operations retry ${id}${organisationFlag(caller.organisation)}`
    : ` (${id})`
  return [`${tool} of ${nameOf(caller)}: ${OPERATION_STATES[to]}${next}`]
}

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
  return `${nameOf(caller)} called ${tool}: ${end} (${Math.round(durationMs)} ms)`
}
