import { AppError, type CapabilityDescriptor, type PromptDescriptor } from '../../../../contracts/index.ts'
import { didYouMean } from '../../../../core/kernel/index.ts'
import { addExamples, type Register } from '../../command.ts'
import { CompletingArgument } from '../../completion/command-line.ts'
import { EXIT } from '../../errors.ts'
import { escapeLine, toJsonText } from '../../output/escape.ts'
import { paragraph, renderTable } from '../../output/layout.ts'
import type { Printer } from '../../output/printer.ts'
import type { Session } from '../../session.ts'
import { leftUnseenText } from '../servers/upstream-status.ts'

export const registerCapabilities: Register = (program, act) => {
  const command = program
    .command('capabilities')
    .description('List what agents can be given, or show one with all it brings and its configuration.')
    .addArgument(new CompletingArgument('[KEY]', 'show this one', 'capability'))
    .action((key: string | undefined) => act(session => capabilities(session, key)))
  addExamples(command, [
    ['quartermaster capabilities', 'everything that can be granted'],
    ['quartermaster capabilities files', 'its tools and what can be set for it'],
  ])
}

async function capabilities(session: Session, key: string | undefined): Promise<number> {
  const { all, left } = await session.connect(async control => ({
    all: await session.attend('Looking', options => control.capabilities({}, options)),
    left: await leftUnseenText(session, control, key),
  }))
  if (key === undefined) await list(session, all)
  else await show(session, find(all, key))
  await session.notices.write(left)
  return EXIT.done
}

async function list(session: Session, all: readonly CapabilityDescriptor[]): Promise<void> {
  if (session.json) await session.printJson(all)
  else if (all.length > 0) await session.out.write(listText(all, session.out))
  else
    await session.notices.write(
      'No capabilities yet. Write one in the folder capabilities, then: quartermaster reload\n',
    )
}

function find(all: readonly CapabilityDescriptor[], key: string): CapabilityDescriptor {
  const found = all.find(capability => capability.key === key)
  if (found) return found
  const keys = all.map(capability => capability.key)
  throw new AppError('CAPABILITY_UNKNOWN', `No capability is named "${key}".${didYouMean(key, keys)}`)
}

async function show(session: Session, capability: CapabilityDescriptor): Promise<void> {
  await (session.json ? session.printJson(capability) : session.out.write(detailText(capability, session.out)))
}

function listText(all: readonly CapabilityDescriptor[], printer: Printer): string {
  const rows = all.map(({ key, tools, short }) => ({ cells: [key, String(tools.length), short] }))
  return renderTable(
    { columns: [{ title: 'Key' }, { title: 'Tools' }, { title: 'What it is', flexible: true }], rows },
    printer,
  )
}

function detailText(capability: CapabilityDescriptor, printer: Printer): string {
  const { key, title, short, tools, configSchema } = capability
  const { paint } = printer
  const schema =
    configSchema === undefined
      ? ''
      : `\n${paint.bold('Configuration')}\n${toJsonText(configSchema, { pretty: true }).replace(/^/gm, '  ')}\n`
  return [
    `${paint.bold(key)}  ${escapeLine(title)}\n${paragraph(short, printer, '  ')}\n`,
    toolsTable(tools, printer),
    ...readingTables(capability, printer),
    schema,
    `\n${paint.bold('Example')}\n  quartermaster grant default ${key}\n`,
  ].join('')
}

/** Named as `grant --tools` takes them; what they are called by stands beside it where that is another name. */
function toolsTable(tools: CapabilityDescriptor['tools'], printer: Printer): string {
  if (tools.length === 0) return 'It has no tools.\n'
  if (tools.every(({ calledAs }) => calledAs === undefined))
    return pairsTable(
      ['Tool', 'What it does'],
      tools.map(({ name, short }) => [name, short]),
      printer,
    )
  const columns = [{ title: 'Tool' }, { title: 'Called as' }, { title: 'What it does', flexible: true }]
  const rows = tools.map(({ name, calledAs = name, short }) => ({ cells: [name, calledAs, short] }))
  return renderTable({ columns, rows }, printer)
}

/** What can be read, where there is anything. */
function readingTables({ prompts = [], resources = [] }: CapabilityDescriptor, printer: Printer): string[] {
  const addresses = resources.map(({ uri, uriTemplate, name, short }): [string, string] => [
    uri ?? uriTemplate ?? name,
    short || name,
  ])
  return [
    prompts.length === 0 ? '' : `\n${pairsTable(['Prompt', 'What it asks for'], prompts.map(promptCells), printer)}`,
    resources.length === 0 ? '' : `\n${pairsTable(['Resource', 'What is to be read'], addresses, printer)}`,
  ]
}

/** `explain page [reader]`. */
function promptCells({ name, short, arguments: given }: PromptDescriptor): [string, string] {
  const words = given.map(argument => (argument.required ? argument.name : `[${argument.name}]`))
  return [[name, ...words].join(' '), short]
}

function pairsTable(titles: [string, string], rows: readonly [string, string][], printer: Printer): string {
  const columns = [{ title: titles[0] }, { title: titles[1], flexible: true }]
  return renderTable({ columns, rows: rows.map(cells => ({ cells })) }, printer)
}
