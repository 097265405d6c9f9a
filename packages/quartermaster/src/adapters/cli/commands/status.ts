import type { DependencyStatus, NodeFacts, StatusReport } from '../../../contracts/index.ts'
import { inWords } from '../duration.ts'
import { EXIT } from '../errors.ts'
import { fixBlock, problemBlock, stateInWords } from '../explain.ts'
import { count, fields } from '../layout.ts'
import type { Printer } from '../printer.ts'
import { addExamples, type Register } from '../register.ts'
import type { Session } from '../session.ts'
import { type Row, renderTable } from '../table.ts'
import { unseenText } from '../upstream-text.ts'

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
