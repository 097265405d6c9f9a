import type { Finding } from '../../../contracts/index.ts'
import { EXIT } from '../errors.ts'
import { fixBlock, hanging, placeAtBegin } from '../explain.ts'
import { count } from '../layout.ts'
import type { Printer } from '../printer.ts'
import { addExamples, type Register } from '../register.ts'
import type { Session } from '../session.ts'

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
