import { Option } from 'commander'
import type { Finding, NodeFacts, RecheckAnswer, StatusReport } from '../../../../contracts/index.ts'
import { command, controlCommand, printAnswer } from '../../command.ts'
import { EXIT, UsageError } from '../../errors.ts'
import { elsewhereFrom, insecureOption } from '../../options.ts'
import { count, fields, renderTable, unwrapped } from '../../output/layout.ts'
import {
  fixBlock,
  hanging,
  isSwitchedOff,
  missingBlock,
  placePrefix,
  problemBlocks,
  stateInWords,
} from '../../output/problem-text.ts'
import type { Printer } from '../../output/terminal.ts'
import { inWords } from '../../output/units.ts'
import type { Session } from '../../session.ts'
import { unconnectedText } from '../servers/upstream-status.ts'

export const registerStatus = controlCommand({
  name: 'status',
  description: 'Show what runs, what works and what does not.',
  operation: 'status',
  examples: [
    ['quartermaster status', 'the overview'],
    ['quartermaster status --json | jq \'.dependencies[] | select(.state != "up")\'', 'what is missing, for a program'],
  ],
  answer: (report, { out, host }) => ({ text: statusText(report, out, host.clock.now()) }),
})

function statusText(report: StatusReport, printer: Printer, now: number): string {
  const { from, ready, version, generation } = report
  const server =
    from === 'up'
      ? `${ready ? 'running' : 'starting'} for ${inWords(now - report.startedAt)}`
      : 'not running; looked at from this command (start it: quartermaster up)'
  const overview = fields(
    [
      ['Version', version],
      ['Server', server],
      ['Generation', String(generation)],
      ...amountFields(report),
      ...storeFields(report.store),
    ],
    printer,
  )
  const parts = [
    overview,
    dependencyText(report, printer, now),
    unconnectedText(report.unseen ?? []),
    problemsText(report, printer),
  ]
  return parts.filter(text => text !== '').join('\n')
}

/** How many tools and agents there are, and what to do when some do not work. */
export function amountFields({ tools, agents }: StatusReport): [string, string][] {
  const why = tools.disabled > 0 ? ' (why: quartermaster tools --state disabled)' : ''
  return [
    ['Tools', `${tools.active} active, ${tools.disabled} disabled${why}`],
    ['Agents', agents === 0 ? 'none yet (make one: quartermaster grant NAME files --create)' : String(agents)],
  ]
}

/** A person knows where the file is; a database is named, and whether it answers. */
function storeFields(store: StatusReport['store']): [string, string][] {
  if (store?.kind !== 'postgresql') return []
  const { place, answers, nodes = [] } = store
  return [
    ['Store', answers === false ? `${place}, which does not answer` : place],
    ...nodes.map((node, i): [string, string] => [i === 0 ? count(nodes.length, 'node') : '', nodeText(node)]),
  ]
}

function nodeText({ host, version, url, isThis }: NodeFacts): string {
  return `${url ?? 'a command'} on ${host}, version ${version}${isThis ? ' (this one)' : ''}`
}

const STATE_STYLES = { up: 'green', recovering: 'yellow', down: 'red', unknown: 'yellow', optedOut: 'dim' } as const

function dependencyText({ dependencies }: StatusReport, printer: Printer, now: number): string {
  if (dependencies.length === 0) return ''
  const rows = dependencies.map(({ name, state, since, reason, fix }) => {
    const isFine = state === 'up' || state === 'optedOut'
    const stateCell = { text: stateInWords(state), style: printer.paint[STATE_STYLES[state]] }
    return { cells: [name, stateCell, inWords(now - since), reason], notes: isFine || !fix ? [] : [`Fix: ${fix}`] }
  })
  return renderTable(['Dependency', 'State', 'For', { wraps: 'Reason' }], rows, printer)
}

/** Problems under their number. */
export function problemsText({ problems }: StatusReport, printer: Printer): string {
  if (problems.length === 0) return ''
  return `${printer.paint.bold(count(problems.length, 'problem'))}\n${problemBlocks(problems, printer)}`
}

interface DoctorGiven {
  readonly connect?: true
  readonly url?: string
  readonly insecure?: true
}

export const registerDoctor = command<DoctorGiven>({
  name: 'doctor',
  description: 'Look for everything that is broken, and say how to fix each. Ends with 1 when there is an error.',
  options: [
    new Option('--connect', 'look at the workspaces elsewhere that "connect" would reach from here, instead'),
    new Option('--url <URL>', 'with --connect: the server, with the token of a workspace in QUARTERMASTER_TOKEN'),
    insecureOption(),
  ],
  examples: [
    ['quartermaster doctor', 'look at configuration, definitions, agents and dependencies'],
    ['quartermaster doctor --json > findings.json', 'the same for a program'],
    ['quartermaster doctor --connect --url https://tools.example.com', 'look at a workspace on another machine'],
  ],
  async run(session, given) {
    if (!given.connect && (given.url !== undefined || given.insecure))
      throw new UsageError('--url and --insecure are for --connect.')
    const findings = given.connect ? await checkElsewhere(session, given) : await checkHere(session)
    return printAnswer(session, findings, {
      text: doctorText(findings, session.out),
      code: findings.some(finding => finding.level === 'error') ? EXIT.no : EXIT.done,
    })
  },
})

function checkHere(session: Session): Promise<readonly Finding[]> {
  return session.connect(control => session.attend('Looking at everything', options => control.doctor({}, options)))
}

function checkElsewhere(session: Session, given: DoctorGiven): Promise<readonly Finding[]> {
  const elsewhere = elsewhereFrom(session, given)
  if (!elsewhere)
    throw new UsageError('--connect needs --url, or QUARTERMASTER_URL or QUARTERMASTER_WORKSPACES in the environment.')
  return session.attend('Looking at each workspace', () => session.host.checkElsewhere(elsewhere, session.host))
}

function doctorText(findings: readonly Finding[], printer: Printer): string {
  const amount = (level: Finding['level']) => findings.filter(finding => finding.level === level).length
  const [errors, warnings] = [amount('error'), amount('warning')]
  const summary = errors + warnings === 0 ? 'All is well.' : `${count(errors, 'error')}, ${count(warnings, 'warning')}.`
  return `${findings.map(finding => findingText(finding, printer)).join('')}${printer.paint.bold(summary)}\n`
}

const MARKS = { ok: ['green', '✓'], warning: ['yellow', '!'], error: ['red', '✗'] } as const

function findingText({ level, what, where, fix }: Finding, printer: Printer): string {
  const [style, mark] = MARKS[level]
  const isPlaced = where === undefined || placePrefix(what, where) !== undefined
  const text = isPlaced ? what : `${what} (${where})`
  return `${printer.paint[style](mark)} ${hanging(text, printer)}${fixBlock(fix, printer, '  ')}`
}

export const registerRecheck = controlCommand({
  name: 'recheck',
  description: 'Probe what a tool, dependency or capability is missing. Ends with 1 when something is still missing.',
  operation: 'recheck',
  arguments: [
    ['<NAME>', 'its name; tool:NAME, dependency:NAME or capability:NAME where that is ambiguous', 'name', 'anything'],
  ],
  options: [new Option('--force', 'probe even if that was done a moment ago')],
  examples: [
    ['quartermaster recheck weather', 'after you fixed what the tool needs'],
    ['quartermaster recheck dependency:mail --force', 'without waiting for the next allowed probe'],
  ],
  label: ({ name }) => `Rechecking ${name}`,
  hints: ({ name }) => ({ name }),
  answer: (found, session, { name }) => ({
    text: recheckText(name, found, session),
    code: found.active ? EXIT.done : EXIT.no,
  }),
})

function recheckText(name: string, answer: RecheckAnswer, { out, host, from }: Session): string {
  const { active, missing } = answer
  const head = active ? `${name} has everything it needs.` : `${name} is still missing something.`
  const mark = active ? out.paint.green('✓') : out.paint.red('✗')
  return [
    `${mark} ${unwrapped(head)}`,
    ...missing.map(one => missingBlock(one, { now: host.clock.now(), from }, out)),
    fields([['Probed', probedText(answer)]], out),
  ].join('')
}

function probedText({ probed, missing }: RecheckAnswer): string {
  if (probed.length > 0) return probed.join(', ')
  if (missing.length === 0) return 'nothing: all of it is up'
  return missing.every(isSwitchedOff)
    ? 'nothing: what is switched off is never probed'
    : 'nothing: it was probed a moment ago'
}
