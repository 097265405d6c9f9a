import { AppError, type CapabilityDescriptor, type PromptDescriptor } from '../../../../contracts/index.ts'
import { didYouMean } from '../../../../core/kernel/index.ts'
import { command, printAnswer } from '../../command.ts'
import { paragraph, renderTable } from '../../output/layout.ts'
import type { Printer } from '../../output/terminal.ts'
import { escapeLine, toJsonText } from '../../output/terminal.ts'
import { unconnectedNotice } from '../servers/upstream-status.ts'

export const registerCapabilities = command<{ key?: string }>({
  name: 'capabilities',
  description: 'List what agents can be given, or show one with its tools and its configuration.',
  arguments: [['[KEY]', 'show this one', 'key', 'capability']],
  examples: [
    ['quartermaster capabilities', 'everything that can be granted'],
    ['quartermaster capabilities files', 'its tools and what can be set for it'],
  ],
  async run(session, { key }) {
    const { out } = session
    const { all, warning } = await session.connect(async control => ({
      all: await session.attend('Looking', options => control.capabilities({}, options)),
      warning: await unconnectedNotice(session, control, key),
    }))
    if (key !== undefined) {
      const found = find(all, key)
      return printAnswer(session, found, { text: detailText(found, out), warning })
    }
    const none = 'No capabilities yet. Write one in the folder capabilities, then: quartermaster reload\n'
    return printAnswer(session, all, all.length > 0 ? { text: listText(all, out), warning } : { notice: none, warning })
  },
})

function find(all: readonly CapabilityDescriptor[], key: string): CapabilityDescriptor {
  const found = all.find(capability => capability.key === key)
  if (found) return found
  const keys = all.map(capability => capability.key)
  throw new AppError('CAPABILITY_UNKNOWN', `No capability is named "${key}".${didYouMean(key, keys)}`)
}

function listText(all: readonly CapabilityDescriptor[], printer: Printer): string {
  const rows = all.map(({ key, tools, short }) => [key, String(tools.length), short])
  return renderTable(['Key', 'Tools', { wraps: 'What it is' }], rows, printer)
}

function detailText(capability: CapabilityDescriptor, printer: Printer): string {
  const { key, title, short, tools, configSchema, prompts = [], resources = [] } = capability
  const { paint } = printer
  const addresses = resources.map(({ uri, uriTemplate, name, short }) => [uri ?? uriTemplate ?? name, short || name])
  const schema = configSchema && toJsonText(configSchema, { pretty: true }).replace(/^/gm, '  ')
  return [
    `${paint.bold(key)}  ${escapeLine(title)}\n${paragraph(short, printer, '  ')}\n`,
    toolsTable(tools, printer),
    prompts.length === 0
      ? ''
      : `\n${renderTable(['Prompt', { wraps: 'What it asks for' }], prompts.map(promptCells), printer)}`,
    resources.length === 0 ? '' : `\n${renderTable(['Resource', { wraps: 'What it contains' }], addresses, printer)}`,
    schema === undefined ? '' : `\n${paint.bold('Configuration')}\n${schema}\n`,
    `\n${paint.bold('Example')}\n  quartermaster grant default ${key}\n`,
  ].join('')
}

/** The names that `grant --tools` takes, and those that agents call where they differ. */
function toolsTable(tools: CapabilityDescriptor['tools'], printer: Printer): string {
  if (tools.length === 0) return 'It has no tools.\n'
  const what = { wraps: 'What it does' }
  if (tools.every(({ calledAs }) => calledAs === undefined)) {
    const rows = tools.map(({ name, short }) => [name, short])
    return renderTable(['Tool', what], rows, printer)
  }
  const rows = tools.map(({ name, calledAs = name, short }) => [name, calledAs, short])
  return renderTable(['Tool', 'Called as', what], rows, printer)
}

/** `explain page [reader]`. */
function promptCells({ name, short, arguments: given }: PromptDescriptor): [string, string] {
  const words = given.map(argument => (argument.required ? argument.name : `[${argument.name}]`))
  return [[name, ...words].join(' '), short]
}
