import type { Command } from 'commander'
import type { AgentSummary } from '../../../contracts/index.ts'
import { didYouMean } from '../../../core/kernel/index.ts'
import { checkSummary, checkText } from '../check-text.ts'
import { CompletingArgument } from '../completion/kinds.ts'
import { EXIT, UsageError } from '../errors.ts'
import { escapeLine } from '../escape.ts'
import { leftUnseenText } from '../left-unseen.ts'
import type { Printer } from '../printer.ts'
import { addExamples, type Register } from '../register.ts'
import type { Session } from '../session.ts'
import { renderTable } from '../table.ts'

export const registerAgents: Register = (program, act) => {
  const agents = program
    .command('agents')
    .description('List agents and what they have.')
    .usage('[check NAME] [options]')
    // Otherwise a mistyped subcommand would be told to be "too many arguments".
    .allowExcessArguments()
    .action((_options: object, command: Command) => act(session => list(session, command.args)))
  addExamples(agents, [
    ['quartermaster agents', 'all of them'],
    ['quartermaster agents check researcher', 'what one gets, and why not the rest'],
  ])
  const check = agents
    .command('check')
    .description('Explain what an agent gets and why not the rest. Ends with 1 when its file has problems.')
    .addArgument(new CompletingArgument('<NAME>', 'the agent', 'agent'))
    .action((name: string) => act(session => checkAgent(session, name)))
  addExamples(check, [
    ['quartermaster agents check researcher', 'granted, unavailable and skipped tools, each with its reason'],
  ])
}

async function list(session: Session, [unknown]: readonly string[]): Promise<number> {
  if (unknown !== undefined)
    throw new UsageError(`unknown command 'agents ${unknown}'.${didYouMean(unknown, ['check'])}`)
  const { agents, left } = await session.connect(async control => ({
    agents: await session.attend('Looking', options => control.agents({}, options)),
    left: await leftUnseenText(session, control),
  }))
  if (session.json) await session.printJson(agents)
  else if (agents.length > 0) await session.out.write(listText(agents, session.out))
  else await session.notices.write('No agents yet. Make one: quartermaster grant NAME files --create\n')
  await session.notices.write(left)
  return EXIT.done
}

function listText(agents: readonly AgentSummary[], printer: Printer): string {
  const columns = [
    { title: 'Name' },
    { title: 'Tools' },
    { title: 'Capabilities', flexible: true },
    { title: 'Title', flexible: true },
  ]
  const rows = agents.map(agent => ({
    cells: [agent.name, toolsCell(agent), agent.capabilities.join(', ') || '-', agent.title ?? ''],
    notes: agent.problems,
  }))
  return renderTable({ columns, rows }, printer)
}

function toolsCell({ granted, unavailable, view }: AgentSummary): string {
  const notes = [
    ...(unavailable > 0 ? [`${unavailable} unavailable`] : []),
    ...(view === 'gateway' ? ['gateway view'] : []),
  ]
  return notes.length > 0 ? `${granted} (${notes.join(', ')})` : String(granted)
}

async function checkAgent(session: Session, name: string): Promise<number> {
  session.hints = { agent: name }
  const check = await session.connect(control =>
    session.attend(`Checking ${name}`, options => control.checkAgent({ name }, options)),
  )
  if (session.json) await session.printJson(check)
  else {
    const mark = check.ok ? session.out.paint.green('✓') : session.out.paint.red('✗')
    const head = escapeLine(
      `${check.name}${check.file === undefined ? '' : ` (${check.file})`}: ${checkSummary(check)}`,
    )
    await session.out.write(`${mark} ${head}\n${checkText(check, session.out)}`)
    if (check.ok && check.report.length === 0)
      await session.notices.write(
        `${escapeLine(`It has no capabilities. Give it one: quartermaster grant ${name} CAPABILITY`)}\n`,
      )
  }
  return check.ok ? EXIT.done : EXIT.no
}
