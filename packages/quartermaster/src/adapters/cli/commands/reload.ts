import type { Problem, ReloadReport } from '../../../contracts/index.ts'
import { EXIT } from '../errors.ts'
import { problemBlock } from '../explain.ts'
import { count, fields } from '../layout.ts'
import type { Printer } from '../printer.ts'
import { addExamples, type Register } from '../register.ts'
import type { Session } from '../session.ts'

export const registerReload: Register = (program, act) => {
  const command = program
    .command('reload')
    .description(
      'Read all definitions again: changed code, new tools, changed parameters. Ends with 1 when something was rejected.',
    )
    .action(() => act(reload))
  addExamples(command, [['quartermaster reload', 'after you edited, added or deleted a definition']])
}

async function reload(session: Session): Promise<number> {
  const report = await session.connect(control => session.attend('Reloading', options => control.reload({}, options)))
  await (session.json ? session.printJson(report) : session.out.write(reloadText(report, session.out)))
  return report.rejected.some(problem => problem.severity === 'error') ? EXIT.no : EXIT.done
}

function reloadText(report: ReloadReport, printer: Printer): string {
  const { generation, added, changed, removed, rejected, durationMs } = report
  const nothing = added.length + changed.length + removed.length === 0
  const head = `Generation ${generation}${nothing ? ', nothing changed' : ''} (${Math.round(durationMs)} ms)\n`
  const lists = fields(
    [
      ['Added', added.join(', ')],
      ['Changed', changed.join(', ')],
      ['Removed', removed.join(', ')],
    ],
    printer,
  )
  const isOfAgent = ({ subject = '' }: Problem) => subject.startsWith('agent:')
  const errors = rejected.filter(problem => problem.severity === 'error')
  const ofAgents = errors.filter(isOfAgent)
  const ofDefinitions = errors.filter(problem => !isOfAgent(problem))
  const warnings = rejected.filter(problem => problem.severity !== 'error')
  return (
    head +
    lists +
    section(ofDefinitions, `${count(ofDefinitions.length, 'problem')}; the last good version stays`, printer) +
    section(ofAgents, `${count(ofAgents.length, 'problem')} in agents' files`, printer) +
    section(warnings, count(warnings.length, 'warning'), printer)
  )
}

function section(problems: readonly Problem[], title: string, printer: Printer): string {
  if (problems.length === 0) return ''
  return `${printer.paint.bold(title)}\n${problems.map(problem => problemBlock(problem, printer)).join('')}`
}
