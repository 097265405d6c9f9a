import type { ToolSummary } from '../../contracts/index.ts'
import type { CallOptions } from './call-options.ts'
import { decisionOf, wordsOf } from './do-words.ts'
import { EXIT } from './errors.ts'
import { escapeLine } from './escape.ts'
import { missingInWords } from './explain.ts'
import { fields } from './layout.ts'
import type { Session } from './session.ts'
import type { Frame } from './table.ts'

/** Prints every command of an agent, section by section. */
export async function listCommands(session: Session, { agent }: CallOptions): Promise<number> {
  session.hints = { agent }
  const tools = await session.connectAsAgent(control =>
    session.attend('Looking', on => control.tools({ agent, along: true }, on)),
  )
  if (session.json) await session.printJson(tools.map(toJson))
  else if (tools.length > 0) await session.out.write(listText(tools, session.out))
  else
    await session.notices.write(
      session.hasToken
        ? 'You have no tools. Ask the owner for some.\n'
        : `${escapeLine(`"${agent}" has no tools. Give it some: quartermaster grant ${agent} CAPABILITY`)}\n`,
    )
  if (!session.json && tools.length > 0)
    await session.notices.write('\nWhat one takes: quartermaster do COMMAND --help\n')
  return EXIT.done
}

function toJson(tool: ToolSummary): object {
  const { name, section, short, state, missing } = tool
  const command = decisionOf(tool)
  const how = 'name' in command ? { command: wordsOf(command) } : { none: command.none }
  return { ...how, tool: name, section, short, state, missing }
}

function listText(tools: readonly ToolSummary[], frame: Frame): string {
  const sections = [...new Set(tools.map(tool => tool.section))]
  return sections
    .map(section => {
      const own = tools.filter(tool => tool.section === section)
      return `${frame.paint.bold(escapeLine(section))}\n${fields(own.toSorted(wordsFirst).map(toEntry), frame)}`
    })
    .join('\n')
}

/** Those that are called by their names stand behind those that have a word. */
function wordsFirst(one: ToolSummary, other: ToolSummary): number {
  return Number('none' in decisionOf(one)) - Number('none' in decisionOf(other))
}

function toEntry(tool: ToolSummary): [string, string] {
  const command = decisionOf(tool)
  const notes = [
    'none' in command ? `Without a command: ${ended(command.none)} By its name: quartermaster call ${tool.name}` : '',
    tool.state === 'disabled' ? `Disabled: ${tool.missing.map(missingInWords).join('; ') || 'it is held back'}.` : '',
  ]
  return [
    `  ${'name' in command ? wordsOf(command) : `(${tool.name})`}`,
    [tool.short, ...notes].filter(Boolean).join(' '),
  ]
}

/** As a sentence that another follows. */
function ended(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`
}
