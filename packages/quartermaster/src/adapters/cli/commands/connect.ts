import { Option } from 'commander'
import { CLIENTS, type ClientName, clientSetup } from '../client-setup.ts'
import { CompletingOption } from '../completion/kinds.ts'
import { defined } from '../defined.ts'
import { EXIT, exitCodeOf } from '../errors.ts'
import { escapeLine } from '../escape.ts'
import { addExamples, type Register } from '../register.ts'
import type { Session } from '../session.ts'
import { organisationOption, type Within } from '../workspace-options.ts'

interface ConnectFlags extends Within {
  agent: string
  print?: ClientName
}

export const registerConnect: Register = (program, act) => {
  const command = program
    .command('connect')
    .description('Be an MCP server on standard input and output, by way of the running "up".')
    .addOption(new CompletingOption('--agent <NAME>', 'the agent that the client is', 'agent').default('default'))
    .addOption(organisationOption())
    .addOption(new Option('--print <CLIENT>', 'print how this client is told to connect, instead').choices(CLIENTS))
    .action((flags: ConnectFlags) => act(session => connect(session, flags)))
  addExamples(command, [
    ['quartermaster connect --print claude', 'the line that makes Claude Code use the agent "default"'],
    ['quartermaster connect --agent researcher', 'what a client runs'],
  ])
}

/** Whoever types the command at a terminal has probably looked for the other form of it. */
const FOR_CLIENTS = 'This speaks MCP with a client that starts it. To tell one: quartermaster connect --print claude\n'

async function connect(session: Session, { agent, organisation, print }: ConnectFlags): Promise<number> {
  const { config, data } = session.options
  const options = { agent, ...defined({ organisation, config, data }) }
  if (print) return printSetup(session, print, options)
  if (session.host.io.stdin.isTTY) await session.notices.write(FOR_CLIENTS)
  const { failure } = await session.host.connect(options)
  return failure ? exitCodeOf(failure) : EXIT.done
}

type Place = Parameters<Session['host']['connectCommand']>[0]

async function printSetup(session: Session, client: ClientName, options: Place): Promise<number> {
  const command = await session.host.connectCommand(options)
  const setup = clientSetup(client, options, command)
  // The line is printed all the same: the agent, or the project, may be yet to come.
  for (const doubt of command.doubts ?? []) await session.notices.write(`Note: ${escapeLine(doubt)}\n`)
  if (session.json) {
    const [program, ...script] = command.program
    await session.printJson({ ...setup, agent: options.agent, command: program, args: [...script, ...command.args] })
    return EXIT.done
  }
  const where = setup.file === undefined ? 'Run this:' : `Put this into ${setup.file}, beside what is there:`
  await session.notices.write(`${escapeLine(where)}\n`)
  await session.out.write(`${setup.text}\n`)
  return EXIT.done
}
