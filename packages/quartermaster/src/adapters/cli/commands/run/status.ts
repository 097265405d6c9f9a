import type { DependencyStatus, Finding, NodeFacts, RecheckAnswer, StatusReport } from '../../../../contracts/index.ts'
import { addExamples, type Register } from '../../command.ts'
import { CompletingArgument } from '../../completion/command-line.ts'
import { EXIT } from '../../errors.ts'
import { defined } from '../../options.ts'
import { count, fields, paragraph, type Row, renderTable } from '../../output/layout.ts'
import type { Printer } from '../../output/printer.ts'
import {
  fixBlock,
  hanging,
  isSwitchedOff,
  missingBlock,
  placeAtBegin,
  problemBlock,
  stateInWords,
} from '../../output/problem-text.ts'
import { inWords } from '../../output/units.ts'
import type { Session } from '../../session.ts'
import { unseenText } from '../servers/upstream-status.ts'

export const registerStatus: Register = (program, act) => {
  const command = program
    .command('status')
    .description('Show what runs, what works and what does not.')
    .action(() => act(status))
  addExamples(command, [
    ['quartermaster status', 'the overview'],
    ['quartermaster status --json | jq \'.dependencies[] | select(.state != "up")\'', 'what is missing, for a program'],
  ])
}

async function status(session: Session): Promise<number> {
  const report = await session.connect(control => session.attend('Looking', options => control.status({}, options)))
  await (session.json
    ? session.printJson(report)
    : session.out.write(statusText(report, session.out, session.host.clock.now())))
  return EXIT.done
}

function statusText(report: StatusReport, printer: Printer, now: number): string {
  const { from, ready, version, generation, tools, agents } = report
  const server =
    from === 'up'
      ? `${ready ? 'running' : 'starting'} for ${inWords(now - report.startedAt)}`
      : 'not running; looked at from this command (start it: quartermaster up)'
  const overview = fields(
    [
      ['Version', version],
      ['Server', server],
      ['Generation', String(generation)],
      [
        'Tools',
        `${tools.active} active, ${tools.disabled} disabled${tools.disabled > 0 ? ' (why: quartermaster tools --state disabled)' : ''}`,
      ],
      ['Agents', agents === 0 ? 'none yet (make one: quartermaster grant NAME files --create)' : String(agents)],
      ...storeField(report.store),
    ],
    printer,
  )
  const dependencies = dependencyText(report.dependencies, printer, now)
  return [overview, dependencies, unseenText(report.unseen ?? []), problemsText(report, printer)]
    .filter(text => text !== '')
    .join('\n')
}

/** The file is where everybody expects it; a database is named, and said to be away when it is. */
function storeField(store: StatusReport['store']): [string, string][] {
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

function dependencyText(dependencies: readonly DependencyStatus[], printer: Printer, now: number): string {
  if (dependencies.length === 0) return ''
  const rows = dependencies.map(dependency => dependencyRow(dependency, printer, now))
  return renderTable(
    {
      columns: [{ title: 'Dependency' }, { title: 'State' }, { title: 'For' }, { title: 'Reason', flexible: true }],
      rows,
    },
    printer,
  )
}

const STATE_STYLES = { up: 'green', recovering: 'yellow', down: 'red', unknown: 'yellow', optedOut: 'dim' } as const

function dependencyRow({ name, state, since, reason, fix }: DependencyStatus, printer: Printer, now: number): Row {
  const cells = [
    name,
    { text: stateInWords(state), style: printer.paint[STATE_STYLES[state]] },
    inWords(now - since),
    reason,
  ]
  return state === 'up' || state === 'optedOut' || fix === undefined
    ? { cells }
    : { cells, notes: [fixBlock(fix, { ...printer, width: undefined }, '').trim()] }
}

function problemsText({ problems }: StatusReport, printer: Printer): string {
  if (problems.length === 0) return ''
  return `${printer.paint.bold(count(problems.length, 'problem'))}\n${problems.map(problem => problemBlock(problem, printer)).join('')}`
}

export const registerDoctor: Register = (program, act) => {
  const command = program
    .command('doctor')
    .description('Look for everything that is broken, and say how to fix each. Ends with 1 when there is an error.')
    .action(() => act(doctor))
  addExamples(command, [
    ['quartermaster doctor', 'look at configuration, definitions, agents and dependencies'],
    ['quartermaster doctor --json > findings.json', 'the same for a program'],
  ])
}

async function doctor(session: Session): Promise<number> {
  const findings = await session.connect(control =>
    session.attend('Looking at everything', options => control.doctor({}, options)),
  )
  await (session.json ? session.printJson(findings) : session.out.write(doctorText(findings, session.out)))
  return findings.some(finding => finding.level === 'error') ? EXIT.no : EXIT.done
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
  const isPlaced = where === undefined || placeAtBegin(what, where) !== undefined
  const text = isPlaced ? what : `${what} (${where})`
  return `${printer.paint[style](mark)} ${hanging(text, printer)}${fixBlock(fix, printer, '  ')}`
}

export const registerRecheck: Register = (program, act) => {
  const command = program
    .command('recheck')
    .description('Probe what a tool, dependency or capability is missing. Ends with 1 when something still is.')
    .addArgument(
      new CompletingArgument(
        '<NAME>',
        'its name; tool:NAME, dependency:NAME or capability:NAME where that is ambiguous',
        'anything',
      ),
    )
    .option('--force', 'probe even if that was done a moment ago')
    .action((name: string, { force }: { force?: boolean }) => act(session => recheck(session, name, force)))
  addExamples(command, [
    ['quartermaster recheck weather', 'after you fixed what the tool needs'],
    ['quartermaster recheck dependency:mail --force', 'without waiting for the next allowed probe'],
  ])
}

async function recheck(session: Session, name: string, force: boolean | undefined): Promise<number> {
  session.hints = { name }
  const answer = await session.connect(control =>
    session.attend(`Rechecking ${name}`, options => control.recheck(defined({ name, force }), options)),
  )
  await (session.json ? session.printJson(answer) : session.out.write(recheckText(name, answer, session)))
  return answer.active ? EXIT.done : EXIT.no
}

function recheckText(name: string, answer: RecheckAnswer, { out, host, from }: Session): string {
  const head = answer.active ? `${name} has everything it needs.` : `${name} is still missing something.`
  const mark = answer.active ? out.paint.green('✓') : out.paint.red('✗')
  return [
    `${mark} ${paragraph(head, { ...out, width: undefined })}`,
    ...answer.missing.map(missing => missingBlock(missing, { now: host.clock.now(), from }, out)),
    fields([['Probed', probedText(answer)]], out),
  ].join('')
}

function probedText({ probed, missing }: RecheckAnswer): string {
  if (probed.length > 0) return probed.join(', ')
  if (missing.length === 0) return 'nothing: all of it is up'
  return missing.every(isSwitchedOff)
    ? 'nothing: what is switched off is never looked at'
    : 'nothing: it was looked at a moment ago'
}
